"""What a graph recording leaves in records and tables: whose kernels are whose, and the key points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from attrs import evolve

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.kernels import Operators
from drynpu.options import Clock, Filters, Level
from drynpu.raw import ProfReader
from drynpu.simulate import Collective, GraphPoints, GraphRun
from drynpu.tables import NO_MODEL, Profile

Record = Callable[..., Profile]
MODEL_ID, ITERATIONS, PID = 7, 3, 4321
PER_ITERATION = ["fp32_vars/first_kernel", "Conv2D_kernel", "Where_kernel", "Conv2DGrad_kernel", "ApplyAdam_kernel"]


@pytest.fixture
def run(graph_run: Callable[..., GraphRun]) -> Callable[..., GraphRun]:
    return graph_run


def kernels_of(profile: Profile, iteration: dict[str, Any]) -> pl.DataFrame:
    inside = pl.col("start_ns").is_between(iteration["start_ns"], iteration["end_ns"])
    return profile.kernels.filter((pl.col("model_id") == MODEL_ID) & inside)


@pytest.mark.parametrize("clock", list(Clock))
def test_kernels_of_an_iteration_belong_to_the_model(record: Record, clock: Clock) -> None:
    profile = record(clock=clock)
    kernels = profile.kernels
    outside = kernels.filter(pl.col("name") == "Outside_kernel")
    assert outside["model_id"].to_list() == [NO_MODEL]
    assert outside["op_state"].to_list() == ["dynamic"]
    inside = kernels.filter(pl.col("name") != "Outside_kernel")
    assert inside["name"].to_list() == PER_ITERATION * ITERATIONS
    assert set(inside["model_id"]) == {MODEL_ID}
    assert set(inside["op_state"]) == {"static"}


def test_one_model_call_encloses_the_launches_of_each_iteration(record: Record) -> None:
    profile = record()
    calls = profile.api.filter((pl.col("level") == "model") & (pl.col("name") == "ModelExecute"))
    assert calls["item"].to_list() == [str(MODEL_ID)] * ITERATIONS
    (load,) = profile.api.filter(pl.col("name") == "ModelLoad").rows(named=True)
    assert load["item"] == str(MODEL_ID)
    # Ascend/msprof event_grouper.cpp refuses a call whose begin is its end; tree_builder.cpp has (begin, end].
    assert profile.prof_path is not None
    (name,) = ProfReader(profile.prof_path, RECORD_KINDS).read("graph_id_map")["timestamp"].tolist()
    reported_ns = name + ProfReader(profile.prof_path, RECORD_KINDS).anchors(None).offset_ns
    assert load["start_ns"] < reported_ns <= load["end_ns"] < calls["start_ns"].min()
    launches = profile.api.filter(pl.col("name") == "launch")
    assert launches["tid"].unique().to_list() == calls["tid"].unique().to_list()
    for call in calls.iter_rows(named=True):
        within = launches.filter((pl.col("start_ns") >= call["start_ns"]) & (pl.col("end_ns") <= call["end_ns"]))
        assert within["item"].to_list() == PER_ITERATION
    assert (calls["start_ns"][1:] > calls["end_ns"][:-1]).all()


def test_key_points_stand_on_the_kernels(record: Record) -> None:
    profile = record()
    iterations = profile.frame("iterations")
    assert iterations["iteration"].to_list() == iterations["iter_id"].to_list() == [1, 2, 3]
    for row in iterations.iter_rows(named=True):
        kernels = kernels_of(profile, row)
        starts = dict(kernels.select("name", "start_ns").iter_rows())
        ends = {
            name: start + length
            for name, start, length in kernels.select("name", "start_ns", "duration_ns").iter_rows()
        }
        assert kernels["name"].to_list() == PER_ITERATION
        assert row["start_ns"] == row["forward_ns"] == starts["fp32_vars/first_kernel"]
        assert row["backward_ns"] == ends["Conv2DGrad_kernel"]
        assert row["end_ns"] == ends["ApplyAdam_kernel"]
    assert iterations["augmentation_ns"].to_list() == [
        None,
        *(iterations["forward_ns"][1:] - iterations["end_ns"][:-1]).to_list(),
    ]


def test_marks_are_the_tags_of_the_reference(record: Record, all_reduces: tuple[Any, ...]) -> None:
    profile = record(recording={"collectives": all_reduces})
    marks = profile.frame("step_marks").filter(pl.col("index_id") == 2).sort("tag_id")
    assert marks["tag_id"].to_list() == [0, 1, 2, 3, 4, 10000, 10001, 10002, 10003, 20000, 20001]
    assert set(marks["model_id"]) == {MODEL_ID}
    assert profile.frame("step_marks").filter(pl.col("index_id") == 1)["tag_id"].max() == 10003


def test_all_reduces_lie_inside_their_iteration_one_after_another(record: Record, all_reduces: tuple[Any, ...]) -> None:
    profile = record(recording={"collectives": all_reduces})
    reduces, iterations = profile.frame("reduces"), profile.frame("iterations")
    assert reduces["iteration"].to_list() == [1, 1, 2, 2, 3, 3]
    assert (reduces["start_ns"][1:] >= reduces["end_ns"][:-1]).all()
    joined = reduces.join(iterations, on="iteration", suffix="_of")
    assert (joined["start_ns"] >= joined["start_ns_of"]).all()
    assert (joined["end_ns"] <= joined["end_ns_of"]).all()
    assert (joined["end_ns"] > joined["start_ns"]).all()


def test_waiting_for_other_ranks_lengthens_an_all_reduce(record: Record, all_reduces: tuple[Any, ...]) -> None:
    plain = record(recording={"collectives": all_reduces[:1]}, name="plain").frame("reduces")
    late = (evolve(all_reduces[0], wait_ns=60_000),)
    waiting = record(recording={"collectives": late}, name="waiting").frame("reduces")
    longer = (waiting["end_ns"] - waiting["start_ns"]) - (plain["end_ns"] - plain["start_ns"])
    assert longer.to_list() == [60_000]


def points(forward: list[str], backward: list[str]) -> GraphPoints:
    """Return the points that a graph's compiler found."""
    return GraphPoints(forward=tuple(forward), backward=tuple(backward))


