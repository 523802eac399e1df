"""Graphs of the native device: numbers of replays beside eager ones, errors, and what a profile shows."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from drynpu.device import HostCosts

CAPTURED = "error code is 107027\n[ERROR] "
GONE = "RuntimeError: Called NPUGraph::replay without a preceding successful capture."


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("graphs.py"))],
        env={**os.environ, "DRYNPU_DEVICE": "native", "DRYNPU_QUIET": "1"},
        cwd=tmp_path_factory.mktemp("graphs"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_replays_compute_on_what_the_input_holds_and_write_where_the_output_is(found: dict[str, Any]) -> None:
    assert found["inference"] == [True] * 3
    assert found["capturing"] == [True, False]
    assert found["after reset"] == GONE
    assert found["pools"] == [0, 0]


def test_training_steps_that_are_one_graph_equal_eager_ones_bit_for_bit(found: dict[str, Any]) -> None:
    eager, graphed = found["losses"]
    assert eager == graphed
    assert len(set(eager)) == len(eager)
    assert found["weights"]
    assert found["capture changes nothing"]


def test_graphed_callables_train_as_eager_ones_bit_for_bit(found: dict[str, Any]) -> None:
    eager, graphed = found["callables"]
    assert eager == graphed
    assert found["callables' weights"]
    assert found["function"] == [[4, 10, 18], [5, 7, 9]]
    assert found["hooks"].startswith(
        "RuntimeError: Modules must not have hooks registered at the time they are passed."
    )


def test_what_lies_between_exists_while_the_graph_runs(found: dict[str, Any]) -> None:
    # x of 1: base is [[3, 3, 3], [2, 2, 2]], of 2: [[5, 5, 5], [4, 4, 4]]; sums are 9 and 6, then 15 and 12.
    assert found["total before replay"] == [0, 0]
    assert found["intermediates"] == [[24, 18], [4, 4, 4], [40, 40, 40]]
    assert found["memory"] == [0, 6 * 2**18]


@pytest.mark.parametrize("what", ["item", "nonzero", "copy", "mask"])
def test_what_the_host_reads_is_refused_in_the_vendors_words(found: dict[str, Any], what: str) -> None:
    expected = "RuntimeError: operator():../torch_npu/csrc/aten/common/LocalScalarDenseNpu.cpp:23 NPU function error: "
    assert found[what].startswith(
        expected + "c10_npu::acl::AclrtSynchronizeStreamWithTimeout(copy_stream), " + CAPTURED
    )
    assert "Not allow to synchronize captured-stream, stream_id=" in found[what]


def test_an_index_by_positions_needs_no_value(found: dict[str, Any]) -> None:
    assert found["positions"] == [[[0, 1, 2, 3], [12, 13, 14, 15]], [[3], [7]], [0, 4, 4, 4]]


def test_an_operator_that_consists_of_others_is_captured_as_they_are(found: dict[str, Any]) -> None:
    assert found["functionalized"] == [[2, 3, 5], [3, 5, 9], [6, 10, 18]]


def test_what_waits_for_the_device_is_refused(found: dict[str, Any]) -> None:
    assert all(CAPTURED in text for text in found["synchronize"])


def test_a_capture_that_fails_leaves_no_graph_and_no_capture(found: dict[str, Any]) -> None:
    assert found["left behind"] == [[GONE[:60], False]] * 7


def test_misuse_raises_the_vendors_errors(found: dict[str, Any]) -> None:
    assert found["default stream"].endswith(
        "NPU graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them on the "
        "default stream.)"
    )
    assert found["no end"].endswith("capture_end() called before capture_begin().")
    assert found["twice"].endswith(
        "This NPUGraph instance already owns a captured graph. To capture a new graph, create a new instance."
    )
    assert "The current graph configuration does not support update,Try to capture" in found["update"]
    assert "got strict" in found["mode"]


def test_captured_operators_get_other_arguments(found: dict[str, Any]) -> None:
    assert found["handlers"] == [True, True]
    assert (
        "there are 1 operators that need to be updated by capture, and there are only 2 elements" in found["too many"]
    )
    assert found["task group"] == [[20] * 3, [60] * 3, True]
    assert found["paged"] == [True, True]
    assert found["no group"].startswith("RuntimeError")


def test_random_numbers_streams_and_functions_of_the_host_belong_to_the_graph(found: dict[str, Any]) -> None:
    replayed, eager = found["random"]
    assert replayed == eager
    assert found["streams"] == [[13] * 3, True]
    assert found["host function"] == [0, ["called"], [12] * 3]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


PROFILED = """
import json, sys, torch, torch_npu
from torch_npu.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler
net = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 512)).npu()
x = torch.randn(256, 512, device="npu")
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
handler = tensorboard_trace_handler(sys.argv[1])
with torch.no_grad():
    with profile(experimental_config=config, profile_memory=True, on_trace_ready=handler):
        net(x)
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            y = net(x)
        for _ in range(3):
            graph.replay()
