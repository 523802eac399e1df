"""Launches as functions of C++ saw them: shapes of all of them, in both passes and both modes, without a graph too."""

from __future__ import annotations

import struct
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.compiling import find_compiler
from drynpu.kernels import TensorDesc
from drynpu_mindspore.capture._hook import SeenLaunches
from drynpu_mindspore.capture._seen import completed, join_seen, read_call
from drynpu_mindspore.rules import signature

pytestmark = pytest.mark.slow

HEAD = """
import json

import mindspore as ms
import numpy as np
from mindspore import mint, nn, ops

from drynpu_mindspore.capture import Capture

ms.set_device("CPU")
ms.set_context(mode=ms.PYNATIVE_MODE)
x = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def calls(captured):
    table = captured.operators
    known = [table.signatures[row] for row in table.signature]
    names = [table.names[row] for row in table.name]
    return [[names[i], texts(c.inputs), texts(c.attributes[0] or ()), c.attributes[2]] for i, c in enumerate(known)]


def texts(tensors):
    return [None if t is None else [t.dtype, *t.shape] for t in tensors]


capture = Capture()
capture.graphs.begin()
"""
COMPOSED = f"""{HEAD}
capture.start()
mint.sum(x, dim=1, dtype=ms.float64).asnumpy()
mint.matmul(x, x.T).asnumpy()
mint.nn.functional.linear(x, x).asnumpy()
mint.cat([x, x, x], dim=0).asnumpy()
mint.zeros((4, 5)).asnumpy()
mint.nonzero(x).asnumpy()
ops.matrix_diag(x).asnumpy()
ops.min(x, 1)[0].asnumpy()
captured = capture.stop()
print("calls=" + json.dumps(calls(captured)))
print("notes=" + json.dumps([captured.notes, captured.unknown]))
capture.start()
mint.cat([x, x], dim=1).asnumpy()
part = capture.cut()
mint.zeros((2, 7)).asnumpy()
rest = capture.stop()
print("cut=" + json.dumps([calls(part.read()), calls(rest)]))
"""
TRAINED = f"""{HEAD}
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.norm = mint.nn.Linear(3, 4), mint.nn.LayerNorm(4)

    def construct(self, x):
        return mint.mean(mint.nn.functional.gelu(self.norm(self.dense(x))) ** 2)


net = Net()
step = ms.value_and_grad(net, None, net.trainable_params())
capture.start()
loss, gradients = step(x)
loss.asnumpy()
captured = capture.stop()
print("calls=" + json.dumps(calls(captured)))
print("notes=" + json.dumps([captured.notes, captured.unknown]))
"""
REPORTED = f"""{HEAD}
import tempfile
from pathlib import Path

from mindspore import _c_expression

from drynpu_mindspore.capture._host_events import HostEventCapture
from drynpu_mindspore.capture._hook import load_hook
from drynpu_mindspore.capture._seen import read_call

host, hook = HostEventCapture(), load_hook(Path(ms.__file__).parent)
y = ms.Tensor(np.ones((3, 5), np.float16))


def run():
    for rows in (2, 4):
        a = mint.ones((rows, 3))
        b = mint.nn.functional.relu(mint.matmul(a, y.astype(ms.float32))) + 1
        mint.sum(mint.nn.functional.softmax(b, dim=-1), dim=0).asnumpy()
        mint.cat([a, a], dim=1).asnumpy()
        mint.exp(y[:, rows - 2]).asnumpy()


run()
profiler = _c_expression.Profiler.get_instance("CPU")
host.start(with_stack=False)
profiler.init(tempfile.mkdtemp())
profiler.step_profiling_enable(True)
profiler.enable_op_time()
hook.record(on=True)
run()
profiler.stop()
seen = hook.record(on=False)
events = host.stop()()
named = [read_call(text) for text in seen.calls]
launched = [named[row] for row in seen.rows[:, 2].tolist()]
print("seen=" + json.dumps([[name, [[t.dtype, *t.shape] for t in call.tensors()]] for name, call in launched]))
reports = [(events.calls.names[i], events.calls.inputs[i]) for i in events.calls.index.tolist()]
print("reports=" + json.dumps([[name, texts(tensors)] for name, tensors in reports]))
"""
needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


def named(calls, name):
    return [rest for each, *rest in calls if each.rpartition("/")[2].partition("-op")[0] == name]


@pytest.fixture(scope="module")
def composed(scripts):
    return scripts(COMPOSED)


