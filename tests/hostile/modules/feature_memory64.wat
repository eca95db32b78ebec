;; 64-bit memory.
(module
  (memory (export "memory") i64 1)
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 16))
  (func (export "cf_alloc") (param $len i32) (result i32)
    (i32.const 4096))
  (func (export "cf_step") (param $ptr i32) (param $len i32) (result i32)
    (i32.const 16)))
