"""The cluster analysis of a run written by hand, whose numbers follow on paper."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from drynpu import OutputError
from drynpu_cluster import FOLDER, ClusterResult, analyse_cluster, find_cluster


def analysed(run: Path, out: Path, workers: int | None = None) -> ClusterResult:
    return analyse_cluster(find_cluster(run), out, workers=workers)


def test_operators_of_all_ranks_stand_under_the_ranks_of_their_group(text_run: Path, tmp_path: Path) -> None:
    analysed(text_run, tmp_path)
    document = json.loads((tmp_path / FOLDER / "cluster_communication.json").read_text())
    assert set(document) == {"(0, 1, 2)", "(0, 1)"}
    of_all = document["(0, 1, 2)"]["step7"]
    assert set(of_all) == {"hcom_allReduce__777_0_1@777", "hcom_allReduce__777_1_1@777", "Total Op Info@777"}
    total = of_all["Total Op Info@777"]["0"]
    times = total["Communication Time Info"]
    assert (times["Transit Time(ms)"], times["Wait Time(ms)"]) == (3.0, 2.0)
    assert (times["Wait Time Ratio"], times["Synchronization Time Ratio"]) == (0.4, 0.25)
    assert "Start Timestamp(us)" not in times
    moved = total["Communication Bandwidth Info"]["HCCS"]
    assert moved["Size Distribution"] == {"1.0": [6, 3.0]}
    assert moved["Bandwidth(GB/s)"] == 2.0
    # What a file says of an operator is passed on as it is.
    assert of_all["hcom_allReduce__777_0_1@777"]["1"]["Communication Time Info"]["Wait Time Ratio"] == 0.5
    assert set(document["(0, 1)"]["step7"]["hcom_send__888_0_1@888"]) == {"0", "1"}


def test_sums_of_links_leave_samples_out(text_run: Path, tmp_path: Path) -> None:
    analysed(text_run, tmp_path)
    document = json.loads((tmp_path / FOLDER / "cluster_communication_matrix.json").read_text())
    links = document["(0, 1, 2)"]["step7"]
    assert set(links) == {"allreduce-top1@777", "allreduce-total@777", "Total Op Info@777"}
    assert links["Total Op Info@777"]["0-1"]["Bandwidth(GB/s)"] == 2.0
    assert links["Total Op Info@777"]["1-0"] == {
        "Transport Type": "HCCS",
        "Transit Time(ms)": 1.0,
        "Transit Size(MB)": 10.0,
        "Op Name": "hcom",
        "Bandwidth(GB/s)": 10.0,
    }


def test_columns_of_steps_stay_and_what_is_no_number_is_0(text_run: Path, tmp_path: Path) -> None:
    analysed(text_run, tmp_path)
    with (tmp_path / FOLDER / "cluster_step_trace_time.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:4] == ["Step", "Type", "Index", "Computing"]
    assert rows[3] == ["7", "rank", "2", "300.0", "50.0", "5.0", "55.0", "20.0", "170.0", "0.0", "0.0"]


def test_links_to_ranks_without_a_directory_are_counted(text_run: Path, tmp_path: Path) -> None:
    for path in next(text_run.glob("host_102*")).rglob("*"):
        if path.is_file():
            path.unlink()
    result = analysed(text_run, tmp_path)
    # Of ranks 0 and 1 each, in each of two entries, the link to rank 2.
    assert any(note.startswith("4 links lead to ranks") for note in result.notes)
    assert any("host_102" in note for note in result.notes)


@pytest.mark.parametrize("form", ["text", "db"])
def test_the_slow_rank_and_the_slow_link_are_found(form: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    overview = analysed(request.getfixturevalue(f"{form}_run"), tmp_path).overview
    (slow,) = overview.slow_ranks.iter_rows(named=True)
    # (300 + 20) beside twice (100 + 20).
    assert slow["rank"] == "2"
    assert slow["share"] == pytest.approx(320 / (560 / 3) - 1)
    (link,) = overview.slow_links.iter_rows(named=True)
    assert (link["source"], link["target"], link["gb_s"]) == (0, 1, 2.0)
    assert overview.ranks["wait_us"].to_list() == [2000.0, 1000.0, 0.0]
    assert [(group.purpose, group.ranks) for group in overview.groups if group.kind == "collective"] in (
        [("", (0, 1, 2))],
        [("dp", (0, 1, 2))],
    )


def test_packages_of_an_operator_count_its_bytes_once(db_run: Path, tmp_path: Path) -> None:
    analysed(db_run, tmp_path)
    with closing(sqlite3.connect(tmp_path / FOLDER / "cluster_analysis.db")) as connection:
        total = connection.execute(
            "SELECT transit_size, transit_time, bandwidth, package_size, count, total_duration "
            "FROM ClusterCommunicationBandwidth WHERE hccl_op_name = 'Total Op Info' AND rank_id = 1 ORDER BY 4"
        ).fetchall()
        rank, device, host, path = connection.execute("SELECT * FROM RankDeviceMap ORDER BY 1").fetchall()[2]
    assert total == [(6.0, 3.0, 2.0, 0.5, 4, 1.5), (6.0, 3.0, 2.0, 1.0, 4, 1.5)]
    assert (rank, device, host) == (2, 2, "h1")
    assert path.endswith("_ascend_pt")


@pytest.mark.parametrize("form", ["text", "db"])
def test_several_processes_write_what_one_writes(form: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    run = request.getfixturevalue(f"{form}_run")
    one, two = (analysed(run, tmp_path / str(workers), workers) for workers in (1, 2))
    for first, second in zip(one.files, two.files, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_a_damaged_file_is_named_with_its_rank(text_run: Path, tmp_path: Path) -> None:
    path = next(text_run.glob("host_101*")) / "ASCEND_PROFILER_OUTPUT" / "communication.json"
    path.write_text('{"step7": {"coll')
    with pytest.raises(OutputError, match="rank 1 in .*host_101"):
        analysed(text_run, tmp_path)


def test_a_damaged_database_is_named_with_its_rank(db_run: Path, tmp_path: Path) -> None:
    path = next(db_run.glob("host_101*")) / "ASCEND_PROFILER_OUTPUT" / "analysis.db"
    path.write_bytes(b"no database")
    with pytest.raises(OutputError, match="rank 1 in .*host_101"):
        analysed(db_run, tmp_path)
