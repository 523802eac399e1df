"""Files of the toolkit and of torch, read back by plain readers and held against the session's numbers and the laws."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from drynpu.analysis import overlap
from drynpu.options import Level
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, export_torch
from drynpu.tables import Profile

FOUR = (0, 1, 2, 3)
TIME, BANDWIDTH = "Communication Time Info", "Communication Bandwidth Info"


def work(kit: Any, rank: int = 0, steps: int = 2) -> list[Any]:
    """Per step a tensor group's allReduce, an overlapping allGather of another group, and a pair's message."""
    found = []
    pair = (rank & ~1, rank | 1)
    for step in range(steps):
        late = 10_000 * (3 - rank)
        found += [
            kit.collective("allReduce", kit.at(step, 300), FOUR, rank, wait_ns=late),
            kit.collective("allGather", kit.at(step, 500), FOUR, rank, 1 << 22, group="dp", blocking=False),
            kit.collective(
                "send" if rank % 2 == 0 else "receive",
                kit.at(step, 900),
                pair,
                rank,
                group=f"pp{pair[0]}",
                peer=rank ^ 1,
            ),
        ]
    return found


def toolkit_files(profile: Profile) -> dict[str, Path]:
    return {path.name.rsplit("_", 1)[0] if "_2" in path.name else path.name: path for path in export_msprof(profile)}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def operators_of(step: dict[str, Any]) -> dict[str, Any]:
    return {key: value for part in step.values() for key, value in part.items() if not key.startswith("Total")}


def test_statistic_is_grouped_by_type(kit: Any) -> None:
    profile = kit.record(work(kit), steps=2)
    path = toolkit_files(profile)["communication_statistic"]
    assert path.read_text(encoding="utf-8").splitlines()[0] == (
        "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)"
    )
    rows = rows_of(path)
    totals = defaultdict(int)
    for row in profile.communication_ops.iter_rows(named=True):
        totals[row["op_type"]] += row["duration_ns"]
    assert [row["OP Type"] for row in rows] == sorted(totals, key=totals.__getitem__, reverse=True)
    for row in rows:
        assert float(row["Total Time(us)"]) == pytest.approx(totals[row["OP Type"]] / 1000, abs=1e-3)
        assert row["Count"] == "2"
    assert sum(float(row["Ratio(%)"]) for row in rows) == pytest.approx(100, abs=0.01)


@pytest.mark.parametrize("level", [Level.L0, Level.L1])
def test_files_of_the_levels(kit: Any, level: Level) -> None:
    profile = kit.record(work(kit), steps=2, level=level)
    names = set(toolkit_files(profile))
    files = {"communication_statistic", "communication.json", "communication_matrix.json"}
    assert names & files == (files if level is Level.L1 else set())
    torch = {path.name for path in export_torch(profile)}
    assert torch & files == (files - {"communication_statistic"} if level is Level.L1 else set())


def test_without_collectives_there_is_no_file(kit: Any) -> None:
    profile = kit.record([])
    names = {*toolkit_files(profile), *(path.name for path in export_torch(profile))}
    assert not any("communication" in name for name in names)
    assert not (profile.prof_path / "analyze").exists()


def test_kernel_details_has_a_row_per_operator(kit: Any) -> None:
    profile = kit.record(work(kit), steps=2)
    details = next(path for path in export_torch(profile) if path.name == "kernel_details.csv")
    rows = [row for row in rows_of(details) if row["Accelerator Core"] == "COMMUNICATION"]
    assert [row["Name"] for row in rows] == profile.communication_ops["name"].to_list()
    assert {row["Type"] for row in rows} == {"hcom_allReduce_", "hcom_allGather_", "hcom_send_"}
    assert {row["Task ID"] for row in rows} == {"N/A"}
    assert [row["Step Id"] for row in rows] == ["0"] * 3 + ["1"] * 3
    assert [row["Duration(us)"] for row in rows] == [
        f"{ns / 1000:.3f}" for ns in profile.communication_ops["duration_ns"]
    ]


def events_of(profile: Profile) -> list[dict[str, Any]]:
    path = next(path for path in export_msprof(profile) if path.name.startswith("msprof_"))
    pid = (profile.pid << 10) | (16 << 5) | profile.device_ids[0]
    return [event for event in document(path) if event["pid"] == pid]


def test_threads_are_groups_with_their_planes(kit: Any) -> None:
    profile = kit.record(work(kit), steps=2)
    events = events_of(profile)
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    groups = profile.communication_ops["group"].unique(maintain_order=True).to_list()
    # Two groups of four ranks with three planes each, then a pair with one.
    expected = []
    for group, planes in zip(groups, (3, 3, 1), strict=True):
        expected += [f"Group {group} Communication", *(f"Plane {plane}" for plane in range(planes))]
    assert [names[tid] for tid in sorted(names)] == expected
    assert sorted(names) == list(range(len(expected)))


def test_events_carry_what_the_tables_know(kit: Any) -> None:
    profile = kit.record(work(kit), steps=2)
    events = events_of(profile)
    named = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    shown = [event for event in events if event["ph"] == "X"]
    operators = [event for event in shown if named[event["tid"]].startswith("Group")]
    assert [event["name"] for event in operators] == profile.communication_ops["name"].to_list()
    assert list(operators[0]["args"]) == [
        "rank_size", "connection_id", "model id", "data_type", "alg_type", "count", "relay", "retry",
    ]  # fmt: skip
    assert operators[0]["args"]["rank_size"] == 4
    assert (operators[0]["args"]["relay"], operators[0]["args"]["retry"]) == ("no", "no")
    tasks = [event for event in shown if named[event["tid"]].startswith("Plane")]
    assert len(tasks) == profile.frame("communication_tasks").height
    copy = next(event for event in tasks if event["args"]["link type"] == "HCCS")
    assert list(copy["args"]) == [
        "notify_id", "duration estimated(us)", "stream id", "task id", "context id", "task type", "src rank",
        "dst rank", "transport type", "size(Byte)", "data type", "link type", "bandwidth(GB/s)", "model id",
    ]  # fmt: skip
    assert copy["args"]["bandwidth(GB/s)"] == pytest.approx(copy["args"]["size(Byte)"] / (copy["dur"] * 1000))
    assert copy["args"]["notify_id"] == "18446744073709551615"
    flows = [event for event in events if event["ph"] == "f"]
    assert len(flows) == len(operators)


def test_arrows_lead_from_the_framework_to_the_group(kit: Any) -> None:
    profile = kit.record(work(kit), steps=2)
    trace = document(next(path for path in export_torch(profile) if path.name == "trace_view.json"))
    pid = (profile.pid << 10) | (16 << 5) | profile.device_ids[0]
    starts = {(event["tid"], event["ts"]) for event in trace if event["pid"] == pid and event["ph"] == "X"}
    arrows = [event for event in trace if event.get("cat") == "async_npu" and event["pid"] == pid]
    assert len(arrows) == profile.communication_ops.height
    assert all((event["tid"], event["ts"]) in starts for event in arrows)


def covered_ns(operators: pl.DataFrame) -> int:
    """Return how long at least one of the operators runs."""
    total = until = 0
    for start, duration in operators.sort("start_ns").select("start_ns", "duration_ns").iter_rows():
        total += max(0, start + duration - max(start, until))
        until = max(until, start + duration)
    return total


def test_overlap_is_what_kernels_and_operators_cover(kit: Any) -> None:
    profile = kit.record(work(kit), steps=2)
    length = pl.col("end_ns") - pl.col("start_ns")
    sums = dict(overlap(profile).group_by("kind").agg(length.sum()).rows())
    assert sums["Communication"] == covered_ns(profile.communication_ops)
    assert 0 < sums["Communication(Not Overlapped)"] < sums["Communication"]
    whole = profile.tasks.select((pl.col("start_ns") + pl.col("duration_ns")).max() - pl.col("start_ns").min()).item()
    assert sums["Computing"] + sums["Communication(Not Overlapped)"] + sums["Free"] == whole


def check_operator(profile: Profile, key: str, shown: dict[str, Any]) -> None:
    """Check the identities of downstream_consumers.md 7 against one operator's tasks."""
    name = key.split("@")[0]
    operator = profile.communication_ops.filter(pl.col("name") == name).row(0, named=True)
    tasks = profile.frame("communication_tasks").filter(pl.col("connection_id") == operator["connection_id"])
    time = shown[TIME]
    assert time["Elapse Time(ms)"] == pytest.approx(operator["duration_ns"] / 1e6)
    assert time["Start Timestamp(us)"] == pytest.approx(operator["start_ns"] / 1e3)
    parts = time["Transit Time(ms)"] + time["Wait Time(ms)"] + time["Idle Time(ms)"]
    assert time["Elapse Time(ms)"] == pytest.approx(parts)
    assert time["Idle Time(ms)"] > 0
    for ratio, of in (("Wait Time Ratio", "Wait Time(ms)"), ("Synchronization Time Ratio", "Synchronization Time(ms)")):
        total = time[of] + time["Transit Time(ms)"]
        assert time[ratio] == pytest.approx(time[of] / total if total else 0, abs=5e-5)
    links = shown[BANDWIDTH]
    assert list(links) == ["RDMA", "HCCS", "PCIE", "SDMA", "SIO"]
    for transport, own in links.items():
        rate = own["Transit Size(MB)"] / own["Transit Time(ms)"] if own["Transit Time(ms)"] else 0
        assert own["Bandwidth(GB/s)"] == pytest.approx(rate, abs=5e-5)
        sizes = sum(float(size) * count for size, (count, _) in own["Size Distribution"].items())
        times = sum(ms for _, ms in own["Size Distribution"].values())
        if transport != "SDMA":
            assert sizes == pytest.approx(own["Transit Size(MB)"])
            assert times == pytest.approx(own["Transit Time(ms)"])
    for what in ("Transit Size(MB)", "Transit Time(ms)"):
        assert links["SDMA"][what] == pytest.approx(sum(links[part][what] for part in ("HCCS", "PCIE", "SIO")))
    remote = tasks.filter(~pl.col("link").is_in(["ON_CHIP", "INVALID_TYPE"]) & (pl.col("rdma") != "RDMA_SEND_NOTIFY"))
    moved = sum(own["Transit Size(MB)"] for name, own in links.items() if name != "SDMA")
    assert moved == pytest.approx(remote["size_bytes"].sum() / 1e6)


