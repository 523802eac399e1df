"""Synthetic clusters: what is slow is slow by the stated factor, all wait for it, and the same seed writes the same."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from drynpu import OutputError
from drynpu_cluster import ClusterResult, analyse_cluster, find_cluster
from drynpu_cluster.synth import Synthesis, SynthOptions, synthesise
from drynpu_cluster.synth._warp import Span, build_warp

EVEN = {"jitter": 0.0, "step_change": 0.0}


def made(run: Path, folder: Path, options: SynthOptions, workers: int | None = None) -> Synthesis:
    return synthesise(find_cluster(run), folder, options, workers=workers)


def analysed(folder: Path) -> ClusterResult:
    return analyse_cluster(find_cluster(folder), None)


@pytest.mark.parametrize("form", ["text", "db"])
def test_the_stated_rank_and_link_are_found_slow(form: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    run = request.getfixturevalue(f"{form}_run")
    # Rank 2 of each copy takes 320 us alone, the others 120 us; 4 is made from 1.
    options = SynthOptions(12, slow_rank=4, slow_factor=8.0, slow_link=(7, 8), link_factor=10.0, **EVEN)
    made(run, tmp_path / "many", options)
    overview = analysed(tmp_path / "many").overview
    ranks = {row["rank"]: row for row in overview.ranks.iter_rows(named=True)}
    assert len(ranks) == 12
    assert overview.slow_ranks["rank"][0] == "4"
    assert ranks["4"]["computing_us"] == pytest.approx(8 * ranks["7"]["computing_us"])
    link = overview.slow_links.row(0, named=True)
    assert (link["source"], link["target"]) == (7, 8)
    assert link["gb_s"] == pytest.approx(1.0)


@pytest.mark.parametrize("form", ["text", "db"])
def test_all_ranks_end_a_step_together_because_they_wait_for_the_last(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = request.getfixturevalue(f"{form}_run")
    made(run, tmp_path / "even", SynthOptions(9, slow_rank=5, slow_factor=3.0, link_factor=1.0, **EVEN))
    # Rank 5 comes after three times 320 us and 50 us of transit, others after 120, the other copies of 2 after 370.
    waits = analysed(tmp_path / "even").overview.ranks["wait_us"].to_list()
    assert waits == pytest.approx([890, 890, 640, 890, 890, 0, 890, 890, 640])
    made(run, tmp_path / "many", SynthOptions(9, seed=3, jitter=0.2))
    overview = analysed(tmp_path / "many").overview
    assert overview.steps["total_us"].to_numpy() == pytest.approx(overview.steps["total_us"][0], abs=0.01)
    assert overview.ranks["wait_us"].min() == pytest.approx(0, abs=1e-6)


def test_groups_of_all_grow_and_others_are_copied(text_run: Path, tmp_path: Path) -> None:
    made(text_run, tmp_path / "many", SynthOptions(6))
    groups = {group.seen: group for group in analysed(tmp_path / "many").overview.groups}
    assert set(groups) == {(0, 1, 2, 3, 4, 5), (0, 1), (3, 4)}
    assert groups[0, 1].key == "888"
    assert groups[3, 4].key != "888"
    names = json.loads(next((tmp_path / "many").glob("host_100003_*/*/communication.json")).read_text())["step7"]["p2p"]
    (name,) = names
    assert name == f"hcom_send__{groups[3, 4].key[-3:]}_0_1@{groups[3, 4].key}"


@pytest.mark.parametrize("form", ["text", "db"])
def test_the_same_seed_writes_the_same_whoever_writes(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = request.getfixturevalue(f"{form}_run")
    folders = [tmp_path / name for name in ("one", "two", "other")]
    made(run, folders[0], SynthOptions(5, seed=1), workers=1)
    made(run, folders[1], SynthOptions(5, seed=1), workers=2)
    made(run, folders[2], SynthOptions(5, seed=2), workers=1)
    one, two, other = (
        {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in folders
    )
    assert one == two
    assert one.keys() == other.keys()
    assert one != other


def test_every_directory_says_that_it_is_synthetic(text_run: Path, tmp_path: Path) -> None:
    done = made(text_run, tmp_path / "many", SynthOptions(4, seed=5))
    label = json.loads((tmp_path / "many" / "synthetic.json").read_text())
    assert label["synthetic"] is True
    assert (label["seed"], label["slow_rank"]) == (5, done.slow_rank)
    for directory in (tmp_path / "many").glob("*_ascend_pt"):
        assert json.loads((directory / "profiler_metadata.json").read_text())["drynpu"]["synthetic"] == label


def test_kernels_lie_on_the_timeline_of_their_rank(text_run: Path, tmp_path: Path) -> None:
    for directory in text_run.iterdir():
        table = directory / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
        table.write_text('Name,Start Time(us),Duration(us)\nA,"900.000\t",50.000\nB,"950.500\t",20.250\n')
    made(text_run, tmp_path / "many", SynthOptions(3, slow_rank=0, slow_factor=2.0, link_factor=1.0, **EVEN))
    paths = [next((tmp_path / "many").glob(f"host_{100_000 + rank}_*/*/kernel_details.csv")) for rank in (0, 1)]
    slow, plain = ([line.split(",") for line in path.read_text().splitlines()[1:]] for path in paths)
    assert plain == [["A", "900.000\t", "50.000"], ["B", "950.500\t", "20.250"]]
    # Twice the time before each event, and for it; the first instant stays.
    assert slow == [["A", "900.000\t", "100.000"], ["B", "1001.000\t", "40.500"]]


def test_databases_have_the_rank_the_groups_and_the_times_of_the_rank(db_run: Path, tmp_path: Path) -> None:
    for path in db_run.glob("*/*/ascend_pytorch_profiler_*.db"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE TASK (startNs INTEGER, endNs INTEGER)")
            connection.execute("INSERT INTO TASK VALUES (900000, 950000)")
            connection.execute("CREATE TABLE STRING_IDS (id, value)")
            connection.execute("INSERT INTO STRING_IDS VALUES (1, '777'), (2, 'hcom_allReduce__777_0_1')")
            connection.execute("CREATE TABLE COMMUNICATION_OP (opName, groupName, startNs, endNs)")
            connection.execute("INSERT INTO COMMUNICATION_OP VALUES (2, 1, 1000000, 3000000)")
            connection.commit()
    made(db_run, tmp_path / "many", SynthOptions(6, slow_rank=4, slow_factor=2.0, link_factor=1.0, **EVEN))
    path = next((tmp_path / "many").glob("host_100004_*/*/ascend_pytorch_profiler_4.db"))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT rankId, deviceId FROM RANK_DEVICE_MAP").fetchall() == [(4, 1)]
        assert connection.execute("SELECT * FROM TASK").fetchall() == [(900_000, 1_000_000)]
        ((start, end),) = connection.execute("SELECT startNs, endNs FROM COMMUNICATION_OP").fetchall()
        said = connection.execute("SELECT value FROM META_DATA WHERE name = 'parallel_group_info'").fetchone()
        assert connection.execute("SELECT hostUid FROM HOST_INFO").fetchone() == ("h1_1",)
    assert start == 900_000 + 2 * 100_000
    with closing(sqlite3.connect(path.with_name("analysis.db"))) as connection:
        (elapse,) = connection.execute("SELECT elapse_time FROM CommAnalyzerTime LIMIT 1").fetchone()
    assert end - start == pytest.approx(elapse * 1e6, abs=2)
    assert json.loads(said[0])["777"]["global_ranks"] == [0, 1, 2, 3, 4, 5]


def test_a_warp_keeps_order_and_gives_collectives_their_durations() -> None:
    spans = [Span(1000, 100, 300, 2.0), Span(2000, 100, 50, 0.5), Span(2050, 100, 100, 0.5)]
    warp = build_warp(0, spans, 1.0)
    times = np.arange(0, 5000, 7)
    moved = warp(times)
    assert (np.diff(moved) >= 0).all()
    begin, end = warp(np.array([1000, 1100]))
    assert (begin, end) == (2000, 2300)
    # The last 50 of the third come after the second.
    assert warp(np.array([2150]))[0] - warp(np.array([2100]))[0] == 50


def test_a_wrong_place_is_named(text_run: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="slow rank 9: the cluster has ranks 0 to 4"):
        made(text_run, tmp_path / "a", SynthOptions(5, slow_rank=9))
    with pytest.raises(OutputError, match="slow link 2-3: no recorded rank uses it"):
        made(text_run, tmp_path / "b", SynthOptions(6, slow_link=(2, 3)))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "file").touch()
    with pytest.raises(OutputError, match="is not empty"):
        made(text_run, tmp_path / "c", SynthOptions(5))


def test_ranks_with_other_steps_are_refused(text_run: Path, tmp_path: Path) -> None:
    path = next(text_run.glob("host_101*/*/step_trace_time.csv"))
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    rows[1][1] = "8"
    path.write_text("\n".join(",".join(row) for row in rows))
    with pytest.raises(OutputError, match="different steps"):
        made(text_run, tmp_path / "many", SynthOptions(5))
