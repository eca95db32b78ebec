"""llama.cpp behind the model protocol: the only package that names it."""

import os

# libgomp reads this once, when it is loaded with llama.cpp. By default its threads spin at every
# barrier, some hundred times a token, for as long as it takes; on a machine with other work, each
# spins until the others are scheduled again, and a token takes a hundred times as long. Sleeping at
# once costs a third of the speed of an idle machine; a short spin before it keeps that speed and
# costs a fifth on a busy one. An operator's own choice stays.
if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
    os.environ.update(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="20000")

from cuttlebone.inference.llama.loading import load_model
from cuttlebone.inference.llama.model import LlamaModel, LlamaOptions, default_threads

__all__ = ["LlamaModel", "LlamaOptions", "default_threads", "load_model"]
