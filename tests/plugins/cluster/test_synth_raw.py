"""Synthetic ranks with raw records: what reads them finds the kernels, groups and ranks of the texts and databases."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from drynpu import OutputError
from drynpu.options import ExportType
from drynpu.products import export_torch, load_profile
from drynpu.raw import ClockAnchors
from drynpu_cluster import find_cluster
from drynpu_cluster.synth import SynthOptions, synthesise
from drynpu_cluster.synth._records import Timeline
from drynpu_cluster.synth._warp import Span, build_warp

RECORDED = Path(__file__).parents[2] / "core" / "approved" / "recorded"
SHOWN = ("Name", "Start Time(us)", "Duration(us)", "Task ID", "Stream ID", "aicore_time(us)")


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recorded ranks of PyTorch with their raw data and texts."""
    folder = tmp_path_factory.mktemp("recorded")
    for rank in (0, 1):
        with tarfile.open(RECORDED / f"torch_rank{rank}.tar.xz") as archive:
            archive.extractall(folder / f"host_{7 + rank}_2026010100000000{rank}_ascend_pt", filter="data")
    for directory in folder.iterdir():
        export_torch(load_profile(directory), [ExportType.TEXT])
    return folder


def directory_of(folder: Path, rank: int) -> Path:
    (info,) = folder.glob(f"*/profiler_info_{rank}.json")
    return info.parent


def kernels(directory: Path) -> list[tuple[str, ...]]:
    table = pl.read_csv(directory / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", infer_schema=False)
    return sorted(table.select(name for name in SHOWN if name in table.columns).iter_rows())


def read_again(directory: Path, folder: Path) -> Path:
    """Return a copy of a rank whose results were written anew from its raw records."""
    copy = folder / directory.name
    shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("ASCEND_PROFILER_OUTPUT"))
    export_torch(load_profile(copy), [ExportType.TEXT])
    return copy


def test_raw_records_give_the_kernels_of_the_texts(two_ranks: Path, tmp_path: Path) -> None:
    options = SynthOptions(6, seed=3, slow_rank=2, slow_factor=2.0, jitter=0.3, raw=True)
    done = synthesise(find_cluster(two_ranks), tmp_path / "many", options)
    for rank in (0, 2, 5):
        directory = directory_of(tmp_path / "many", rank)
        expected = kernels(directory)
        again = read_again(directory, tmp_path / f"again_{rank}")
        assert kernels(again) == expected != kernels(directory_of(two_ranks, rank % 2))
        profile = load_profile(again)
        assert profile.rank_id == rank
        assert not [note for note in profile.notes if "left out" in note]
    assert not [name for name in done.left_out if "api_event" in name or "hccl" in name or "stars" in name]


def test_collectives_in_raw_records_are_of_the_groups_of_the_copy(two_ranks: Path, tmp_path: Path) -> None:
    synthesise(find_cluster(two_ranks), tmp_path / "many", SynthOptions(6, raw=True))
    recorded = load_profile(directory_of(two_ranks, 1)).frame("communication_tasks")
    found = load_profile(directory_of(tmp_path / "many", 5)).frame("communication_tasks")
    assert found.height == recorded.height > 0
    # Rank 1 of 2 in the group of all became rank 5 of 6.
    whole = recorded["src_rank"] == 1
    assert set(found.filter(whole)["src_rank"]) == {5}
    assert set(found.filter(whole)["dst_rank"]) <= {4, 5, 0xFFFF_FFFF}
    text = json.loads(
        (directory_of(tmp_path / "many", 5) / "ASCEND_PROFILER_OUTPUT" / "communication.json").read_text()
    )
    named = {name.rpartition("@")[2] for kinds in text.values() for names in kinds.values() for name in names}
    assert set(found["group"]) == named - {"Total Op Info"}


