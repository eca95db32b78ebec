;; about: A Rust dependency that brings wasm-bindgen.
;; says: imports the function `__wbindgen_placeholder__.__wbindgen_throw`
;; mends: cargo tree --target wasm32-unknown-unknown -i wasm-bindgen
(module
  (import "__wbindgen_placeholder__" "__wbindgen_throw" (func (param i32 i32)))
  (@producers (language "Rust" "") (processed-by "rustc" "1.80.0"))
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
