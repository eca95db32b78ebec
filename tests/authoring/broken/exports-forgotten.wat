;; about: A Rust library that is no cdylib: nothing is exported.
;; says: does not export `cf_init`
;; mends: Rust: crate-type = ["cdylib"]
(module
  (@producers (language "Rust" "") (processed-by "rustc" "1.80.0"))
  (memory (export "memory") 1)
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024)))
