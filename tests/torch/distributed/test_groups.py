"""What a script asks of its groups, and the ranges that collectives set while marks are recorded."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("group_script.py")


@pytest.fixture(scope="module")
def run(run_ranks: Callable[..., Any]) -> Any:
    return run_ranks(SCRIPT, ranks=2)


def ranges(output: Any) -> list[dict[str, str]]:
    (path,) = output.prof.glob("mindstudio_profiler_output/msprof_tx_*.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.DictReader(stream) if row["domain"] == "communication"]


def expected(rank: int) -> list[dict[str, str]]:
    end = {"destRank": "1", "opName": "HcclSend"} if rank == 0 else {"srcRank": "0", "opName": "HcclRecv"}
    world = {"groupName": "group_name_0"}
    return [
        {"count": "1000", "dataType": "bfp16", **world, "opName": "HcclAllreduce"},
        {"count": "3", "dataType": "int64", "groupName": "group_name_1", "opName": "HcclAllreduce"},
        {"count": "5", "dataType": "fp32", **world, **end},
        {"count": "4", "dataType": "fp32", **world, "opName": "HcclAllGather"},
        {"count": "6", "dataType": "fp32", **world, "opName": "HcclBatchSendRecv"},
    ]


def test_options_and_names_of_communicators(run: Any) -> None:
    for rank in range(2):
        told = json.loads((run.folder / f"told_{rank}.json").read_text())
        assert told.pop("options") == [{"hccl_buffer_size": 200}, [], [0, 1]]
        assert "backend gloo" in told.pop("gloo")
        for other in ("split", "synchronised", "one has none"):
            told.pop(other)
        assert told == {
            "available": True,
            "parallel": True,
            "names": ["group_name_0", "group_name_1"],
            "same class": True,
        }


def test_a_group_is_split(run: Any, by_rank: Callable[..., Any]) -> None:
    for rank, output in enumerate(by_rank(run, "marked")):
        told = json.loads((run.folder / f"told_{rank}.json").read_text())
        assert told["split"] == [[rank], "part", [float(rank)] * 2]
        groups = output.document("profiler_metadata.json")["parallel_group_info"]
        assert {"group_name": "part", "group_rank": 0, "global_ranks": [rank]} in groups.values()


def test_batch_normalisation_is_that_of_the_whole_batch(
    run: Any, by_rank: Callable[..., Any], operators: Callable[..., Any]
) -> None:
    """Output, gradient of the input; summed gradients of weight and bias; running mean and variance."""
    for rank, output in enumerate(by_rank(run, "excluded")):
        told = json.loads((run.folder / f"told_{rank}.json").read_text())
        assert told["synchronised"] == [True] * 6
        assert told["one has none"] == [[2 * rank, 4, 5], True]
        assert [of.kind for of in operators(output)][-2:] == ["allGather", "allReduce"]
        names = [event["name"] for event in output.operators()]
        assert [name for name in names if name.startswith("aten::batch_norm_")] == [
            *("aten::batch_norm_stats", "aten::batch_norm_gather_stats_with_counts", "aten::batch_norm_elemt"),
            *("aten::batch_norm_backward_reduce", "aten::batch_norm_backward_elemt"),
        ]
        assert output.document("profiler_metadata.json")["drynpu"]["unmapped_operators"] == {}


def test_profiles_know_the_groups_by_these_names(run: Any, by_rank: Callable[..., Any]) -> None:
    for output in by_rank(run, "marked"):
        assert set(output.document("profiler_metadata.json")["parallel_group_info"]) >= {"group_name_0", "group_name_1"}


@pytest.mark.parametrize("folder", ["marked", "alone"])
def test_every_collective_sets_a_range_with_the_vendors_text(
    run: Any, by_rank: Callable[..., Any], folder: str
) -> None:
    for rank, output in enumerate(by_rank(run, folder)):
        rows = ranges(output)
        texts = [json.loads(row["message"]) for row in rows]
        streams = [text.pop("streamId") for text in texts]
        assert texts == expected(rank)
        assert streams[0] == streams[2] == streams[3] == streams[4] != streams[1]
        first = rows[0]["message"].replace(streams[0], "32")
        assert first == (
            '{"streamId": "32","count": "1000","dataType": "bfp16",'
            '"groupName": "group_name_0","opName": "HcclAllreduce"}'
        )
        assert {row["event_type"] for row in rows} == {"start/end"}
        assert ("kernel_details.csv" in output.files) == (folder == "marked")


def test_a_range_is_its_operator_on_the_device(
    run: Any, by_rank: Callable[..., Any], operators: Callable[..., Any]
) -> None:
    for output in by_rank(run, "marked"):
        shown = [(of.start, of.end) for of in operators(output)]
        begin, end = "Device Start_time(us)", "Device End_time(us)"
        found = [(Decimal(row[begin].strip()), Decimal(row[end].strip())) for row in ranges(output)]
        assert found == shown
        events = [e for e in output.layer("Ascend Hardware") if e["name"].startswith('{"streamId"')]
        assert [Decimal(str(e["ts"])) for e in events] == [start for start, _ in shown]
        assert [str(e["tid"]) for e in events] == [json.loads(e["name"])["streamId"] for e in events]
        launching = {e["tid"] for e in output.layer("CANN") if e["name"] == "Node@launch"}
        assert {int(row["tid"]) for row in ranges(output)} <= launching


def test_the_database_joins_marks_and_tasks_as_msprof_analyze_does(run: Any, by_rank: Callable[..., Any]) -> None:
    query = """SELECT t.startNs, t.endNs, value FROM MSTX_EVENTS m JOIN TASK t ON m.connectionId = t.connectionId
        JOIN STRING_IDS s ON m.message = s.id WHERE value LIKE '%"opName":%' ORDER BY t.startNs"""
    for rank, output in enumerate(by_rank(run, "alone")):
        with closing(sqlite3.connect(output.folder / f"ascend_pytorch_profiler_{rank}.db")) as connection:
            rows = connection.execute(query).fetchall()
            types = [name.lower() for (name,) in connection.execute("SELECT name FROM ENUM_HCCL_DATA_TYPE")]
        assert [json.loads(text)["opName"] for *_, text in rows] == [of["opName"] for of in expected(rank)]
        assert all(start < end for start, end, _ in rows)
        assert {json.loads(text)["dataType"] for *_, text in rows} <= set(types)


def test_a_domain_that_is_excluded_is_not_marked(run: Any, by_rank: Callable[..., Any]) -> None:
    for output in by_rank(run, "excluded"):
        assert not list(output.prof.glob("mindstudio_profiler_output/msprof_tx_*")) or not ranges(output)
        assert "hcom_allReduce_" in {e["name"][:15] for e in output.layer("Communication")}
