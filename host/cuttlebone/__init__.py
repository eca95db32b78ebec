"""Cuttlebone: a host for sandboxed WebAssembly jobs beside a local language model."""