@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend910A", "Ascend910_93", "Ascend310P3"])
def test_identities_of_the_time_and_bandwidth(kit: Any, chip: str) -> None:
    profile = kit.record(work(kit, rank=1), steps=2, rank=1, chip=chip)
    found = document(toolkit_files(profile)["communication.json"])
    total = found.pop("Total HCCL Operators")
    assert list(found) == [f"{row['name']}@{row['group']}" for row in profile.communication_ops.iter_rows(named=True)]
    for key, shown in found.items():
        check_operator(profile, key, shown)
    for what in ("Elapse Time(ms)", "Transit Time(ms)", "Wait Time(ms)", "Idle Time(ms)"):
        assert total[TIME][what] == pytest.approx(sum(shown[TIME][what] for shown in found.values()))
    peak = load_chip(chip).interconnect.pair_gbs or load_chip(chip).pcie_gbs
    rates = {name: own["Bandwidth(GB/s)"] for name, own in total[BANDWIDTH].items()}
    assert 0 < rates["SDMA"] <= max(peak, load_chip(chip).interconnect.package_gbs)


def test_rdma_is_told_from_payload_to_the_end_of_the_wait(kit: Any) -> None:
    size = 1 << 22
    both = (0, 8)
    late = 50_000
    works = [
        kit.collective("allReduce", kit.at(0, 300), both, 0, size, wait_ns=late),
        kit.collective("send", kit.at(0, 1200), both, 0, size, group="pp", peer=8),
    ]
    profile = kit.record(works)
    found = document(toolkit_files(profile)["communication.json"])
    found.pop("Total HCCL Operators")
    reduce, send = found.values()
    for key, shown in found.items():
        check_operator(profile, key, shown)
    assert reduce[BANDWIDTH]["RDMA"]["Transit Size(MB)"] == pytest.approx(size / 1e6)
    assert send[BANDWIDTH]["RDMA"]["Transit Size(MB)"] == pytest.approx(size / 1e6)
    for shown in (reduce, send):
        assert 0.6 * 25 < shown[BANDWIDTH]["RDMA"]["Bandwidth(GB/s)"] <= 25 * 0.7
        assert shown[BANDWIDTH]["RDMA"]["Large Packet Ratio"] == 1.0
        assert shown[TIME]["Transit Time(ms)"] == pytest.approx(shown[BANDWIDTH]["RDMA"]["Transit Time(ms)"])
    assert reduce[TIME]["Synchronization Time(ms)"] == pytest.approx(late / 1e6, abs=1e-3)
    matrix = document(profile.prof_path / "analyze" / "communication_matrix.json")
    assert {link["Transport Type"] for links in matrix.values() for link in links.values()} == {"LOCAL", "RDMA"}


