"""
Launch Triton kernels that drynpu has no formula for, and one for which it has one, as vLLM-Ascend launches its own.

    python interpreted.py PROFILES
"""

from __future__ import annotations

import json
import sys

import torch
import torch_npu
from vllm.triton_utils import tl, triton
from vllm_ascend.ops.triton.compute_slot_mapping import _compute_slot_mapping_kernel as slots_of_tokens
from vllm_ascend.ops.triton.triton_utils import extract_slice, get_vectorcore_num

from drynpu_vllm_ascend.triton_kernels._interpreted import run_interpreted

ROWS, COLUMNS = 5, 100  # no power of two


@triton.jit
def gated_rows(x_ptr, y_ptr, rows, columns: tl.constexpr, half: tl.constexpr):
    """Write the first half of each row times the second, divided by the greatest of the row."""
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(x_ptr + row * columns + tl.arange(0, columns))
        first = extract_slice(values, (0,), (half,), (1,))
        second = extract_slice(values, (half,), (half,), (1,))
        tl.store(y_ptr + row * half + tl.arange(0, half), first * second / tl.max(values, 0))


@triton.heuristics({"width": lambda present: present["columns"]})
@triton.autotune(configs=[triton.Config({"height": 4}, num_warps=4)], key=["columns"])
@triton.jit
def products(a_ptr, b_ptr, c_ptr, columns, inner: tl.constexpr, height: tl.constexpr, width: tl.constexpr):
    """Write the product of two matrices, four rows for each program."""
    rows = tl.program_id(0) * height + tl.arange(0, height)
    within, across = tl.arange(0, inner), tl.arange(0, width)
    left = tl.load(a_ptr + rows[:, None] * inner + within[None, :])
    right = tl.load(b_ptr + within[:, None] * columns + across[None, :])
    tl.store(c_ptr + rows[:, None] * columns + across[None, :], tl.dot(left, right))


def run_gated() -> list[float]:
    """Return how far the rows are off, and the least difference that the type has there."""
    torch.manual_seed(3)
    x = torch.randn(ROWS, COLUMNS, dtype=torch.bfloat16)
    y = torch.empty(ROWS, COLUMNS // 2, dtype=torch.bfloat16, device="npu")
    gated_rows[(get_vectorcore_num(),)](x.npu(), y, ROWS, COLUMNS, COLUMNS // 2, num_warps=2)
    wanted = x[:, : COLUMNS // 2] * x[:, COLUMNS // 2 :] / x.amax(1, keepdim=True).float()
    return [(y.cpu() - wanted).abs().max().item(), wanted.abs().max().item() * torch.finfo(torch.bfloat16).eps]


def run_products() -> list[float]:
    """Return how far a product is off, and by how much it may be."""
    torch.manual_seed(4)
    a, b = torch.randn(8, 16), torch.randn(16, 32)
    c = torch.empty(8, 32, device="npu")
    products[lambda present: (8 // present["height"],)](a.npu(), b.npu(), c, 32, 16)
    return [(c.cpu() - a @ b).abs().max().item(), 1e-5]


def run_slots() -> bool:
    """Return whether the interpreter writes the slots that the formula writes."""
    starts, positions = torch.tensor([0, 3, 8], dtype=torch.int32), torch.tensor([9, 10, 11, 0, 1, 2, 3, 4])
    table = torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]], dtype=torch.int32)
    by_formula, by_interpreter = (torch.zeros(10, dtype=torch.int32) for _ in range(2))
    arguments = {"num_tokens": 8, "max_num_tokens": 10, "query_start_loc_ptr": starts, "positions_ptr": positions}
    arguments |= {"block_table_ptr": table, "block_table_stride": 4, "block_size": 4, "KV_CACHE_BLOCK_SIZE": 4}
    arguments |= {"BLOCKS_PER_KV_BLOCK": 1, "TOTAL_CP_WORLD_SIZE": 2, "TOTAL_CP_RANK": 1}
    arguments |= {"CP_KV_CACHE_INTERLEAVE_SIZE": 1, "PAD_ID": -1, "TILE_BLOCK_SIZE": 16, "BLOCK_TABLE_WINDOW_SIZE": 4}
    on_npu = {name: each.npu() if isinstance(each, torch.Tensor) else each for name, each in arguments.items()}
    slots = by_formula.npu()
    slots_of_tokens[(3,)](**on_npu, slot_mapping_ptr=slots)
    run_interpreted(slots_of_tokens.interpretable, (3,), {**arguments, "slot_mapping_ptr": by_interpreter})
    return slots.tolist() == by_interpreter.tolist() != [0] * 10


def main() -> None:
    """Print ``RESULT`` with what was compared; the profile has the kernels."""
    profiler = torch_npu.profiler
    level = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1)
    with profiler.profile(
        on_trace_ready=profiler.tensorboard_trace_handler(sys.argv[1]), record_shapes=True, experimental_config=level
    ):
        off = {"gated_rows": run_gated(), "products": run_products()}
    print("RESULT", json.dumps({"off": off, "same_slots": run_slots()}))


if __name__ == "__main__":
    main()
