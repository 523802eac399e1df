"""From a recording to tables: who runs when, under which name, with which tasks."""

from __future__ import annotations

from itertools import count, pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.deliverables.communication.group_names import group_id
from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.device import DispatchKind
from drynpu.options import Level
from drynpu.raw import ProfReader
from drynpu.simulate import HostCall
from drynpu.tables import Profile

FOUR = (0, 1, 2, 3)


def spans(frame: pl.DataFrame) -> list[tuple[int, int]]:
    return frame.select("start_ns", (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")).rows()


def tasks_of(profile: Profile, row: int) -> pl.DataFrame:
    operator = profile.communication_ops.row(row, named=True)
    return profile.frame("communication_tasks").filter(pl.col("connection_id") == operator["connection_id"])


def test_a_collective_has_every_column(kit: Any) -> None:
    profile = kit.record([kit.collective("allReduce", kit.at(0, 400), FOUR, 2, wait_ns=30_000)], rank=2)
    row = profile.communication_ops.row(0, named=True)
    group = str(group_id("tp"))
    assert row["name"] == f"hcom_allReduce__{group[-3:]}_0_1"
    assert (row["op_type"], row["group"], row["dtype"], row["count"]) == ("hcom_allReduce_", group, "FP16", 1 << 19)
    assert (row["algorithm"], row["rank_size"], row["relay"], row["retry"]) == ("MESH-RING-NHR", 4, False, False)
    assert profile.notes == ()
    node = profile.api.filter(pl.col("connection_id") == row["connection_id"]).row(0, named=True)
    assert (node["level"], node["name"], node["item"]) == ("node", "launch", "hcom_allReduce_")


def test_group_ids_are_those_of_the_vendors_tool() -> None:
    """msprof-analyze finds a group by this hash of its name; a number stands for itself."""
    assert group_id("tp") == 14929306336204
    assert group_id("17522688603477080586") == 17522688603477080586


def test_tasks_fill_the_operator(kit: Any) -> None:
    profile = kit.record([kit.collective("allReduce", kit.at(0, 400), FOUR, 0, wait_ns=30_000)])
    (start, end), tasks = spans(profile.communication_ops)[0], tasks_of(profile, 0)
    assert tasks["start_ns"].min() == start
    assert max(stop for _, stop in spans(tasks)) == end
    assert tasks.filter("is_master")["plane_id"].unique().to_list() == [0]
    assert sorted(tasks["plane_id"].unique().to_list()) == [0, 1, 2]
    for (_, plane), rows in tasks.group_by("stream_id", "plane_id"):
        ordered = spans(rows.sort("start_ns"))
        assert all(one[1] <= two[0] for one, two in pairwise(ordered)), plane
    waits = tasks.filter((pl.col("name") == "Notify_Wait") & (pl.col("duration_ns") >= 30_000))
    assert sorted(waits["plane_id"].to_list()) == [0, 1, 2]
    assert (tasks["src_rank"] == 0).all()
    reduced = tasks.filter(pl.col("name") == "Reduce_Inline")
    assert reduced["dtype"].unique().to_list() == ["FP16"]
    assert sorted(reduced["dst_rank"].to_list()) == [1, 2, 3]


def test_waiting_lengthens_the_operator_by_exactly_that(kit: Any) -> None:
    prompt = kit.record([kit.collective("allReduce", kit.at(0, 400), FOUR, 0)], name="prompt_ascend_pt")
    late = kit.record([kit.collective("allReduce", kit.at(0, 400), FOUR, 0, wait_ns=123_460)], name="late_ascend_pt")
    difference = late.communication_ops["duration_ns"][0] - prompt.communication_ops["duration_ns"][0]
    # Whole ticks of 20 ns.
    assert difference == 123_460


def test_it_waits_for_the_kernels_before_it_and_holds_those_after(kit: Any) -> None:
    work = [kit.collective("allReduce", kit.at(0, 121), FOUR, 0, 1 << 26)]
    profile = kit.record(work, adds=(80, 100, 150, 200))
    (start, end), kernels = spans(profile.communication_ops)[0], spans(profile.kernels)
    assert kernels[1][1] <= start
    assert end <= kernels[2][0]


def test_an_asynchronous_one_overlaps_until_its_event_is_awaited(kit: Any) -> None:
    work = [kit.collective("allReduce", kit.at(0, 121), FOUR, 0, 1 << 22, blocking=False, event=7)]
    awaited = (HostCall(time_ns=kit.at(0, 160), thread=kit.pid, kind=DispatchKind.WAIT_EVENT, event=7),)
    profile = kit.record(work, adds=(80, 100, 150, 200), host_calls=awaited)
    (start, end), kernels = spans(profile.communication_ops)[0], spans(profile.kernels)
    assert start < kernels[2][0] < kernels[2][1] < end
    assert end <= kernels[3][0]


def test_a_synchronising_call_waits_for_it(kit: Any) -> None:
    work = [kit.collective("allReduce", kit.at(0, 121), FOUR, 0, 1 << 26, blocking=False)]
    stop = (HostCall(time_ns=kit.at(0, 150), thread=kit.pid, kind=DispatchKind.WAIT_DEVICE),)
    profile = kit.record(work, adds=(100, 200), host_calls=stop)
    add = profile.host_ops.filter(pl.col("name") == "aten::add")
    assert add["start_ns"][1] >= spans(profile.communication_ops)[0][1]


def test_a_recording_ends_after_its_last_collective(kit: Any) -> None:
    profile = kit.record([kit.collective("allGather", kit.at(0, 1800), FOUR, 0, 1 << 28, blocking=False)])
    # The end of a collection is written in whole microseconds.
    assert profile.end_ns // 1000 >= spans(profile.communication_ops)[0][1] // 1000


def test_another_stream_is_not_held(kit: Any) -> None:
    """Issued on a stream of its own, a blocking collective holds that stream only."""
    profile = kit.record([kit.collective("allReduce", kit.at(0, 121), FOUR, 0, 1 << 26, stream=40)], adds=(100, 150))
    assert spans(profile.kernels)[1][0] < spans(profile.communication_ops)[0][1]


def test_groups_count_for_themselves_and_have_streams_of_their_own(kit: Any) -> None:
    work = [
        kit.collective("allReduce", kit.at(0, 300), FOUR, 0, group="tp"),
        kit.collective("allGather", kit.at(0, 400), FOUR, 0, group="dp", blocking=False),
        kit.collective("reduceScatter", kit.at(0, 500), FOUR, 0, group="dp"),
        kit.collective("allReduce", kit.at(0, 600), FOUR, 0, group="tp"),
    ]
    profile = kit.record(work)
    tp, dp = (str(group_id(name))[-3:] for name in ("tp", "dp"))
    assert profile.communication_ops["name"].to_list() == [
        f"hcom_allReduce__{tp}_0_1",
        f"hcom_allGather__{dp}_0_1",
        f"hcom_reduceScatter__{dp}_1_1",
        f"hcom_allReduce__{tp}_1_1",
    ]
    tasks = profile.frame("communication_tasks")
    streams = {group: set(rows["stream_id"].to_list()) for (group,), rows in tasks.group_by("group")}
    assert len(streams) == 2
    assert not set.intersection(*streams.values())
    assert not set.union(*streams.values()) & set(profile.kernels["stream_id"].to_list())


def test_nothing_starts_before_the_host_has_launched_it(kit: Any) -> None:
    profile = kit.record(
        [kit.collective("allReduce", kit.at(0, 400), FOUR, 0), kit.collective("allGather", kit.at(0, 500), FOUR, 0)]
    )
    launched = profile.api.filter(pl.col("level") == "communication")
    assert set(launched["name"].to_list()) == {"master", "slave"}
    assert launched.height == profile.frame("communication_tasks").height
    nodes = profile.api.select("connection_id", pl.col("start_ns").alias("node_ns"))
    ops = profile.communication_ops.join(nodes, on="connection_id")
    assert (ops["start_ns"] > ops["node_ns"]).all()
    for row in profile.communication_ops.iter_rows(named=True):
        own = launched.filter(
            pl.col("start_ns").is_between(
                *profile.api.filter(pl.col("connection_id") == row["connection_id"]).select("start_ns", "end_ns").row(0)
            )
        )
        assert own["end_ns"].max() <= row["start_ns"]


def test_level0_knows_operators_but_not_their_tasks(kit: Any) -> None:
    profile = kit.record([kit.collective("allReduce", kit.at(0, 400), FOUR, 0)], level=Level.L0)
    assert profile.communication_ops.height == 1
    assert profile.communication_ops["rank_size"].to_list() == [None]
    assert profile.frame("communication_tasks").is_empty()
    assert not len(ProfReader(profile.prof_path, RECORD_KINDS).read("hccl_info"))  # type: ignore[arg-type]


def test_without_a_level_there_is_no_record(kit: Any) -> None:
    profile = kit.record([kit.collective("allReduce", kit.at(0, 400), FOUR, 0)], level=Level.NONE)
    assert profile.communication_ops.is_empty()


@pytest.mark.slow
def test_many_tasks_turn_the_ids_over(kit: Any) -> None:
    """65536 tasks and more on one stream: ids begin again, and every task still finds its description."""
    work = [kit.collective("allReduce", kit.at(0, 100) + 100 * number, FOUR, 0, 4096) for number in range(5000)]
    profile = kit.record(work, adds=())
    assert profile.notes == ()
    assert profile.communication_ops.height == 5000
    assert profile.frame("communication_tasks")["batch_id"].max() == 1


def test_an_operator_belongs_to_the_step_that_issued_it(kit: Any) -> None:
    work = [kit.collective("allReduce", kit.at(step, 400), FOUR, 0) for step in range(3)]
    profile = kit.record(work, steps=3)
    queue = profile.queue.filter(pl.col("name") == "HcclAllreduce")
    assert queue["side"].to_list().count("enqueue") == 3


def test_wrong_ranks_are_refused(kit: Any) -> None:
    with pytest.raises(OptionError, match="rank 9 is not among"):
        kit.record([kit.collective("allReduce", kit.at(0, 400), FOUR, 9)])


NUMBERS = count()
KINDS = st.sampled_from(["allReduce", "allGather", "reduceScatter", "broadcast", "alltoall", "scatter", "reduce"])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            KINDS,
            st.integers(50, 1800),
            st.sampled_from(["a", "b"]),
            st.integers(1, 1 << 22),
            st.booleans(),
            st.integers(0, 100_000),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["Ascend910B2", "Ascend910A", "Ascend910_93", "Ascend310P3"]),
    st.integers(0, 3),
)
def test_laws_of_any_recording(
    kit: Any, rows: list[tuple[str, int, str, int, bool, int]], chip: str, rank: int
) -> None:
    work = [
        kit.collective(kind, kit.at(0, us), (0, 1, 2, 3), rank, size, group=group, blocking=blocking, wait_ns=wait)
        for kind, us, group, size, blocking, wait in rows
    ]
    profile = kit.record(work, adds=(100, 600, 1200), chip=chip, rank=rank, name=f"x{next(NUMBERS)}_ascend_pt")
    assert profile.communication_ops.height == len(rows)
    assert profile.notes == ()
    for _, tasks in profile.tasks.group_by("stream_id"):
        ordered = spans(tasks.sort("start_ns"))
        assert all(one[1] <= two[0] for one, two in pairwise(ordered))
    assert max(end for _, end in spans(profile.tasks)) // 1000 <= profile.end_ns // 1000
    described = profile.frame("communication_tasks")
    assert described.height == profile.tasks.height - profile.kernels.height
