"""``helper``: the generated operators."""

from __future__ import annotations

from types import ModuleType

__all__ = ["get_gen_ops"]


def get_gen_ops() -> ModuleType:
    from drynpu_tf.bridge import generated

    return generated
