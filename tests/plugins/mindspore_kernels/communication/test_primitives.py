"""Primitives that communicate, in cells of both modes, and ``comm_func``: numbers, gradients, rows of the profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "primitive_calls.py"
SIZE = 3
RANKS = range(SIZE)
SIZES = [each + 1 for each in RANKS]
TOTAL = sum(SIZES)


def held(rank: int, rows: int) -> Any:
    return np.arange(2.0 * rows).reshape(rows, 2) + 100 * rank


def every(rows: int) -> Any:
    return np.stack([held(rank, rows) for rank in RANKS])


def part(rank: int) -> slice:
    return slice(sum(SIZES[:rank]), sum(SIZES[: rank + 1]))


def cells(rank: int) -> dict[str, list[Any]]:
    uneven = np.concatenate([held(each, TOTAL)[part(rank)].ravel() for each in RANKS])
    return {
        "AllReduce": [every(3).max(0)],
        "AllGather": [np.concatenate(every(2))],
        "ReduceScatter": [every(SIZE).sum(0)[[rank]]],
        "Broadcast": [held(1, 2), held(1, 1)],
        "Reduce": [every(2).sum(0) if rank == 1 else np.zeros(1)],
        "CollectiveScatter": [held(1, SIZE)[[rank]]],
        "CollectiveGather": [np.concatenate(every(1)) if rank == 1 else np.zeros(1)],
        "Barrier": [np.zeros(1)],
        "AlltoAll": [np.concatenate([held(each, SIZE)[[rank]] for each in RANKS], 1)],
        "AlltoAllV": [uneven],
        "AlltoAllVC": [uneven],
        "AllGatherV": [np.concatenate([held(each, each + 1).ravel() for each in RANKS])],
        "ReduceScatterV": [every(TOTAL).sum(0)[part(rank)].ravel()],
        "BatchISendIRecv": [held((rank - 1) % SIZE, 2)],
        "Receive": [held(0, 2) if rank == 1 else held(rank, 1)],
    }


def gradient(rank: int) -> Any:
    """
    Return the gradient of ``sum(R x * x) + sum((G x)^2) + sum((S x)^2) + sum(E x * x)`` of a rank.

    R reduces, G gathers, S reduces and scatters, E exchanges; backward R is R, G is S, S is G and E is E. So the four
    terms give ``2 R x``, ``2 n x``, ``2 R x`` and ``2 E x``.
    """
    exchanged = np.concatenate([held(each, SIZE)[[rank]] for each in RANKS])
    return 4 * every(SIZE).sum(0) + 2 * SIZE * held(rank, SIZE) + 2 * exchanged


def expected(rank: int) -> dict[str, list[Any]]:
    before = (rank - 1) % SIZE
    tile = [held(rank - 1, 2)[1:]] * (rank > 0) + [held(rank, 2)] + [held(rank + 1, 2)[:1]] * (rank < SIZE - 1)
    exchanged = np.concatenate([held(each, SIZE)[[rank]] for each in RANKS])
    found = {
        "all_reduce": [every(2).sum(0)],
        "all_gather_into_tensor": [np.concatenate(every(1))],
        "reduce_scatter_tensor": [every(SIZE).max(0)[[rank]]],
        "reduce": [every(2).sum(0) if rank == 1 else np.zeros(1)],
        "scatter_tensor": [held(1, SIZE)[[rank]]],
        "gather_into_tensor": [np.concatenate(every(1)) if rank == 1 else np.zeros(1)],
        "broadcast": [held(1, 1)],
        "irecv": [held(before, 1)],
        "batch_isend_irecv": [held(before, 1)],
        "all_to_all": [held(each, rank + 1) for each in RANKS],
        "all_to_all_single": [exchanged],
        "all_to_all_single uneven": [np.concatenate([held(each, TOTAL)[part(rank)] for each in RANKS])],
        "all_to_all_v_c": [exchanged],
        "graph NeighborExchange": [held(before, 2)],
        "graph NeighborExchangeV2": [np.concatenate(tile)[None, None]],
        "graph functions": [every(SIZE).max(0), np.concatenate(every(SIZE)), every(SIZE).sum(0)[[rank]], exchanged],
        **{f"{name} gradients": [gradient(rank)] for name in ("pynative", "graph", "function")},
    }
    if rank == 1:
        found["recv"] = [held(0, 2)]
    return found | {f"{mode} {name}": each for mode in ("pynative", "graph") for name, each in cells(rank).items()}


# Operators of HCCL by the order of the script on the last rank, with the bytes that it moves of what it gives (as in
# test_mint.py). A device scatters from rank 1, and gathers there, by messages.
CELLS = [
    ("hcom_allReduce_", 32),
    ("hcom_allGather_", 32),
    ("hcom_reduceScatter_", 16),
    ("hcom_broadcast_", 16),
    ("hcom_broadcast_", 8),
    ("hcom_reduce_", 12),
    ("hcom_receive_", 8),
    ("hcom_send_", 0),
    ("hcom_allReduce_", 6),
    ("hcom_alltoall_", 16),
    ("hcom_alltoallv_", 32),
    ("hcom_alltoallvc_", 32),
    ("hcom_allGatherV_", 32),
    ("hcom_reduceScatterV_", 32),
    ("hcom_batchSendRecv_", 16),
]
FUNCTIONS = [
    "hcom_allReduce_",
    "hcom_allGather_",
    "hcom_reduceScatter_",
    "hcom_reduce_",
    "hcom_receive_",
    "hcom_send_",
    "hcom_broadcast_",
    "hcom_allReduce_",
    "hcom_send_",
    "hcom_receive_",
    "hcom_batchSendRecv_",
    "ConcatD",  # the list of what is sent, as on a device
    "hcom_alltoallv_",
    "hcom_alltoall_",
    "hcom_alltoallv_",
    "hcom_alltoallvc_",
]


def test_primitives_and_functions_move_data_and_show_what_a_device_runs(run_ranks: Any, read_rows: Any) -> None:
    folder, ranks = run_ranks(SCRIPT)
    for rank, found in enumerate(ranks):
        wanted = {f"{name}.{place}": each for name, all_ in expected(rank).items() for place, each in enumerate(all_)}
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name].squeeze(), value.squeeze(), f"rank {rank}: {name}")
    shown = {part: read_rows(folder / "out" / part) for part in ("functions", "pynative", "graph")}
    assert shown["pynative"][SIZE - 1] == CELLS
    # MindSpore copies the inputs of a broadcast in graphs, on a device as well.
    assert [row for row in shown["graph"][SIZE - 1] if row[0] != "TensorMove"] == CELLS
    assert [kind for kind, _ in shown["functions"][SIZE - 1]] == FUNCTIONS
    # The root of the scatter sends to both, and the two that give to the gather are received one by one.
    assert [kind for kind, _ in shown["pynative"][1]][6:10] == ["hcom_send_"] * 2 + ["hcom_receive_"] * 2
    notes = [path.read_text() for path in (folder / "out").glob("*/*_ascend_ms/profiler_metadata.json")]
    assert len(notes) == 3 * SIZE
    assert not [text for text in notes if "left out" in text or "wait for nobody" in text]