def test_databases_and_raw_records_agree_too(two_ranks: Path, tmp_path: Path) -> None:
    run = shutil.copytree(two_ranks, tmp_path / "run")
    for directory in run.iterdir():
        export_torch(load_profile(directory), [ExportType.DB])
    synthesise(find_cluster(run), tmp_path / "many", SynthOptions(4, jitter=0.2, raw=True))
    directory = directory_of(tmp_path / "many", 3)
    with closing(sqlite3.connect(directory / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_3.db")) as connection:
        expected = connection.execute("SELECT startNs, endNs FROM TASK ORDER BY startNs, endNs").fetchall()
    tasks = load_profile(directory).tasks.select("start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    # TASK has what marks and steps lasted as well.
    assert tasks.height > 100
    assert set(tasks.iter_rows()) <= set(expected)


def test_no_kernel_begins_before_its_launch(two_ranks: Path, tmp_path: Path) -> None:
    synthesise(find_cluster(two_ranks), tmp_path / "many", SynthOptions(2, jitter=0.4, seed=8, raw=True))
    for rank in (0, 1):
        profile = load_profile(directory_of(tmp_path / "many", rank))
        launched = profile.api.filter(pl.col("level") == "node").select("connection_id", pl.col("start_ns").alias("at"))
        first = profile.tasks.group_by("connection_id").agg(pl.col("start_ns").min())
        both = first.join(launched, on="connection_id")
        assert both.height > 0
        assert (both["start_ns"] >= both["at"]).all()


def test_host_times_stay_apart_where_a_long_wait_becomes_short() -> None:
    anchors = ClockAnchors(
        collection_begin_us=1_000, monotonic_raw_ns=1_000_000, device_cntvct=0, host_cntvct=0, device_hz=50_000_000
    )
    times = np.sort(np.random.default_rng(0).choice(np.arange(1_000_000, 3_000_000), 500, replace=False))
    warp = build_warp(1_000_000, [Span(1_500_000, 1_000_000, 100, 1.0)], 1.0)
    timeline = Timeline.build(anchors, warp, times)
    moved = timeline.host(times.astype(np.uint64)).astype(np.int64)
    assert (np.diff(moved) > 0).all()
    assert (moved <= warp(times)).all()
    # Away from the wait nothing moves forward.
    assert (moved[times > 2_500_000] == warp(times[times > 2_500_000])).all()
    assert timeline.host(np.array([0, 2**64 - 1], np.uint64)).tolist() == [0, 2**64 - 1]


def moved(directory: Path) -> dict[tuple[str, ...], dict[str, tuple[float, float, list[float]]]]:
    """Return for each operator of a rank what it moved: by transport bytes, time and the sizes of packets."""
    document = json.loads((directory / "ASCEND_PROFILER_OUTPUT" / "communication.json").read_text())
    return {
        (step, kind, name): {
            transport: (values["Transit Size(MB)"], values["Transit Time(ms)"], sorted(values["Size Distribution"]))
            for transport, values in content["Communication Bandwidth Info"].items()
        }
        for step, kinds in document.items()
        for kind, operators in kinds.items()
        for name, content in operators.items()
    }


def links(directory: Path) -> dict[tuple[str, ...], tuple[str, float, float]]:
    """Return transport, bytes and time of each link of each kind of operator."""
    document = json.loads((directory / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json").read_text())
    return {
        (step, kind, name, link): (values["Transport Type"], values["Transit Size(MB)"], values["Transit Time(ms)"])
        for step, kinds in document.items()
        for kind, operators in kinds.items()
        for name, ends in operators.items()
        for link, values in ends.items()
        # The three in the middle are chosen by their rates, which differ by the ticks of the device.
        if "total" in name
    }


def test_raw_records_have_the_links_of_the_topology_as_the_texts(two_ranks: Path, tmp_path: Path) -> None:
    topology = tmp_path / "cluster.yaml"
    topology.write_text(
        "nodes: 8\ndevices: 2\nhccs: {gbs: 40, latency_us: 2}\nsuper_node: {nodes: 2, gbs: 80, latency_us: 3}\n"
        "roce: {gbs: 10, latency_us: 5}\n"
    )
    options = SynthOptions(8, seed=3, jitter=0.1, topology=str(topology), raw=True)
    synthesise(find_cluster(two_ranks), tmp_path / "many", options)
    transports = set()
    for rank in (0, 3, 6):
        directory = directory_of(tmp_path / "many", rank)
        again = read_again(directory, tmp_path / f"again_{rank}")
        assert kernels(again) == kernels(directory)
        expected, found = moved(directory), moved(again)
        assert found.keys() == expected.keys() != set()
        for operator, kinds in expected.items():
            for transport, (size_mb, time_ms, packets) in kinds.items():
                assert found[operator][transport][::2] == (size_mb, packets)
                # Raw times are whole ticks of 20 ns, one for each packet.
                assert found[operator][transport][1] == pytest.approx(time_ms, rel=0.02, abs=2e-3)
        expected_links, found_links = links(directory), links(again)
        assert found_links.keys() == expected_links.keys() != set()
        for link, (transport, size_mb, time_ms) in expected_links.items():
            assert found_links[link][:2] == (transport, pytest.approx(size_mb))
            assert found_links[link][2] == pytest.approx(time_ms, rel=0.02, abs=2e-3)
            transports.add(transport)
        tasks = load_profile(directory).frame("communication_tasks")
        # Numbers within a group of all ranks are ranks.
        assert set(tasks["src_rank"]) <= {rank, 0, 1}
    assert {"HCCS", "RDMA", "LOCAL"} <= transports


def test_no_task_of_a_topology_begins_before_its_launch(two_ranks: Path, tmp_path: Path) -> None:
    topology = tmp_path / "cluster.yaml"
    topology.write_text("devices: 2\n")
    options = SynthOptions(64, seed=3, jitter=0.4, topology=str(topology), raw=True, link_factor=1)
    synthesise(find_cluster(two_ranks), tmp_path / "many", options)
    for rank in (0, 63):
        profile = load_profile(directory_of(tmp_path / "many", rank))
        calls = profile.api.select("connection_id", pl.col("start_ns").alias("at"))
        tasks = profile.frame("communication_tasks").join(calls, on="connection_id")
        assert tasks.height > 0
        assert (tasks["start_ns"] >= tasks["at"]).all()
        assert not [note for note in profile.notes if "communication tasks" in note]


def test_what_cannot_be_is_refused(two_ranks: Path, tmp_path: Path) -> None:
    run = shutil.copytree(two_ranks, tmp_path / "run")
    shutil.rmtree(next(directory_of(run, 1).glob("PROF_*")))
    with pytest.raises(OutputError, match="rank 1 has no raw data"):
        synthesise(find_cluster(run), tmp_path / "b", SynthOptions(4, raw=True))
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
def test_the_same_seed_writes_the_same_records_whoever_writes(two_ranks: Path, tmp_path: Path) -> None:
    contents = []
    for name, workers in (("one", 1), ("two", 2)):
        folder = tmp_path / name / "many"
        synthesise(find_cluster(two_ranks), folder, SynthOptions(4, seed=4, raw=True), workers=workers)
        # Where a directory lies stands in sample.json.
        files = sorted(path for path in folder.rglob("*") if path.is_file() and "sample.json" not in path.name)
        contents.append([(path.relative_to(folder), path.read_bytes()) for path in files])
    assert contents[0] == contents[1] != []
