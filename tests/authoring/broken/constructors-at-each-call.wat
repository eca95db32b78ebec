;; about: C++ whose linker runs constructors before every call.
;; says: its constructors run again at every call
;; mends: export_name("_initialize")
(module
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func $constructors)
  (func $destructors)
  (func $init (param i32 i32) (result i32) (i32.const 8))
  (func $step (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32)
    (call $constructors) (call $init (local.get 0) (local.get 1)) (call $destructors))
  (func (export "cf_step") (param i32 i32) (result i32)
    (call $constructors) (call $step (local.get 0) (local.get 1)) (call $destructors)))