def test_waiting_is_what_the_recording_says(kit: Any) -> None:
    for rank in FOUR:
        profile = kit.record(work(kit, rank), steps=2, rank=rank)
        found = document(toolkit_files(profile)["communication.json"])
        reduce = next(shown for key, shown in found.items() if key.startswith("hcom_allReduce"))
        late = 10_000 * (3 - rank)
        assert reduce[TIME]["Synchronization Time(ms)"] == pytest.approx(late / 1e6, abs=2e-4)
        assert reduce[TIME]["Wait Time(ms)"] == pytest.approx(late / 1e6, abs=2e-3)


def test_torch_splits_by_step_and_kind(kit: Any) -> None:
    profile = kit.record(work(kit), steps=2)
    export_torch(profile)
    folder = profile.path / "ASCEND_PROFILER_OUTPUT"
    found, whole = document(folder / "communication.json"), document(toolkit_files(profile)["communication.json"])
    assert list(found) == ["step0", "step1"]
    for step in found.values():
        assert list(step) == ["p2p", "collective"]
        assert [key.split("__")[0] for key in step["p2p"]] == ["hcom_send", "Total Op Info"]
        assert len(step["collective"]) == 3
        for part in step.values():
            total, own = part["Total Op Info"], [shown for key, shown in part.items() if key != "Total Op Info"]
            assert "Start Timestamp(us)" not in total[TIME]
            for what in ("Elapse Time(ms)", "Transit Time(ms)", "Wait Time(ms)", "Synchronization Time(ms)"):
                assert total[TIME][what] == pytest.approx(sum(shown[TIME][what] for shown in own))
            for transport, sums in total[BANDWIDTH].items():
                assert list(sums) == ["Transit Time(ms)", "Transit Size(MB)", "Size Distribution"]
                size = sum(shown[BANDWIDTH][transport]["Transit Size(MB)"] for shown in own)
                assert sums["Transit Size(MB)"] == pytest.approx(size)
    apart = {key: value for step in found.values() for key, value in operators_of(step).items()}
    assert apart == {key: value for key, value in whole.items() if not key.startswith("Total")}