def test_a_graph_without_marks_has_no_iterations_but_its_model(record: Record, run: Callable[..., GraphRun]) -> None:
    unmarked = run(points=GraphPoints(marked=False))
    profile = record(graphs=(unmarked,))
    assert profile.frame("iterations").is_empty()
    assert profile.frame("step_marks").is_empty()
    assert set(profile.kernels["model_id"]) == {MODEL_ID, NO_MODEL}
    names = Filters(first_forward_op="Conv2D", last_backward_op="Backward")
    named = record(graphs=(unmarked,), filters=names, name="named")
    assert named.frame("iterations")["forward_ns"].null_count() == 0


@pytest.mark.parametrize(
    ("changes", "filters", "forward", "backward"),
    [
        (points(["Where", "Conv2D"], ["ApplyAdam"]), None, "Conv2D_kernel", "ApplyAdam_kernel"),
        (points(["Conv2D"], ["nothing"]), None, None, None),
        (None, Filters(first_forward_op="Conv2D", last_backward_op="Backward"), "Conv2D_kernel", "Conv2DGrad_kernel"),
        (
            points(["Conv2D"], ["Backward"]),
            Filters(first_forward_op="Where_kernel"),
            "Where_kernel",
            "Conv2DGrad_kernel",
        ),
        (points(["Conv2D"], ["Backward"]), Filters(last_backward_op="nowhere"), None, None),
        (points(["nothing"], ["nothing"]), None, None, None),
    ],
)
def test_points_by_name(
    record: Record,
    run: Callable[..., GraphRun],
    changes: GraphPoints | None,
    filters: Filters | None,
    forward: str | None,
    backward: str | None,
) -> None:
    profile = record(graphs=(run(points=changes),), filters=filters)
    for row in profile.frame("iterations").iter_rows(named=True):
        kernels = kernels_of(profile, row)
        starts = dict(kernels.select("name", "start_ns").iter_rows())
        lengths = dict(kernels.select("name", "duration_ns").iter_rows())
        assert row["forward_ns"] == (None if forward is None else starts[forward])
        assert row["backward_ns"] == (None if backward is None else starts[backward] + lengths[backward])


def test_without_the_switch_there_are_models_but_no_iterations(record: Record) -> None:
    profile = record(training_trace=False)
    assert profile.frame("step_marks").is_empty()
    assert profile.frame("iterations").is_empty()
    assert set(profile.kernels["model_id"]) == {MODEL_ID, NO_MODEL}
    assert profile.prof_path is not None
    assert ProfReader(profile.prof_path, RECORD_KINDS).sample()["ts_keypoint"] == "off"


def test_at_level_none_nothing_of_graphs_is_recorded(record: Record) -> None:
    profile = record(level=Level.NONE)
    assert set(profile.api["level"]) == {"acl"}
    assert not set(profile.group_tables) & {"iterations", "graphs", "fusion_ops", "static_memory", "aicpu_kernels"}


