"""Tensors that an allocator of an engine made lose their memory while it sleeps, and get it back."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from drynpu_torch.device import state  # noqa: E402
from drynpu_vllm_ascend.sleeping import serve_allocator  # noqa: E402

ROWS, COLUMNS = 700, 1024
BYTES = ROWS * COLUMNS * 4


class Allocator:
    """What the engine's allocator does with its callbacks: it notes the tag, and forgets."""

    default_tag = "default"

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, str]] = {}
        self.current_tag = self.default_tag

    def python_malloc_callback(self, allocation_handle: Any) -> None:
        self.made[allocation_handle[2]] = allocation_handle, self.current_tag

    def python_free_callback(self, ptr: int) -> Any:
        return self.made.pop(ptr)[0]

    @contextmanager
    def use_allocation_tag(self, tag: str) -> Any:
        old, self.current_tag = self.current_tag, tag
        yield
        self.current_tag = old

    def tags(self) -> list[str]:
        return [tag for _, tag in self.made.values()]


@pytest.fixture
def camem() -> Any:
    if state().library is None:
        pytest.skip("the sink's tensors are the host's, whose memory no allocator of a device makes")

    class Tagging(Allocator):
        pass

    module = SimpleNamespace(CaMemAllocator=Tagging)
    serve_allocator(module)
    return module


def _free_bytes() -> int:
    torch.npu.empty_cache()
    return torch.npu.mem_get_info()[0]


def test_what_stays_of_a_pool_is_known_by_its_tag(camem: Any) -> None:
    allocator, before = camem.CaMemAllocator(), torch.ones(3, device="npu")
    with allocator.use_memory_pool("weights"):
        weight = torch.ones(5, device="npu")
        view = weight[1:]
        passing = torch.ones(7, device="npu") * 2
        del passing
        with allocator.use_allocation_tag("persistent"):
            kept = torch.ones(11, device="npu")
    assert sorted(allocator.tags()) == ["persistent", "weights"]
    assert {handle[1] for handle, _ in allocator.made.values()} == {5 * 4, 11 * 4}
    assert (before.sum() + view.sum() + kept.sum()).item() == 3 + 4 + 11
    del weight
    assert len(allocator.made) == 2
    del view
    assert allocator.tags() == ["persistent"]


def test_values_that_were_copied_are_there_after_sleeping(camem: Any) -> None:
    allocator, numbers = camem.CaMemAllocator(), torch.arange(ROWS * COLUMNS, dtype=torch.float32)
    with allocator.use_memory_pool():
        weight = numbers.to("npu").view(ROWS, COLUMNS)
        column = weight[:, 1]
    awake = _free_bytes()
    ((handle, tag),) = allocator.made.values()
    assert (handle[1], tag) == (BYTES, "default")
    saved = torch.empty(BYTES, dtype=torch.uint8)
    camem.memcpy(saved.data_ptr(), BYTES, handle[2], BYTES, 2)
    camem.unmap_and_release(handle)
    assert _free_bytes() - awake >= BYTES
    camem.create_and_map(handle)
    camem.memcpy(handle[2], BYTES, saved.data_ptr(), BYTES, 1)
    assert _free_bytes() == awake
    assert torch.equal(column.cpu(), numbers.view(ROWS, COLUMNS)[:, 1])
