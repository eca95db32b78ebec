;; about: Compiled for wasm64.
;; says: its memory is 64-bit
;; mends: C: -target wasm32-freestanding, instead of wasm64
(module
  (@producers (language "C11" "") (processed-by "clang" "18.1.0"))
  (memory (export "memory") i64 1)
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
