;; Reads by a handle that it has closed.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\20\00\00\00\1d\00\00\00")
  (data (i32.const 32) "{\"cmd\":\"open\",\"path\":\"a.txt\"}")
  (data (i32.const 1024) "{\"cmd\":\"slice\",\"handle\":2,\"offset\":0,\"len\":3}")
  (func (export "cf_alloc") (param $len i32) (result i32)
    (i32.const 4096))
  (func (export "cf_init") (param $ptr i32) (param $len i32) (result i32)
    (i32.const 16))
  (func (export "cf_step") (param $ptr i32) (param $len i32) (result i32)
    (i32.store (i32.const 16) (i32.const 1024))
    (i32.store (i32.const 20) (i32.const 45))
    (i32.const 16)))
