"""One process with the device installed; operators are called on the npu and on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

from drynpu_torch.install import install  # noqa: E402

install()


@pytest.fixture(scope="session")
def operators() -> ModuleType:
    """Register vLLM-Ascend's operators, as importing its compiled module does, and return their namespace."""
    from drynpu_vllm_ascend.operators import register

    register()
    return torch.ops._C_ascend


@pytest.fixture
def kernel_types() -> Callable[[Callable[[], object]], list[str]]:
    """Return a function that runs something on the npu and returns the types of the kernels that it launched."""
    from torch.profiler import profile

    def run(call: Callable[[], object]) -> list[str]:
        with profile() as recorded:
            call()
        names = [event.name for event in recorded.events()]
        return [name.partition("__")[2] for name in names if name.startswith("npu_kernels::")]

    return run
