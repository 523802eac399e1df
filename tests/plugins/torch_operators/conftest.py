"""What scripts of the plugin are run with: the same as PyTorch's."""

from __future__ import annotations

from tests.torch.conftest import native, scripts, warm
from tests.torch.distributed.conftest import by_rank, run_ranks
from tests.torch.native.conftest import run

__all__ = ["by_rank", "native", "run", "run_ranks", "scripts", "warm"]
