"""The facade of ``torch_npu.testing.common_distributed``."""

from __future__ import annotations

from drynpu_torch_operators.testing.decorators import skipIfUnsupportMultiNPU
from drynpu_torch_operators.testing.groups import TEST_SKIPS, TestSkip, init_pg, with_comms

__all__ = ["TEST_SKIPS", "TestSkip", "init_pg", "skipIfUnsupportMultiNPU", "with_comms"]
