"""What the GPT is run with: the same as PyTorch's scripts."""

from __future__ import annotations

from tests.torch.conftest import native, scripts, warm

__all__ = ["native", "scripts", "warm"]
