"""``mindspore.dataset``: a dataset from a generator, enough to drive a training."""

from __future__ import annotations

from mindspore_like.dataset._generator import GeneratorDataset

__all__ = ["GeneratorDataset"]