@needs_compiler
def test_operators_that_others_call_inside_have_their_shapes_and_values(composed):
    calls = composed.printed("calls")
    small, double = ["FLOAT", 2, 3], ["DOUBLE", 2, 3]
    # 44 is float64 (mindapi/base/type_id.h).
    assert named(calls, "Cast")[0] == [[small, None], [double], [None, 44]]
    assert named(calls, "ReduceSum")[0] == [[double, None, None, None], [["DOUBLE", 2]], [None, [1], False, False]]
    turned = [[small, ["FLOAT", 3, 2], None, None], [["FLOAT", 2, 2]], [None, None, False, False]]
    assert named(calls, "MatMul") == [turned, turned]
    assert named(calls, "Concat") == [[[small, small, small, None], [["FLOAT", 6, 3]], [None, None, None, 0]]]
    # Its last argument, a type, is nothing here.
    assert named(calls, "Zeros")[0] == [[None, None], [["FLOAT", 4, 5]], [[4, 5], None]]
    assert composed.printed("notes") == [[], []]


@needs_compiler
def test_results_whose_length_depends_on_values_are_as_long_as_the_launch_has_room(composed):
    # Five of the numbers 0 to 5 are not zero.
    assert named(composed.printed("calls"), "NonZero")[0][1] == [["INT64", 6, 2]]


@needs_compiler
def test_operators_that_mindspore_compiles_one_by_one_have_results_too(composed):
    ((inputs, results, _),) = named(composed.printed("calls"), "MatrixDiagV3")
    assert inputs[0] == ["FLOAT", 2, 3]
    assert results == [["FLOAT", 2, 3, 3]]


@needs_compiler
def test_every_result_of_several_has_its_shape(composed):
    ((inputs, results, _),) = named(composed.printed("calls"), "ArgMinWithValue")
    assert inputs[0] == ["FLOAT", 2, 3]
    assert sorted(results) == [["FLOAT", 2], ["INT64", 2]]


@needs_compiler
def test_parts_of_a_recording_have_what_was_launched_in_them(composed):
    first, second = composed.printed("cut")
    assert [each[0] for each in first] == ["Concat"]
    assert [each[0] for each in second] == ["Zeros"]
    assert first[0][2] == [["FLOAT", 2, 6]]
    assert second[0][2] == [["FLOAT", 2, 7]]


@needs_compiler
def test_the_backward_pass_is_seen_too(scripts):
    run = scripts.simulated(TRAINED.replace('ms.set_device("CPU")', 'ms.set_context(device_target="Ascend")'))
    assert run.printed("notes") == [[], []]
    calls = run.printed("calls")
    assert all(results and all(each[1:] is not None for each in results) for _, _, results, _ in calls)
    # The layer's gradient of its weight: [4, 2] x [2, 3]; its input needs none.
    products = [results for _, results, _ in named(calls, "MatMul")]
    assert products == [[["FLOAT", 2, 4]], [["FLOAT", 4, 3]]]


@needs_compiler
def test_what_is_seen_is_what_operators_report_themselves(scripts):
    run = scripts(REPORTED)
    seen, reports = run.printed("seen"), run.printed("reports")
    for name in ("MatMul", "ReLU", "Softmax", "Concat", "Exp"):
        reported = [tensors for each, tensors in reports if each == name]
        assert reported
        assert [tensors for each, tensors in seen if each == name] == reported, name
    # A sum is launched under another name than it is reported by.
    assert [tensors for each, tensors in seen if each == "ReduceSum"] == [
        tensors for each, tensors in reports if each == "SumExt"
    ]


def test_without_a_compiler_the_notes_say_what_is_missing(scripts, tmp_path):
    run = scripts(COMPOSED, environment={"CXX": "no-such-compiler", "XDG_CACHE_HOME": str(tmp_path)})
    (note,), unknown = run.printed("notes")
    assert note.startswith("no C++ compiler (g++, c++, clang++ or the one that CXX names)")
    assert unknown == ["Zeros"]
    # The reports of operators serve instead.
    assert named(run.printed("calls"), "Concat")[0][0] == [["FLOAT", 2, 3]] * 3


def tensor_bytes(kind, type_id, shape, value=None):
    size = -1 if value is None else len(value)
    return (
        struct.pack("<iii", kind, type_id, len(shape)) + struct.pack(f"<{len(shape)}qi", *shape, size) + (value or b"")
    )


def call_bytes(name, inputs, results):
    head = struct.pack("<i", len(name)) + name.encode()
    return head + b"".join(struct.pack("<i", len(part)) + b"".join(part) for part in (inputs, results))


