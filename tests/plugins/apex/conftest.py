"""What scripts of the plugin are run with: the same as PyTorch's."""

from __future__ import annotations

from tests.torch.conftest import native, scripts, warm
from tests.torch.distributed.conftest import run_ranks

__all__ = ["native", "run_ranks", "scripts", "warm"]
