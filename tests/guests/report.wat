;; Reports once and ends: the smallest whole job.
(module
  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 16))
  (data (i32.const 16) "\00\01\00\00\1b\00\00\00")
  (data (i32.const 24) "\00\02\00\00\19\00\00\00")
  (data (i32.const 256) "{\22cmd\22:\22emit\22,\22progress\22:1}")
  (data (i32.const 512) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func $command (result i32)
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (i32.const 8))))
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (call $command))
  (func (export "cf_step") (param i32 i32) (result i32) (call $command)))
