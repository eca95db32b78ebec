;; Computes for about a second at a time, for ever, and says so in between: a guest that uses a
;; processor fully and keeps every rule.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\20\00\00\00\1b\00\00\00")
  (data (i32.const 32) "{\"cmd\":\"emit\",\"progress\":1}")
  (func $work (result i32)
    (local $left i32)
    (local.set $left (i32.const 1500000000))
    (loop $more
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $more (local.get $left)))
    (i32.const 16))
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (call $work))
  (func (export "cf_step") (param i32 i32) (result i32) (call $work)))
