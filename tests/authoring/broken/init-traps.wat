;; about: A block that traps on an input that it cannot take.
;; says: let it answer `fail` to an input
;; mends: instead of unwrapping it
(module
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func $parse (export "cf_init") (param i32 i32) (result i32) (unreachable))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
