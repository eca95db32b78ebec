;; about: A descriptor that lies outside of the memory.
;; says: the descriptor that cf_init returned lies outside
;; mends: the address of eight bytes
(module
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const -4))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
