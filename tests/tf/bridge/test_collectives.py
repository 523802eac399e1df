"""Collectives of two processes leave what NumPy computes of what both brought."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drynpu_tf.ranks import Job, rank_count, rank_number, segments_by_index, segments_by_size

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "every_collective.py"
ONE = np.array([[1.0, 2.0], [3.0, 4.0]])
TWO = 2 * ONE


def expected(rank: int) -> dict[str, Any]:
    both = ONE + TWO
    flat = [ONE.reshape(-1), TWO.reshape(-1)]
    # Rank 0 keeps its first element and sends the rest; rank 1 sends half to each.
    exchanged = [[flat[0][:1], flat[1][:2]], [flat[0][1:], flat[1][2:]]][rank]
    return {
        "sum": both,
        "prod": ONE * TWO,
        "max": TWO,
        "min": ONE,
        "list": both[0],
        "gather": np.concatenate([ONE, TWO]),
        "broadcast": TWO[:1],
        "reduce": both if rank == 0 else 0 * both,
        "scatter": both[rank : rank + 1],
        "group": both,
        "alone": [ONE, TWO][rank],
        "half": both,
        "bfloat": both,
        "whole": both,
        "mean": both / 2,
        "sparse": np.array([ONE[0] / 2, TWO[0] / 2, [0, 0]]),
        "all to all": np.concatenate(exchanged),
        "all to all c": np.concatenate(exchanged),
        "message": ONE,
        # Each rank multiplies by its number: the gradients of both add up.
        "gradient": np.full((2, 2), 3.0),
    }


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_data_goes_from_rank_to_rank(mode: str, scripts: Any) -> None:
    for rank, run in enumerate(scripts.ranks(SCRIPT, mode)):
        found = run.printed("found")
        if mode == "eager":
            assert found.pop("weight") == [[5.0]]
        wanted = expected(rank)
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, err_msg=f"{name} on rank {rank}")


def test_a_rank_that_is_alone_says_so_in_the_time_of_the_variable(scripts: Any) -> None:
    alone = {"RANK_SIZE": "2", "RANK_ID": "1", "HCCL_CONNECT_TIMEOUT": "1", "HCCL_IF_BASE_PORT": "9"}
    run = scripts(SCRIPT, "eager", status=1, environment=alone)
    assert re.search("rank 1 of 2: rank 0 is not there at port 9 of .* after 1 s", run.stderr)
    assert "start 2 processes, one for each rank" in run.stderr


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK_SIZE": "8", "RANK_ID": "3"}, (3, 8)),
        ({"CM_WORKER_SIZE": "4", "CM_CHIEF_IP": "10.0.0.1", "ASCEND_DEVICE_ID": "2"}, (2, 4)),
        ({"RANK_SIZE": "", "RANK_ID": "x"}, (0, 1)),
    ],
)
def test_ranks_are_those_of_launch_scripts(environment: dict[str, str], expected: tuple[int, int]) -> None:
    assert (rank_number(environment), rank_count(environment)) == expected


@pytest.mark.parametrize(
    "table",
    [
        '{"server_list": [{"device": [{"rank_id": "0"}, {"rank_id": "1"}]}, {"device": [{"rank_id": "2"}]}]}',
        '{"group_list": [{"instance_list": [{"devices": [{"device_id": "0"}]}, {"devices": [{}, {}]}]}]}',
    ],
)
def test_a_table_of_ranks_says_how_many_there_are(table: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(table)
    assert rank_count({"RANK_TABLE_FILE": str(path)}) == 3
    assert rank_count({"RANK_TABLE_FILE": str(tmp_path / "missing.json")}) == 1


def test_ports_and_patience_are_hccls() -> None:
    job = Job.from_environ({})
    assert (job.port, job.connect_s, job.answer_s) == (60000, 120, 1836)
    job = Job.from_environ({"HCCL_IF_BASE_PORT": "7000", "HCCL_CONNECT_TIMEOUT": "9", "HCCL_EXEC_TIMEOUT": "8"})
    assert (job.port, job.connect_s, job.answer_s) == (7000, 9, 8)
    assert Job.from_environ({"CM_CHIEF_PORT": "6000", "HCCL_IF_BASE_PORT": "7000"}).port == 6000


def test_gradients_are_split_by_their_bytes_or_numbers() -> None:
    assert segments_by_size([50, 46, 1, 1, 1, 1]) == [[0, 1, 2], [3, 4, 5]]
    assert segments_by_size([100]) == [[0]]
    assert segments_by_size([1, 1, 1, 1], [50, 25, 25]) == [[0, 1], [2], [3]]
    assert segments_by_size([]) == []
    assert segments_by_index(5, [1, 3]) == [[0, 1], [2, 3], [4]]
    assert segments_by_index(3, [9]) == [[0, 1, 2]]
