"""Triton kernels as drynpu computes them, launched as an engine launches them."""

# The functions have the names of vLLM-Ascend's arguments.
# ruff: noqa: N803, PLR0913

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from drynpu import CaptureError
from drynpu_vllm_ascend.served import Work
from drynpu_vllm_ascend.triton_kernels import _calls, _launch, patch_stand_in
from drynpu_vllm_ascend.triton_kernels._bfloat16 import bfloat16_bits, float32_values
from drynpu_vllm_ascend.triton_kernels._calls import INTERPRETED
from drynpu_vllm_ascend.triton_kernels._interpreted import work_without_values
from drynpu_vllm_ascend.triton_kernels._launch import Config, autotune, heuristics, jit

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
    stand_in: Any = Placeholder()
    assert hasattr(stand_in.jit(unknown_kernel), "__getitem__")
    assert [stand_in.next_power_of_2(number) for number in (1, 2, 5, 64, 65)] == [1, 2, 8, 64, 128]
    cores = stand_in.runtime.driver.active.utils.get_device_properties(torch.npu.current_device())
    here = torch.npu.get_device_properties(0)
    assert cores == {"num_aicore": here.cube_core_num, "num_vectorcore": here.vector_core_num}


def test_a_kernel_without_a_formula_needs_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_launch, "can_interpret", lambda: False)
    with pytest.raises(CaptureError, match=r"unknown_kernel is a Triton kernel that drynpu does not compute itself"):
        unknown_kernel[(1,)](torch.zeros(1).npu())


@pytest.fixture
def interpreter(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the runs of an interpreter that adds the number ``step`` to the first tensor."""
    runs: list[Any] = []

    def run(function: FunctionType, grid: Sequence[int], arguments: Mapping[str, Any]) -> Work:
        runs.append((function.__name__, grid, arguments))
        next(each for each in arguments.values() if isinstance(each, torch.Tensor)).add_(arguments["step"])
        return Work(vector_ops=7, read=30, written=20)

    monkeypatch.setattr(_launch, "can_interpret", lambda: True)
    monkeypatch.setattr(_calls, "run_interpreted", run)
    return runs


@heuristics({"double": lambda present: 2 * present["size"]})  # type: ignore[arg-type, operator]
@autotune(configs=[Config({"size": 4, "step": 3}, num_warps=8), Config({"size": 8})], key=["n"])
@jit
def tuned_kernel(x_ptr, pair, n, kind, size, step, double):  # type: ignore[no-untyped-def]
    """Stand for a kernel with arguments that Triton chooses."""


def test_arguments_that_triton_chooses_are_the_first_ones_and_what_follows_from_them(interpreter: list[Any]) -> None:
    x, y = torch.zeros(2).npu(), torch.ones(3).npu()
    tuned_kernel[lambda present: (present["double"], present["n"])](x, (y, 5), 6, torch.float16, num_stages=2)
    tuned_kernel[(9,)](x, (y, 5), 6, torch.float16, size=16)
    assert x.tolist() == [6, 6]
    (name, grid, first), (_, other_grid, second) = interpreter
    assert (name, list(grid), list(other_grid)) == ("tuned_kernel", [8, 6], [9])
    assert first.pop("x_ptr").tolist() == [6, 6]
    (inner, five), kind = first.pop("pair"), first.pop("kind")
    assert (inner.tolist(), five, kind) == ([1, 1, 1], 5, torch.float16)
    assert first == {"n": 6, "size": 4, "step": 3, "double": 8}
    assert (second["size"], second["double"]) == (16, 32)


def test_an_interpreted_kernel_is_one_kernel_of_its_name_with_the_work_that_was_counted(
    interpreter: list[Any], kernel_types: Callable[[Callable[[], object]], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    works: list[Work] = []
    work_of = INTERPRETED.cost
    assert callable(work_of)
    monkeypatch.setattr(_calls, "work_without_values", lambda _: Work())
    x = torch.zeros(2).npu()
    assert kernel_types(lambda: tuned_kernel[(1,)](x, (), 6, None)) == ["tuned_kernel"]
    assert len(interpreter) == 1
    tuned_kernel[(1,)](x, (), 6, None)  # nobody records it
    works.append(work_of([x]))
    works.append(work_of([x]))
    assert works == [Work(vector_ops=7, read=30, written=20), Work()]


def test_a_captured_kernel_is_launched_again_by_each_replay(interpreter: list[Any]) -> None:
    x = torch.zeros(2).npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        tuned_kernel[(1,)](x, (), 6, None)
    before = len(interpreter)
    graph.replay()
    graph.replay()
    assert len(interpreter) == before + 2


def test_what_the_interpreter_raises_names_the_kernel(interpreter: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    del interpreter

    def fail(*_: object) -> Work:
        raise NotImplementedError("no such operation")

    monkeypatch.setattr(_calls, "run_interpreted", fail)
    with pytest.raises(CaptureError, match=r"tuned_kernel: Triton's interpreter cannot run this .*no such operation"):
        tuned_kernel[(1,)](torch.zeros(2).npu(), (), 6, None)


def test_without_values_a_tensor_is_counted_once_and_a_large_one_in_part() -> None:
    small, large = torch.zeros(3, dtype=torch.float16), torch.empty(1 << 30, dtype=torch.int8, device="meta")
    assert work_without_values([small, large]) == Work(
        vector_ops=8 * (3 + (1 << 24)), read=6 + (1 << 24), written=6 + (1 << 24)
    )


@hypothesis.given(st.lists(st.floats(width=32, allow_nan=True), min_size=1))
def test_float32_is_rounded_to_bfloat16_as_pytorch_does(numbers: list[float]) -> None:
    bits = bfloat16_bits(np.array(numbers, np.float32))
    ours = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16)
    torch.testing.assert_close(ours, torch.tensor(numbers).bfloat16(), rtol=0, atol=0, equal_nan=True)
    np.testing.assert_array_equal(float32_values(bits), ours.float().numpy())