def test_one_step_has_everything(kit: Any) -> None:
    profile = kit.record(work(kit, steps=1), steps=1)
    export_torch(profile)
    found = document(profile.path / "ASCEND_PROFILER_OUTPUT" / "communication.json")
    assert list(found) == ["step0"]
    assert len(operators_of(found["step0"])) == 3


def test_matrix_ranks_operators_by_bandwidth(kit: Any) -> None:
    """Three messages of different sizes over one link: larger ones are faster, since latency counts less."""
    sizes = (1 << 14, 1 << 22, 1 << 18)
    works = [
        kit.collective("allReduce", kit.at(0, 200 + 300 * place), FOUR, 1, size) for place, size in enumerate(sizes)
    ]
    profile = kit.record(works, rank=1)
    export_torch(profile)
    found = document(profile.path / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json")["step0"]["collective"]
    group = profile.communication_ops["group"][0]
    names = profile.communication_ops["name"].to_list()
    stats = ("top1", "middle", "bottom1", "total", "bottom2", "bottom3")
    assert list(found) == [f"allreduce-{stat}@{group}" for stat in stats]
    link = {stat: found[f"allreduce-{stat}@{group}"]["1-2"] for stat in stats}
    assert link["top1"]["Op Name"] == names[1]
    assert link["middle"]["Op Name"] == link["bottom2"]["Op Name"] == names[2]
    assert link["bottom1"]["Op Name"] == names[0]
    assert link["bottom3"]["Op Name"] == names[1]
    every = [link[stat] for stat in ("top1", "middle", "bottom1")]
    assert "Op Name" not in link["total"]
    for what in ("Transit Size(MB)", "Transit Time(ms)"):
        assert link["total"][what] == pytest.approx(sum(own[what] for own in every))
    rate = link["total"]["Transit Size(MB)"] / link["total"]["Transit Time(ms)"]
    assert link["total"]["Bandwidth(GB/s)"] == pytest.approx(rate, abs=5e-5)
    # The diagonal tells readers which rank this is (downstream_consumers.md 1.3).
    assert found[f"allreduce-top1@{group}"]["1-1"]["Transport Type"] == "LOCAL"
    assert {key for links in found.values() for key in links} == {"1-0", "1-1", "1-2", "1-3"}


def test_reduce_scatter_is_ranked_as_reduce(kit: Any) -> None:
    profile = kit.record([kit.collective("reduceScatter", kit.at(0, 300), FOUR, 0)])
    export_torch(profile)
    found = document(profile.path / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json")["step0"]["collective"]
    assert all(key.startswith("reduce-") for key in found)


def test_bytes_over_a_link_agree_from_both_ends(kit: Any) -> None:
    """What rank a reads from b is what b reads from a in an even collective; totals are the sums of operators."""
    sums: dict[tuple[int, int], float] = {}
    for rank in FOUR:
        profile = kit.record(work(kit, rank), steps=2, rank=rank)
        toolkit_files(profile)
        matrix = document(profile.prof_path / "analyze" / "communication_matrix.json")
        total = matrix.pop("Total HCCL Operators")
        for link, shown in total.items():
            parts = [links[link]["Transit Size(MB)"] for links in matrix.values() if link in links]
            assert shown["Transit Size(MB)"] == pytest.approx(sum(parts))
        for key, links in matrix.items():
            if key.startswith(("hcom_allReduce", "hcom_allGather")):
                for link, shown in links.items():
                    ends = tuple(int(end) for end in link.split("-"))
                    sums[ends] = sums.get(ends, 0) + shown["Transit Size(MB)"]
    for (one, two), size in sums.items():
        assert size == pytest.approx(sums[two, one])
