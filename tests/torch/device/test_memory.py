"""Memory numbers come from the tensors that live."""

from __future__ import annotations

import gc

import pytest
import torch

MIB = 1 << 20


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Let the peaks begin here."""
    gc.collect()
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()


def test_a_tensor_takes_its_block_and_gives_it_back() -> None:
    before = torch.npu.memory_allocated()
    tensor = torch.zeros(8192, device="npu")  # 32 KiB
    assert torch.npu.memory_allocated() - before == 32 * 1024 + 512
    small = torch.zeros(120, device="npu")  # 480 + 32 = 512
    assert torch.npu.memory_allocated() - before == 33 * 1024
    del tensor, small
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() - before == 33 * 1024


def test_views_share_and_gradients_count() -> None:
    weight = torch.zeros(MIB // 4, device="npu", requires_grad=True)
    one = torch.npu.memory_allocated()
    views = weight.detach(), weight.view(2, -1)
    assert torch.npu.memory_allocated() == one
    (weight * 2).sum().backward()
    assert torch.npu.memory_allocated() - one == MIB + 512
    del views


def test_reserved_keeps_segments_until_emptied(native: bool) -> None:
    before = torch.npu.memory_reserved()
    large = torch.zeros(25 * MIB, dtype=torch.uint8, device="npu")
    held = torch.npu.memory_reserved()
    # A request of 10 MiB and more has a segment of its own, in whole steps of 2 MiB; the sink only knows the two sizes.
    assert held - before in ((26 * MIB,) if native else (20 * MIB, 40 * MIB))
    del large
    assert torch.npu.memory_reserved() == held
    free, total = torch.npu.mem_get_info()
    assert total - free == held
    assert total == torch.npu.get_device_properties().total_memory
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == before
    assert torch.npu.max_memory_reserved() == held


def test_peaks_are_exact_or_what_was_seen(native: bool) -> None:
    base = torch.npu.memory_allocated()
    unseen = torch.zeros(4 * MIB, dtype=torch.uint8, device="npu")
    del unseen
    # A documented limit of the sink: nobody asked while it lived.
    assert torch.npu.max_memory_allocated() == base + (4 * MIB + 512 if native else 0)
    seen = torch.zeros(4 * MIB, dtype=torch.uint8, device="npu")
    assert torch.npu.max_memory_allocated() == base + 4 * MIB + 512
    del seen
    torch.npu.reset_peak_memory_stats()
    assert torch.npu.max_memory_allocated() == base


def test_memory_is_that_of_its_device_or_of_the_one_selected_last(native: bool) -> None:
    before = torch.npu.memory_allocated(1)
    tensor = torch.zeros(MIB, device="npu")
    torch.npu.set_device(1)
    if native:
        assert torch.npu.memory_allocated(0) >= 4 * MIB
        assert torch.npu.memory_allocated() == before < 4 * MIB
        return
    assert torch.npu.memory_allocated() >= 4 * MIB
    assert torch.npu.memory_allocated(0) == torch.npu.max_memory_allocated("npu:0") == 0
    del tensor


def test_stats_agree_with_each_other_and_with_accelerator(native: bool) -> None:
    tensor = torch.zeros(MIB, device="npu")
    stats = torch.npu.memory_stats()
    assert stats["allocated_bytes.all.current"] == torch.npu.memory_allocated()
    assert stats["reserved_bytes.all.current"] == torch.npu.memory_reserved()
    assert stats["allocation.all.current"] >= 1
    assert list(stats) == sorted(stats)
    assert torch.accelerator.memory_allocated() == torch.npu.memory_allocated()
    assert torch.accelerator.max_memory_reserved() == torch.npu.max_memory_reserved()
    assert torch.accelerator.get_memory_info() == torch.npu.mem_get_info()
    assert torch.npu.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] == torch.npu.memory_allocated()
    used = torch.npu.memory_allocated()
    assert (f"{used // 1024} KiB" if native else f"{used:,}") in torch.npu.memory_summary()
    del tensor
