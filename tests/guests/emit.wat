;; Emits progress for ever: the shortest possible step loop, for measuring one.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\20\00\00\00\1b\00\00\00")
  (data (i32.const 32) "{\"cmd\":\"emit\",\"progress\":1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 16))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 16)))
