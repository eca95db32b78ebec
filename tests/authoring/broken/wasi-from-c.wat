;; about: C compiled for wasm32-wasi.
;; says: imports the function `wasi_snapshot_preview1.fd_write`
;; mends: C: -target wasm32-freestanding
(module
  (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
  (@producers (language "C11" "") (processed-by "clang" "18.1.0"))
  (memory (export "memory") 1)
  (data (i32.const 8) "\10\00\00\00\19\00\00\00")
  (data (i32.const 16) "{\22cmd\22:\22done\22,\22result\22:1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 8))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 8)))