def test_an_all_reduce_may_be_the_last_thing_of_an_iteration(record: Record, run: Callable[..., GraphRun]) -> None:
    """Its end and the iteration's are one tick; the end of the iteration counts as the later of the two."""
    late = Collective(
        kind="allReduce",
        start_ns=run().iterations[0].start_ns + 2_900_000,
        thread=PID,
        group="world",
        ranks=(0, 1),
        rank=0,
        size_bytes=1 << 20,
        dtype="FP16",
        count=1 << 19,
    )
    profile = record(recording={"collectives": (late,)})
    (reduced,) = profile.frame("reduces").rows(named=True)
    first = profile.frame("iterations").filter(pl.col("iteration") == 1)
    assert reduced["iteration"] == 1
    assert first["end_ns"].to_list() == [reduced["end_ns"]]


def test_an_iteration_that_launches_nothing_leaves_no_marks(record: Record, run: Callable[..., GraphRun]) -> None:
    whole = run()
    idle = evolve(
        whole.iterations[-1], index=4, start_ns=whole.iterations[-1].end_ns, end_ns=whole.iterations[-1].end_ns + 5
    )
    profile = record(graphs=(evolve(whole, iterations=(*whole.iterations, idle)),))
    assert sorted(set(profile.frame("step_marks")["index_id"])) == [1, 2, 3]
    assert profile.frame("iterations").height == ITERATIONS


def test_two_graphs_are_told_apart(record: Record, run: Callable[..., GraphRun]) -> None:
    whole = run()
    first = evolve(whole, iterations=whole.iterations[::2])
    second = evolve(whole, model_id=9, model_name="other", graph_id=4, fusions=(), iterations=whole.iterations[1:2])
    profile = record(graphs=(first, second))
    iterations = profile.frame("iterations")
    assert iterations.select("model_id", "iteration", "iter_id").rows() == [(7, 1, 1), (9, 1, 2), (7, 2, 3)]
    # Data can be waited for since the last iteration of any graph.
    assert (
        iterations["augmentation_ns"].to_list()[1:]
        == (iterations["forward_ns"][1:] - iterations["end_ns"][:-1]).to_list()
    )
    assert profile.kernels.filter(pl.col("model_id") == 9)["name"].to_list() == PER_ITERATION
    assert profile.frame("graphs").rows() == [(7, 3, "ge_default_7"), (9, 4, "other")]
    assert set(profile.frame("fusion_ops")["model_id"]) == {7}


def test_recordings_without_graphs_stay_as_they_were(record: Record) -> None:
    profile = record(graphs=())
    assert set(profile.kernels["model_id"]) == {NO_MODEL}
    assert "model" not in set(profile.api["level"])
    assert profile.frame("step_marks").is_empty()


def test_fused_operators_and_planned_memory_come_back(record: Record) -> None:
    profile = record()
    fusions = profile.frame("fusion_ops")
    assert fusions["name"].to_list() == ["Conv2D_BN_Relu", "Long", "Long"]
    assert fusions.row(0, named=True) == {
        "model_id": MODEL_ID,
        "name": "Conv2D_BN_Relu",
        "original_ops": "Conv2D;BatchNorm;Relu",
        "input_bytes": 2048,
        "output_bytes": 1024,
        "weight_bytes": 512,
        "workspace_bytes": 100,
        "total_bytes": 3684,
    }
    # More than eight original operators do not fit in one record.
    assert ";".join(fusions["original_ops"][1:]) == ";".join(f"op{number}" for number in range(10))
    memory = profile.frame("static_memory")
    assert memory.filter(pl.col("name") == "Relu")["last_node"].to_list() == [4294967295]
    assert memory.filter(pl.col("name") == "")["size_bytes"].to_list() == [4096 + 1536]
    assert record(task_memory=False, name="plain").frame("static_memory").is_empty()


def test_forward_begins_behind_the_operator_that_takes_the_data(
    record: Record, graph_operators: Callable[[], Operators]
) -> None:
    operators = graph_operators()
    taking = evolve(
        operators,
        signatures=tuple(
            evolve(each, name="GetNext") if each.name == "fp32_vars/first" else each for each in operators.signatures
        ),
    )
    profile = record(recording={"operators": taking})
    starts = profile.kernels.filter(pl.col("op_type") == "Conv2D")["start_ns"]
    assert profile.frame("iterations")["forward_ns"].to_list() == starts.to_list()
