"""What scripts are checked on: the native device, as in its own tests."""

from __future__ import annotations

from tests.torch.native.conftest import library

__all__ = ["library"]
