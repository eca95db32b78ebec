;; Asks for commands that this host does not offer, for ever, without ending by the errors.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\20\00\00\00\3c\00\00\00")
  (data (i32.const 32) "{\"cmd\":\"fetch\",\"url\":\"http://localhost/\",\"on_error\":\"event\"}")
  (func (export "cf_alloc") (param $len i32) (result i32)
    (i32.const 4096))
  (func (export "cf_init") (param $ptr i32) (param $len i32) (result i32)
    (i32.const 16))
  (func (export "cf_step") (param $ptr i32) (param $len i32) (result i32)
    (i32.const 16)))
