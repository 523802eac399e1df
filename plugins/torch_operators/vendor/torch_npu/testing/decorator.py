"""The facade of ``torch_npu.testing.decorator``."""

from __future__ import annotations

from drynpu_torch_operators.testing.decorators import Dtypes, Formats, feed_data, instantiate_tests

__all__ = ["Dtypes", "Formats", "feed_data", "instantiate_tests"]
