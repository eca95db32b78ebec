;; about: More memory at the start than a job has.
;; says: it takes 134217728 bytes of memory to start, but a job has 67108864 by default
;; mends: -Wl,-z,stack-size=65536, and less static data
(module
  (memory (export "memory") 2048)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
