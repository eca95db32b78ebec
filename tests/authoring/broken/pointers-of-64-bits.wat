;; about: Addresses of 64 bits in the functions of the contract.
;; says: exports `cf_step` as (i64, i64) -> i64
;; mends: u32 or usize
(module
  (@producers (language "Rust" "") (processed-by "rustc" "1.80.0"))
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i64 i64) (result i64) (i64.const 8)))
