"""Processes that have locked themselves down before they touch what strangers wrote.

They know nothing of wasm: what they run is a program, named by its module. This is a room of its own
below `sandbox`, because Python imports a package before any module in it: a zygote inside `sandbox`
would hold wasmtime, whatever it is for.
"""