def test_the_bytes_of_a_call_are_read_as_tensors_and_values():
    text = call_bytes(
        "Thing",
        [
            tensor_bytes(17, 43, (2, 0)),
            tensor_bytes(14, 35, (2,), struct.pack("<2q", -1, 5)),
            tensor_bytes(11, 30, (), b"\1"),
            tensor_bytes(12, 12, (), b"mean"),
            tensor_bytes(7, 7, ()),
            tensor_bytes(17, 99, (3,)),
            tensor_bytes(14, 35, (3,), struct.pack("<2q", -1, 5)),
        ],
        [tensor_bytes(17, 45, ()), tensor_bytes(14, 35, (4,))],
    )
    name, call = read_call(text)
    assert name == "Thing"
    empty, unknown = TensorDesc((2, 0), "FLOAT"), TensorDesc((3,), "UNDEFINED")
    assert call.inputs == (empty, None, None, None, None, unknown, None)
    results, attrs, values = call.attributes
    assert results == (TensorDesc((), "DT_BF16"), TensorDesc((4,), "INT64"))
    assert attrs == ()
    assert values == (None, (-1, 5), True, "mean", None, None, None)


def test_a_kernel_of_a_graph_keeps_the_attributes_that_only_the_graph_has():
    x, y = TensorDesc((2, 3), "FLOAT"), TensorDesc((3, 2), "FLOAT")
    of_graph = signature("Thing", [TensorDesc((2, 3), "UNDEFINED")], None, {"mode": "REFLECT"}, [None])
    seen = signature("Default/Thing-op0", [x, None], [y], None, [None, 4])
    assert completed(of_graph, seen) == signature("Thing", [x, None], [y], {"mode": "REFLECT"}, [None, 4])


@st.composite
def launchings(draw):
    """Launches of three names on one thread, inside of what was seen of some of them."""
    names = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=30))
    kept = draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    gaps = draw(st.lists(st.integers(1, 4), min_size=4 * len(names), max_size=4 * len(names)))
    times = np.cumsum(gaps).reshape(-1, 4)
    return names, np.array(kept), times


@given(launchings())
def test_a_launch_gets_what_was_seen_around_it_and_nothing_else(case):
    names, kept, times = case
    texts = [call_bytes(name, [tensor_bytes(17, 43, (at,))], []) for at, name in enumerate(names)]
    rows = np.stack([times[:, 0], times[:, 3], np.arange(len(names))], axis=1)[kept]
    distinct = sorted(set(names), reverse=True)
    name = np.array([distinct.index(each) for each in names], np.int32)
    found, number = join_seen(distinct, name, times[:, 1], times[:, 2], SeenLaunches(rows, tuple(texts)))
    got = [found[at].tensors()[0].shape[0] if at >= 0 else -1 for at in number.tolist()]
    assert got == [at if seen else -1 for at, seen in enumerate(kept)]


def test_two_threads_that_launch_at_once_keep_their_order():
    texts = tuple(call_bytes("a", [tensor_bytes(17, 43, (size,))], []) for size in (2, 3))
    rows = np.array([[10, 100, 0], [20, 90, 1]], np.int64)
    found, number = join_seen(
        ["a"], np.zeros(2, np.int32), np.array([25, 30]), np.array([60, 70]), SeenLaunches(rows, texts)
    )
    assert [found[at].tensors()[0].shape for at in number] == [(2,), (3,)]
    assert Counter(number.tolist()) == {0: 1, 1: 1}


def _argument(kind: int, type_id: int, shape: tuple[int, ...], value: bytes | None) -> bytes:
    head = struct.pack(f"<iii{len(shape)}q", kind, type_id, len(shape), *shape)
    return head + (struct.pack("<i", -1) if value is None else struct.pack("<i", len(value)) + value)


def _launch(name: str, *arguments: bytes) -> bytes:
    return struct.pack("<i", len(name)) + name.encode() + struct.pack("<i", len(arguments)) + b"".join(arguments)


def test_a_cast_reads_a_number_as_a_tensor() -> None:
    result = struct.pack("<i", 1) + _argument(17, 35, (), None)
    flag, fraction = _argument(11, 30, (), b"\0"), _argument(11, 43, (), None)
    _, call = read_call(_launch("Default/Cast-op3", flag, _argument(11, 35, (), struct.pack("<q", 44))) + result)
    assert call.inputs == (TensorDesc((), "BOOL"), None)
    _, call = read_call(_launch("Cast", fraction) + result)
    assert call.inputs == (TensorDesc((), "FLOAT"),)
    _, call = read_call(_launch("Default/ScalarCast-op3", flag) + result)
    assert call.inputs == (None,)


def test_a_tuple_of_one_tensor_is_that_tensor_and_one_of_numbers_is_none() -> None:
    result = struct.pack("<i", 0)
    tensor, numbers = _argument(14, 42, (2, 3, 5, 4), None), _argument(14, 35, (2,), struct.pack("<2q", 5, 4))
    _, call = read_call(_launch("Attention", tensor, numbers) + result)
    assert call.inputs == (TensorDesc((2, 3, 5, 4), "FLOAT16"), None)
    assert call.attributes[2] == (None, (5, 4))
