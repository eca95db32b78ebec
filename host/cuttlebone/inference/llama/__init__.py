"""llama.cpp behind the model protocol: the only package that names it."""

from cuttlebone.inference.llama.loading import load_model
from cuttlebone.inference.llama.model import LlamaModel, LlamaOptions, default_threads

__all__ = ["LlamaModel", "LlamaOptions", "default_threads", "load_model"]
