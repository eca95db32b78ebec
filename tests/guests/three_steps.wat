;; Emits progress twice, then is done: the shortest job that has a loop.
(module
  (memory (export "memory") 1)
  (global $steps (mut i32) (i32.const 0))
  (data (i32.const 16) "\40\00\00\00\1b\00\00\00")
  (data (i32.const 24) "\80\00\00\00\19\00\00\00")
  (data (i32.const 64) "{\"cmd\":\"emit\",\"progress\":1}")
  (data (i32.const 128) "{\"cmd\":\"done\",\"result\":1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 16))
  (func (export "cf_step") (param i32 i32) (result i32)
    (global.set $steps (i32.add (global.get $steps) (i32.const 1)))
    (select (i32.const 16) (i32.const 24) (i32.lt_u (global.get $steps) (i32.const 2)))))
