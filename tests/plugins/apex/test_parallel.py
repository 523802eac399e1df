"""apex on two ranks: wrappers, norms and buffers against NumPy on the data of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("parallel_script.py")


def test_gradients_statistics_and_buffers_are_those_of_all_ranks(run_ranks: Callable[..., Any]) -> None:
    run = run_ranks(SCRIPT, ranks=2)
    assert run.stdout.count("agrees") == 2, run.stdout
    assert "Optimized combine_ddp replicas: [9]" in run.stdout
    assert run.stdout.count("created group 1 with backend hccl") == 2
    assert run.stdout.count("Warning:  using Python fallback for SyncBatchNorm") == 2
