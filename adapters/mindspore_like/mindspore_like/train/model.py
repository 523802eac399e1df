"""``mindspore.train.model``: ``Model``."""

from __future__ import annotations

from mindspore_like.train import Model

__all__ = ["Model"]
