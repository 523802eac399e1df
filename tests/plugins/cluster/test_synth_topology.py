"""Synthetic clusters with the links of a topology: kinds, bytes and rates of links, times, nodes and devices."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import attrs
import polars as pl
import pytest

from drynpu import OutputError
from drynpu_cluster import analyse_cluster, find_cluster
from drynpu_cluster.synth import SynthOptions, synthesise

EVEN = SynthOptions(12, jitter=0.0, step_change=0.0, slow_factor=1.0)
GBS = {"HCCS": 40.0, "HCCS_SW": 80.0, "RDMA": 10.0}


@pytest.fixture
def topology(tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "nodes: 8\ndevices: 3\nefficiency: 1\nhccs: {gbs: 40, latency_us: 2}\n"
        "super_node: {nodes: 2, gbs: 80, latency_us: 3}\nroce: {gbs: 10, latency_us: 5}\n"
    )
    return str(path)


def links_of(run: Path, folder: Path, options: SynthOptions) -> dict[tuple[int, int], tuple[str, float, float]]:
    """Return transport, 10^6 bytes and GB/s of each link of the cluster that is made."""
    synthesise(find_cluster(run), folder, options)
    links = analyse_cluster(find_cluster(folder), None).overview.links
    chosen = links.select("source", "target", "transport", pl.col("size_bytes") / 1e6, "gb_s")
    return {(row[0], row[1]): (row[2], row[3], row[4]) for row in chosen.iter_rows()}


@pytest.mark.parametrize("form", ["text", "db"])
def test_links_have_the_kind_the_bytes_and_the_rate_of_the_topology(
    form: str, request: pytest.FixtureRequest, topology: str, tmp_path: Path
) -> None:
    run = request.getfixturevalue(f"{form}_run")
    links = links_of(run, tmp_path / "many", attrs.evolve(EVEN, topology=topology, link_factor=1.0))
    # Three ranks moved 3 MB each: 4 thirds of a tensor of 2.25 MB. Rank 4 of twelve sits on node 1 of 4. Two
    # reductions a step: on the node two parts of 0.75 MB from each neighbour, between the two nodes of the super-node
    # two halves of such a part, between super-nodes two halves of that half. "top1" of an entry counts one of the two.
    found = {key: value for key, value in links.items() if key[0] == 4 and value[1] > 0}
    assert set(found) == {(4, 3), (4, 5), (4, 1), (4, 10)}
    for peer, size_mb, kind in ((3, 3.0, "HCCS"), (5, 3.0, "HCCS"), (1, 1.5, "HCCS_SW"), (10, 0.75, "RDMA")):
        transport, moved_mb, gb_s = found[4, peer]
        # Texts and databases of switches say HCCS.
        assert transport == kind.removesuffix("_SW")
        assert moved_mb == pytest.approx(size_mb, rel=1e-3)
        latency_us, number = {"HCCS": (2, 4), "HCCS_SW": (3, 4), "RDMA": (5, 4)}[kind]
        # RDMA is timed from the first doorbell until the other side says that it is done.
        time_us = size_mb * 1000 / GBS[kind] + number * latency_us
        assert gb_s == pytest.approx(size_mb * 1000 / time_us, rel=0.1 if kind == "RDMA" else 2e-3)


def test_operators_take_longer_where_their_links_are_slower(text_run: Path, topology: str, tmp_path: Path) -> None:
    synthesise(find_cluster(text_run), tmp_path / "many", attrs.evolve(EVEN, topology=topology, link_factor=1.0))
    times = []
    for folder, name in ((text_run, "host_100_*"), (tmp_path / "many", "host-0_100000_*")):
        document = json.loads(next(folder.glob(f"{name}/*/communication.json")).read_text())["step7"]["collective"]
        name = next(name for name in document if name.startswith("hcom_allReduce__777_0"))
        times.append(document[name]["Communication Time Info"])
    recorded, planned = times
    # The board of the recorded chip: 28 GB/s at 70 %, and 2.4 us, as two steps of 0.75 MB.
    before_us = 2 * (750 / (28 * 0.7) + 2.4)
    after_us = 2 * (750 / 40 + 2) + 2 * (375 / 80 + 3) + 2 * (187.5 / 10 + 5)
    factor = planned["Transit Time(ms)"] / recorded["Transit Time(ms)"]
    assert factor == pytest.approx(after_us / before_us, rel=0.25)
    idle = recorded["Elapse Time(ms)"] - recorded["Transit Time(ms)"] - recorded["Wait Time(ms)"]
    whole = planned["Transit Time(ms)"] + planned["Wait Time(ms)"] + max(idle, 0)
    assert planned["Elapse Time(ms)"] == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("form", ["text", "db"])
def test_the_slow_link_is_slow_in_both_directions_and_found(
    form: str, request: pytest.FixtureRequest, topology: str, tmp_path: Path
) -> None:
    run = request.getfixturevalue(f"{form}_run")
    options = attrs.evolve(EVEN, topology=topology, slow_link=(7, 8), link_factor=8.0)
    links = links_of(run, tmp_path / "many", options)
    slowest = sorted((gb_s, key) for key, (transport, _, gb_s) in links.items() if transport == "HCCS")
    assert {key for _, key in slowest[:2]} == {(7, 8), (8, 7)}
    assert slowest[2][0] > 3 * slowest[1][0]
    found = analyse_cluster(find_cluster(tmp_path / "many"), None).overview.slow_links
    assert {(row["source"], row["target"]) for row in found.iter_rows(named=True)} >= {(7, 8), (8, 7)}


def test_a_drawn_slow_link_is_one_that_is_used(text_run: Path, topology: str, tmp_path: Path) -> None:
    done = [
        synthesise(find_cluster(text_run), tmp_path / str(seed), SynthOptions(12, seed=seed, topology=topology))
        for seed in (0, 5)
    ]
    for made in done:
        assert made.slow_link is not None
        source, target = made.slow_link
        matrix = next(made.folder.glob(f"*_{100_000 + source}_*/*/communication_matrix.json")).read_text()
        assert f'"{source}-{target}"' in matrix


def test_nodes_and_devices_are_those_of_the_topology(db_run: Path, topology: str, tmp_path: Path) -> None:
    synthesise(find_cluster(db_run), tmp_path / "many", attrs.evolve(EVEN, topology=topology))
    directory = next((tmp_path / "many").glob("host-2_100007_*"))
    with closing(sqlite3.connect(directory / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_7.db")) as connection:
        assert connection.execute("SELECT rankId, deviceId FROM RANK_DEVICE_MAP").fetchall() == [(7, 1)]
        assert connection.execute("SELECT hostUid, hostName FROM HOST_INFO").fetchall() == [("h1_2", "host-2")]
    with closing(sqlite3.connect(directory / "ASCEND_PROFILER_OUTPUT" / "analysis.db")) as connection:
        assert connection.execute("SELECT DISTINCT deviceId FROM StepTraceTime").fetchall() == [(1,)]
    label = json.loads((directory / "profiler_metadata.json").read_text())["drynpu"]["synthetic"]
    assert (label["topology"], label["chip"]) == (topology, "Ascend910B2")


def test_texts_name_the_device_of_the_topology(text_run: Path, topology: str, tmp_path: Path) -> None:
    for directory in text_run.iterdir():
        table = directory / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
        table.write_text('Device_id,Name,Start Time(us),Duration(us)\n9,A,"900.000\t",50.000\n')
    synthesise(find_cluster(text_run), tmp_path / "many", attrs.evolve(EVEN, topology=topology))
    output = next((tmp_path / "many").glob("host-3_100011_*")) / "ASCEND_PROFILER_OUTPUT"
    for name in ("step_trace_time.csv", "kernel_details.csv"):
        assert pl.read_csv(output / name)["Device_id"].to_list() == [2]


def test_what_does_not_fit_is_refused(text_run: Path, topology: str, tmp_path: Path) -> None:
    for ranks, link, message in (
        (27, None, "27 ranks do not fit: .* 24 ranks"),
        (10, None, "10 ranks are no multiple of the 3 recorded"),
        (12, (4, 6), "slow link 4-6: no operator uses it; links of 4: 4-1, 4-3, 4-5, 4-10"),
        (12, (4, 12), "slow link 4-12: the cluster has ranks 0 to 11"),
    ):
        options = SynthOptions(ranks, topology=topology, slow_link=link)
        with pytest.raises(OutputError, match=message):
            synthesise(find_cluster(text_run), tmp_path / "many", options)


@pytest.mark.slow
def test_the_same_seed_writes_the_same_whoever_writes(text_run: Path, topology: str, tmp_path: Path) -> None:
    contents = []
    for name, workers in (("one", 1), ("two", 2)):
        synthesise(find_cluster(text_run), tmp_path / name, SynthOptions(9, seed=4, topology=topology), workers=workers)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        contents.append([(path.relative_to(tmp_path / name), path.read_bytes()) for path in files])
    assert contents[0] == contents[1] != []
