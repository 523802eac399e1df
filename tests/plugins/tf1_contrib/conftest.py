"""What scripts of the plugin are run with: the same as TensorFlow's."""

from __future__ import annotations

from tests.tf.conftest import scripts

__all__ = ["scripts"]
