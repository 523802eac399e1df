"""What scripts of the plugin are run with: the same as PyTorch's."""

from __future__ import annotations

from tests.torch.conftest import native, scripts, warm

__all__ = ["native", "scripts", "warm"]
