;; about: Linked without an exported memory.
;; says: does not export `memory`
;; mends: Zig: add --export-memory
(module
  (memory 1)
  (@producers (processed-by "zig" "0.14.0"))
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
