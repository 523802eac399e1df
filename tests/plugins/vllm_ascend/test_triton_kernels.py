"""Triton kernels as drynpu computes them, launched as an engine launches them."""

# The functions have the names of vLLM-Ascend's arguments.
# ruff: noqa: N803, PLR0913

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from drynpu import CaptureError
from drynpu_vllm_ascend.triton_kernels import patch_stand_in
from drynpu_vllm_ascend.triton_kernels._launch import jit

BLOCK, PAD = 4, -1


class Placeholder:
    """What vLLM has where no driver of Triton is active."""

    jit = staticmethod(lambda function: function)


patch_stand_in(SimpleNamespace(TritonPlaceholder=Placeholder))  # type: ignore[arg-type]


@jit(do_not_specialize=["num_tokens"])
def _compute_slot_mapping_kernel(
    num_tokens,
    max_num_tokens,
    query_start_loc_ptr,
    positions_ptr,
    block_table_ptr,
    block_table_stride,
    block_size,
    slot_mapping_ptr,
    KV_CACHE_BLOCK_SIZE,
    BLOCKS_PER_KV_BLOCK,
    TOTAL_CP_WORLD_SIZE,
    TOTAL_CP_RANK,
    CP_KV_CACHE_INTERLEAVE_SIZE,
    PAD_ID,
    TILE_BLOCK_SIZE,
):  # type: ignore[no-untyped-def]
    """Stand for vLLM-Ascend's kernel, whose name and arguments it has."""


@jit
def prepare_inputs_padded_kernel(
    cu_num_draft_tokens_ptr,
    valid_sampled_tokens_count_ptr,
    query_start_loc_gpu_ptr,
    token_indices_to_sample_ptr,
    num_rejected_tokens_gpu_ptr,
    num_reqs,
    BLOCK_SIZE,
):  # type: ignore[no-untyped-def]
    """Stand for vLLM-Ascend's kernel, whose name and arguments it has."""


@jit
def unknown_kernel(x_ptr):  # type: ignore[no-untyped-def]
    """Stand for a kernel that drynpu does not know."""


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_slot_of_a_token_lies_in_the_block_of_its_position(ranks: int) -> None:
    starts, positions = torch.tensor([0, 3, 8]), torch.tensor([9, 10, 11, 0, 1, 2, 3, 4])
    table = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]], dtype=torch.int32)
    places = {rank: torch.zeros(10, dtype=torch.int32).npu() for rank in range(ranks)}
    on_npu = [t.npu() for t in (starts, positions, table)]
    for rank, slots in places.items():
        options = (BLOCK, 1, ranks, rank, 1, PAD, 1024)
        _compute_slot_mapping_kernel[(3,)](8, 10, *on_npu, 4, BLOCK, slots, *options, num_warps=4)
    for token, (request, position) in enumerate(zip([0, 0, 0, 1, 1, 1, 1, 1], positions.tolist(), strict=True)):
        block, local = position // (BLOCK * ranks), position % (BLOCK * ranks) // ranks
        for rank, slots in places.items():
            held = position % ranks == rank
            assert slots[token].item() == (table[request, block].item() * BLOCK + local if held else PAD)
    assert places[0][8:].tolist() == [PAD, PAD]


def test_rejected_drafts_move_the_position_that_is_sampled(
    kernel_types: Callable[[Callable[[], object]], list[str]],
) -> None:
    ends, counts, starts = (torch.tensor(numbers).npu() for numbers in ([2, 2, 5], [1, 1, 4], [0, 3, 4, 8]))
    sampled, rejected = torch.zeros(3, dtype=torch.int64).npu(), torch.zeros(3, dtype=torch.int64).npu()

    def launch() -> None:
        prepare_inputs_padded_kernel[(1,)](ends, counts, starts, sampled, rejected, 3, BLOCK_SIZE=64)

    assert kernel_types(launch) == ["prepare_inputs_padded_kernel"]
    assert rejected.tolist() == [2, 0, 0]
    assert sampled.tolist() == [0, 3, 7]


def test_the_stand_in_for_triton_makes_kernels_that_can_be_launched() -> None:
    stand_in = Placeholder()
    assert hasattr(stand_in.jit(unknown_kernel), "__getitem__")


def test_a_kernel_that_drynpu_does_not_know_is_refused_by_its_name() -> None:
    with pytest.raises(CaptureError, match=r"unknown_kernel is a Triton kernel that drynpu does not compute"):
        unknown_kernel[(1,)](torch.zeros(1).npu())
