"""``mindspore.train.model``: ``Model``."""

from __future__ import annotations

from mindspore_like._model import Model as _Model
from mindspore_like._runtime import RUNTIME

__all__ = ["Model"]


class Model(_Model):  # noqa: D101 - documented there
    __doc__ = _Model.__doc__
    _context = RUNTIME.context
