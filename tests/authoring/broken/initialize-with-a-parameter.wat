;; about: An _initialize that takes something.
;; says: exports `_initialize` as (i32) -> (), but it must be () -> ()
;; mends: take and return nothing
(module
  (func (export "_initialize") (param i32))
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
