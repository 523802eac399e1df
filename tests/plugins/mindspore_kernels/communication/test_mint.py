"""``mint.distributed`` on three ranks, of which two are a group: numbers, and what the profile shows of each call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "mint_calls.py"
SIZE = 3
RANKS = range(SIZE)


def held(rank: int, rows: int) -> Any:
    return np.arange(2.0 * rows).reshape(rows, 2) + 100 * rank


def together(function: Callable[..., Any], rows: int, ranks: Any = RANKS) -> Any:
    """Return what a function makes of what all ranks hold, one above the other."""
    return function(np.stack([held(rank, rows) for rank in ranks]), axis=0)


def expected(rank: int) -> dict[str, list[Any]]:
    """Return by call the tensors that a rank has after it."""
    three = together(np.sum, 3)
    sizes = [each + 1 for each in RANKS]
    part = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
    before = (rank - 1) % SIZE
    gathered = np.concatenate([held(each, 2) for each in RANKS])
    uneven = [held(each, each + 1) for each in RANKS]
    found = {
        "all_reduce sum": [three],
        "all_reduce prod": [together(np.prod, 3)],
        "all_reduce max": [together(np.max, 3)],
        "all_reduce min": [together(np.min, 3)],
        "all_reduce half": [three],
        # Of the sums 300 to 315 bfloat16 has multiples of 2, and what is between rounds to multiples of 4.
        "all_reduce bfloat": [np.array([[300, 304], [306, 308], [312, 316]])],
        "all_reduce whole": [three],
        "reduce": [together(np.sum, 2) if rank == 1 else held(rank, 2)],
        "reduce later": [together(np.max, 2) if rank == 0 else held(rank, 2)],
        "all_gather_into_tensor": [gathered],
        "all_gather_into_tensor later": [gathered],
        "all_gather": [held(each, 2) for each in RANKS],
        "all_gather_into_tensor_uneven": [np.concatenate(uneven)],
        "all_gather uneven": uneven,
        "gather": [held(each, 2) if rank == 1 else np.zeros((2, 2)) for each in RANKS],
        "reduce_scatter_tensor": [together(np.sum, SIZE)[[rank]]],
        "reduce_scatter_tensor_uneven": [together(np.max, sum(sizes))[part]],
        "reduce_scatter": [together(np.sum, 2)],
        "reduce_scatter uneven": [together(np.sum, rank + 1)],
        "scatter": [np.full((2, 2), 10 + rank)],
        "broadcast": [held(1, 2)],
        "all_to_all": [held(each, rank + 1) for each in RANKS],
        "all_to_all_single": [np.concatenate([held(each, SIZE)[[rank]] for each in RANKS])],
        "all_to_all_single uneven": [np.concatenate([held(each, sum(sizes))[part] for each in RANKS])],
        "irecv": [held(before, 2)],
        "batch_isend_irecv": [held(before, 3)],
    }
    whole = held(rank, 4)
    whole[:, 1] = together(np.sum, 4)[:, 1]
    found["view"] = [whole + 1]
    if rank == 0:
        found["irecv first"] = [held(1, 2)]
    if rank == 1:
        found["recv"] = [held(0, 1)]
    if rank > 0:
        mine = rank - 1
        found["group"] = [
            together(np.sum, 2, (1, 2)),
            np.concatenate([held(1, 2), held(2, 2)]),
            together(np.sum, 2, (1, 2))[[mine]],
            held(1, 1),
            held(2, 1),
        ]
        found["group broadcast"] = [held(2, 2)]
    return found


# What each function of the script shows on the last rank: the operators of HCCL, and the bytes that the rank moves of
# what it gives (two numbers of 4 bytes a row): of n ranks 2 (n-1)/n of a reduction, n-1 times what is gathered, (n-1)/n
# of what is scattered or exchanged. A send is moved by the rank that receives.
REDUCED, HALF = ("hcom_allReduce_", 32), ("hcom_allReduce_", 16)
SHOWN = {
    "gathers": [
        ("hcom_allGather_", 32),
        ("hcom_allGather_", 32),
        ("hcom_allGatherV_", 32),
        ("hcom_allGatherV_", 32),
        ("hcom_allGather_", 32),
        ("hcom_allGather_", 32),
    ],
    "scatters": [
        ("hcom_reduceScatter_", 16),
        ("hcom_reduceScatterV_", 32),
        ("hcom_reduceScatter_", 32),
        ("hcom_reduceScatterV_", 32),
        ("hcom_scatter_", 16),
        ("hcom_broadcast_", 16),
    ],
    # The list of what is sent is joined by a kernel, as on a device.
    "exchanges": [("ConcatD", -1), ("hcom_alltoallv_", 32), ("hcom_alltoall_", 16), ("hcom_alltoallv_", 32)],
    "messages": [
        ("hcom_send_", 0),
        ("hcom_receive_", 16),
        ("hcom_batchSendRecv_", 24),
    ],
    "groups": [
        ("hcom_allReduce_", 16),
        ("hcom_allGather_", 16),
        ("hcom_reduceScatter_", 8),
        ("ConcatD", -1),
        ("hcom_alltoallv_", 8),
        ("hcom_allReduce_", 4),
        ("hcom_broadcast_", 0),
    ],
}


def test_all_functions_of_mint_move_data_and_show_the_collective_that_was_called(
    run_ranks: Any, read_rows: Any
) -> None:
    folder, ranks = run_ranks(SCRIPT)
    for rank, found in enumerate(ranks):
        wanted = {f"{name}.{place}": each for name, all_ in expected(rank).items() for place, each in enumerate(all_)}
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name], value, f"rank {rank}: {name}")
    shown = {part: read_rows(folder / "out" / part) for part in (*SHOWN, "reductions", "barrier")}
    for part, kernels in SHOWN.items():
        assert shown[part][SIZE - 1] == kernels, part
    reductions = [row for row in shown["reductions"][SIZE - 1] if row[0] != "Cast"]
    assert reductions == [REDUCED] * 4 + [HALF] * 2 + [REDUCED] + [("hcom_reduce_", 12)] * 2
    assert [kind for kind, _ in shown["messages"][1]][2:4] == ["hcom_receive_", "hcom_send_"]
    assert [[kind for kind, _ in shown["barrier"][rank]] for rank in RANKS] == [["hcom_allReduce_"]] * SIZE
    notes = [path.read_text() for path in (folder / "out").glob("*/*_ascend_ms/profiler_metadata.json")]
    assert len(notes) == SIZE * 7
    assert not [text for text in notes if "left out" in text or "wait for nobody" in text]
