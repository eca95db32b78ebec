;; about: A type that there is none of.
;; says: unknown type 'string'
;; mends: are all the types
(module
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8))
  (data (i32.const 104) "\70\00\00\00\24\00\00\00")
  (data (i32.const 112) "{\22input\22:\22string\22,\22output\22:\22text\22}    ")
  (func (export "cf_signature") (result i32) (i32.const 104)))