print(json.dumps(0))
"""


@pytest.mark.slow
def test_a_replay_is_one_launch_with_its_kernels_back_to_back(run: Any, tmp_path: Path) -> None:
    run(PROFILED, str(tmp_path))
    (output,) = tmp_path.glob("*/ASCEND_PROFILER_OUTPUT")
    rows = read(output / "kernel_details.csv")
    # What was captured launched nothing: an eager pass and three replays.
    assert [row["Type"] for row in rows] == ["MatMulV2", "Gelu", "MatMulV2"] * 4
    waits = [float(row["Wait Time(us)"]) for row in rows]
    begins, inside = waits[3::3], [waits[row] for row in range(3, 12) if row % 3]
    assert max(inside) <= 0.02  # the gap of loaded graphs
    assert min(waits[1:3]) > 10 * max(inside)
    # Without anything between them, the host launches replays faster than these kernels run.
    assert begins[0] > 10 * max(inside)
    assert begins[1:] == [0.02] * 2
    trace = json.loads((output / "trace_view.json").read_text(encoding="utf-8"))
    names = [event["name"] for event in trace if event.get("cat") == "cpu_op"]
    # The eager pass, and the capture, which calls operators and launches none; no range and no mode of drynpu.
    assert [names.count(name) for name in ("aten::addmm", "aten::gelu")] == [4, 2]
    assert not [name for name in names if "graph" in name or "Mode" in name or name == "aten::detach"]
    queued = [event["name"] for event in trace if event.get("cat") == "enqueue"]
    assert queued == ["Enqueue@aclnnAddmm", "Enqueue@aclnnGelu", "Enqueue@aclnnAddmm"]
    # The eager pass launched three kernels, the capture three nodes, and each replay the graph.
    calls = read(output / "api_statistic.csv")
    counts = {row["API Name"]: int(row["Count"]) for row in calls}
    assert (counts["launch"], counts["aclmdlRIExecuteAsync"]) == (6, 3)
    shown = [event["name"] for event in trace if event["name"].startswith(("Node@launch", "AscendCL@aclmdl"))]
    assert (shown.count("Node@launch"), shown.count("AscendCL@aclmdlRIExecuteAsync")) == (6, 3)
    (model,) = {row["Model ID"] for row in rows[3:]}
    assert model != rows[0]["Model ID"] == "4294967295"
    assert [row["Task ID"] for row in rows[3:]] == ["0", "1", "2"] * 3
    (stream,) = {row["Stream ID"] for row in rows[3:]}
    assert stream not in {row["Stream ID"] for row in rows[:3]}

    # Memory of an eager pass and of the capture; a replay takes none.
    with (output / "operator_memory.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["Name"] for row in csv.DictReader(stream)] == ["aten::addmm", "aten::gelu", "aten::addmm"] * 2


def test_copies_and_ranges_in_a_graph_are_nodes_as_all_others(run: Any, tmp_path: Path) -> None:
    script = """
import json, sys, torch, torch_npu
x = torch.randn(64, 64, device="npu")
y, held = torch.empty_like(x), torch.empty_like(x)

def step(copies):
    for _ in range(20):
        if copies:
            with torch.autograd.profiler.record_function("layer"):
                held.copy_(x.view(64, 64)[:, :].clone())
        torch.tanh(x, out=y)

graphs = [torch.npu.NPUGraph() for _ in range(2)]
for copies, graph in enumerate(graphs):
    with torch.npu.graph(graph):
        step(copies)
with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(sys.argv[1])):
    for graph in graphs:
        torch.sigmoid(x)
        graph.replay()
        torch.sigmoid(x)
