"""What scripts of the plugin are run with: the same as PyTorch's."""

from __future__ import annotations

from tests.torch.conftest import native, scripts, warm
from tests.torch.distributed.conftest import by_rank, torchrun
from tests.torch.native.conftest import run

__all__ = ["by_rank", "native", "run", "scripts", "torchrun", "warm"]
