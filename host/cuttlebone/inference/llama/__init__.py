"""llama.cpp behind the model protocol: the only package that names it."""

import os

# libgomp reads this once, when it is loaded with llama.cpp. By default its threads spin at every
# barrier, some hundred times a token; on a machine with other work, each spins until the others
# are scheduled again, and a token takes twenty times as long. An operator's own choice stays.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from cuttlebone.inference.llama.loading import load_model, memory_needed
from cuttlebone.inference.llama.model import LlamaModel, LlamaOptions, default_threads

__all__ = ["LlamaModel", "LlamaOptions", "default_threads", "load_model", "memory_needed"]
