;; Asks the model once for 64 tokens, then is done.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\40\00\00\00\46\00\00\00")
  (data (i32.const 24) "\00\01\00\00\19\00\00\00")
  (data (i32.const 64) "{\"cmd\":\"infer\",\"prompt\":\"Tell a very long story.\",\"max_tokens\":64    }")
  (data (i32.const 256) "{\"cmd\":\"done\",\"result\":1}")
  (func (export "cf_alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "cf_init") (param i32 i32) (result i32) (i32.const 16))
  (func (export "cf_step") (param i32 i32) (result i32) (i32.const 24)))
