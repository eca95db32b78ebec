;; about: All but one export.
;; says: does not export `cf_step`, which must be (i32, i32) -> i32
;; mends: CF_BLOCK(start, step)
(module
  (@producers (language "C11" "") (processed-by "clang" "18.1.0"))
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8)))