print(json.dumps(0))
"""
    run(script, str(tmp_path))
    (output,) = tmp_path.glob("*/ASCEND_PROFILER_OUTPUT")
    trace = json.loads((output / "trace_view.json").read_text(encoding="utf-8"))
    around = [float(event["ts"]) for event in trace if event["name"] == "aten::sigmoid"]
    longer_us = (around[3] - around[2]) - (around[1] - around[0])
    assert longer_us == pytest.approx(40 * HostCosts().graph_node_ns / 1000, abs=1)


def test_the_sink_says_what_graphs_need(run: Any) -> None:
    script = """
import json, torch, torch_npu
try:
    torch.npu.NPUGraph()
except NotImplementedError as error:
    print(json.dumps(str(error)))
"""
    text = run(script, device="sink")
    assert text.startswith("torch.npu.NPUGraph needs the native device")
    assert text.endswith("build it with: drynpu native build")


def test_graphs_are_captured_without_values(run: Any) -> None:
    script = """
import json, torch, torch_npu
net, x = torch.nn.Linear(4096, 4096).npu(), torch.randn(1024, 4096, device="npu")
graph = torch.npu.NPUGraph()
with torch.no_grad(), torch.npu.graph(graph):
    y = net(x).relu()
held = torch.npu.memory_allocated()
torch.npu.reset_peak_memory_stats()
graph.replay()
print(json.dumps([list(y.shape), torch.npu.max_memory_allocated() - held]))
"""
    assert run(script, DRYNPU_COMPUTE="0") == [[1024, 4096], 0]


def test_handlers_of_operators_in_graphs_are_registered_by_name(run: Any) -> None:
    script = """
import json, sys, torch, torch_npu
table = sys.modules["torch.npu._npugraph_handlers.npugraph_handler"]._NPU_GRAPH_OP_HANDLERS
name = "npu_fused_infer_attention_score.default"
specs = table[name].get_update_specs(name)

@torch.npu.register_npu_graph_handler(["one_op", "one_op.default"])
class Handler(torch.npu.NpuGraphOpHandler):
    pass

print(json.dumps([list(map(list, specs)), [table[name] is Handler for name in ("one_op", "one_op.default")]]))
"""
    specs, registered = run(script)
    assert ["arg", 6, "actual_seq_lengths_kv"] in specs
    assert registered == [True, True]


ORDERED = """
import json, sys, torch, torch_npu
from torch_npu.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler
x = torch.ones(2048, 2048, device="npu")
graph, side = torch.npu.NPUGraph(), torch.npu.Stream()
with torch.npu.graph(graph):
    main = torch.npu.current_stream()
    side.wait_stream(main)
    with torch.npu.stream(side):
        left = torch.tanh(x)
    right = torch.relu(x)
    main.wait_stream(side)
    both = left + right
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler(sys.argv[1])):
    y = x @ x
    for _ in range(2):
        graph.replay()
        both.abs()
print(json.dumps(0))
"""


@pytest.mark.slow
def test_a_replay_runs_in_the_order_of_the_stream_it_is_launched_on(run: Any, tmp_path: Path) -> None:
    """The graph was captured before the recording, from two streams; replays are launched on the default one."""
    run(ORDERED, str(tmp_path))
    (output,) = tmp_path.glob("*/ASCEND_PROFILER_OUTPUT")
    rows = read(output / "kernel_details.csv")
    spans: dict[str, list[tuple[Decimal, Decimal]]] = {}
    for row in rows:
        begin = Decimal(row["Start Time(us)"].strip())
        spans.setdefault(row["Type"], []).append((begin, begin + Decimal(row["Duration(us)"])))
    assert {kind: len(times) for kind, times in spans.items()} == {
        "MatMulV3": 1,
        "Tanh": 2,
        "Relu": 2,
        "Add": 2,
        "Abs": 2,
    }
    before = [spans["MatMulV3"][0][1], spans["Abs"][0][1]]
    for number, eager in enumerate(before):
        (tanh, relu, add, behind) = (spans[kind][number] for kind in ("Tanh", "Relu", "Add", "Abs"))
        assert eager <= tanh[0] <= relu[0] < tanh[1], "two streams of the graph, side by side"
        assert max(tanh[1], relu[1]) <= add[0] < add[1] <= behind[0]
    streams = {row["Type"]: row["Stream ID"] for row in rows}
    assert len({streams["MatMulV3"], streams["Tanh"], streams["Relu"]}) == 3
    assert streams["Relu"] == streams["Add"]
    assert streams["Abs"] == streams["MatMulV3"]
