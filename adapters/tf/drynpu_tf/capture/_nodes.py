"""What every route of the capture knows about nodes of graphs."""

from __future__ import annotations

import re

_BACKWARD = re.compile(r"(?:^|/)gradient(?:s(?:_\d+)?|_tape)/")
"""Name scopes of ``tf.gradients`` (and of all TF1 optimizers), and of gradient tapes."""


def is_backward(node: str) -> bool:
    """Whether a node computes gradients, by the scope TensorFlow puts it in; updates of variables do not."""
    return _BACKWARD.search(node) is not None


def producer(text: str) -> tuple[str, int]:
    """Return node and slot of an input as GraphDef spells it: ``name`` is slot 0 of it, else ``name:slot``."""
    name, colon, slot = text.rpartition(":")
    return (name, int(slot)) if colon else (text, 0)
