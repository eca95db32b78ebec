;; Copies more than a data segment has.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\20\00\00\00\19\00\00\00")
  (data (i32.const 32) "{\"cmd\":\"done\",\"result\":1}")
  (data $d "x")
  (func (export "cf_alloc") (param $len i32) (result i32)
    (i32.const 4096))
  (func (export "cf_init") (param $ptr i32) (param $len i32) (result i32)
    (memory.init $d (i32.const 0) (i32.const 0) (i32.const 2))
    (i32.const 16))
  (func (export "cf_step") (param $ptr i32) (param $len i32) (result i32)
    (i32.const 16)))
