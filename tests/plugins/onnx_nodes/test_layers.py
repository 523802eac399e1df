"""Programs with models of recurrent layers, control flow and quantised layers: numbers, and kernels in the profile."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

PROGRAM = """
import json, sys
import numpy as np
import acl

def check(ret):
    ret = ret if isinstance(ret, int) else ret[-1]
    assert ret == 0, (ret, acl.get_recent_err_msg())

check(acl.init())
check(acl.rt.set_device(0))
model, ret = acl.mdl.load_from_file("net.om")
check(ret)
desc = acl.mdl.create_desc()
check(acl.mdl.get_desc(desc, model))
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x2)
check(acl.prof.start(config))
for number, path in enumerate(sys.argv[1:]):
    arrays = np.load(path)
    inputs, outputs, results = acl.mdl.create_dataset(), acl.mdl.create_dataset(), []
    for index in range(acl.mdl.get_num_inputs(desc)):
        data = arrays[acl.mdl.get_input_name_by_index(desc, index)].tobytes()
        pointer, ret = acl.rt.malloc(len(data), 0)
        check(acl.rt.memcpy(pointer, len(data), acl.util.bytes_to_ptr(data), len(data), 1))
        check(acl.mdl.add_dataset_buffer(inputs, acl.create_data_buffer(pointer, len(data))))
    for index in range(acl.mdl.get_num_outputs(desc)):
        size = acl.mdl.get_output_size_by_index(desc, index) or 4096
        pointer, ret = acl.rt.malloc(size, 0)
        check(acl.mdl.add_dataset_buffer(outputs, acl.create_data_buffer(pointer, size)))
        results.append((pointer, size))
    check(acl.mdl.execute(model, inputs, outputs))
    for index, (pointer, size) in enumerate(results):
        data = bytes(size + 8)
        check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), len(data), pointer, size, 2))
        np.array(bytearray(data)).tofile(f"result_{number}_{acl.mdl.get_output_name_by_index(desc, index)}")
check(acl.prof.stop(config))
check(acl.prof.finalize())
check(acl.finalize())
"""
F, RNG = TensorProto.FLOAT, np.random.default_rng(7)


def weight(name, *shape):
    return numpy_helper.from_array(RNG.standard_normal(shape).astype(np.float32) / 2, name)


def value(name, dims, kind=F):
    return helper.make_tensor_value_info(name, kind, dims)


def model(nodes, inputs, outputs, weights=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def run(programs, models):
    def start(net, *feeds):
        folder = programs.folder()
        models.save(net, folder / "net.om")
        paths = []
        for number, feed in enumerate(feeds):
            np.savez(folder / f"{number}.npz", **feed)
            paths.append(f"{number}.npz")
        return programs(PROGRAM, *paths, folder=folder, environment={"DRYNPU_QUIET": "1"})

    return start


def result(done, name, shape, number=0, dtype=np.float32):
    data = (done.folder / f"result_{number}_{name}").read_bytes()
    return np.frombuffer(data, dtype)[: int(np.prod(shape))].reshape(shape)


def kernels(done):
    (path,) = done.folder.glob("out/PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            (row["Op Name"], row["OP Type"], json.loads(row["Input Shapes"].rstrip("\t")))
            for row in csv.DictReader(stream)
        ]


def one_direction(op_type, weights, x, number, attrs):
    """Return what ONNX's evaluator, which only runs forwards, makes of one direction."""
    parts = [numpy_helper.from_array(numpy_helper.to_array(w)[number : number + 1], w.name) for w in weights]
    node = helper.make_node(op_type, ["x", *(w.name for w in weights)], ["y"], **attrs)
    inputs = [value("x", x.shape)]
    return ReferenceEvaluator(model([node], inputs, [value("y", None)], parts)).run(None, {"x": x})[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op_type", "gates", "attrs", "kernel"),
    [
        ("LSTM", 4, {}, "DynamicRNN"),
        ("GRU", 3, {"linear_before_reset": 1}, "DynamicGRUV2"),
        ("GRU", 3, {}, "DynamicGRUV2"),
    ],
)
def test_a_recurrent_layer_in_both_directions_is_a_kernel_for_each(run, op_type, gates, attrs, kernel):
    steps, batch, width, hidden = 4, 2, 3, 5
    weights = [weight("w", 2, gates * hidden, width), weight("r", 2, gates * hidden, hidden)]
    weights.append(weight("b", 2, 2 * gates * hidden))
    attrs = {"hidden_size": hidden, **attrs}
    node = helper.make_node(op_type, ["x", "w", "r", "b"], ["y", "h"], "rnn", direction="bidirectional", **attrs)
    x = RNG.standard_normal((steps, batch, width)).astype(np.float32)
    shape = (steps, 2, batch, hidden)
    done = run(model([node], [value("x", x.shape)], [value("y", shape), value("h", shape[1:])], weights), {"x": x})
    forwards = one_direction(op_type, weights, x, 0, attrs)[:, 0]
    backwards = one_direction(op_type, weights, x[::-1].copy(), 1, attrs)[::-1, 0]
    y = result(done, "y", shape)
    assert np.allclose(y[:, 0], forwards, rtol=1e-5, atol=1e-6)
    assert np.allclose(y[:, 1], backwards, rtol=1e-5, atol=1e-6)
    assert np.array_equal(result(done, "h", shape[1:]), np.stack([y[-1, 0], y[0, 1]])), "a state behind its last step"
    assert [(name, found) for name, found, _ in kernels(done)] == [("rnn", kernel)] * 2
    assert kernels(done)[0][2].startswith("4,2,3;")


def test_an_lstm_has_lengths_states_peepholes_and_a_cell(run):
    width, hidden, lengths = 2, 3, np.array([3, 1], np.int32)
    w, r, b, p = weight("w", 1, 12, width), weight("r", 1, 12, hidden), weight("b", 1, 24), weight("p", 1, 9)
    names = ["x", "w", "r", "b", "lengths", "h0", "c0", "p"]
    node = helper.make_node("LSTM", names, ["y", "h", "c"], "lstm", hidden_size=hidden, direction="reverse", layout=1)
    x = RNG.standard_normal((2, 3, width)).astype(np.float32)
    h0, c0 = RNG.standard_normal((2, 2, 1, hidden)).astype(np.float32)
    given = {"x": x, "lengths": lengths, "h0": h0, "c0": c0}
    inputs = [
        value("x", x.shape),
        value("lengths", [2], TensorProto.INT32),
        value("h0", h0.shape),
        value("c0", c0.shape),
    ]
    outputs = [value("y", [2, 3, 1, hidden]), value("h", h0.shape), value("c", c0.shape)]
    done = run(model([node], inputs, outputs, [w, r, b, p]), given)

    # One number after the other, as the operator's page writes it.
    w, r, b, p = (numpy_helper.to_array(each)[0].astype(float) for each in (w, r, b, p))
    y = np.zeros((2, 3, 1, hidden))
    finals = np.zeros((2, 2, 1, hidden))
    for sample in range(2):
        h, c = h0[sample, 0].astype(float), c0[sample, 0].astype(float)
        for step in reversed(range(lengths[sample])):
            new_h, new_c = h.copy(), c.copy()
            for unit in range(hidden):
                gate = [
                    w[g * hidden + unit] @ x[sample, step]
                    + r[g * hidden + unit] @ h
                    + b[g * hidden + unit]
                    + b[(g + 4) * hidden + unit]
                    for g in range(4)
                ]
                i = 1 / (1 + np.exp(-gate[0] - p[unit] * c[unit]))
                f = 1 / (1 + np.exp(-gate[2] - p[2 * hidden + unit] * c[unit]))
                new_c[unit] = f * c[unit] + i * np.tanh(gate[3])
                o = 1 / (1 + np.exp(-gate[1] - p[hidden + unit] * new_c[unit]))
                new_h[unit] = o * np.tanh(new_c[unit])
            h, c = new_h, new_c
            y[sample, step, 0] = h
        finals[0, sample, 0], finals[1, sample, 0] = h, c
    assert np.allclose(result(done, "y", y.shape), y, rtol=1e-5, atol=1e-6)
    assert np.allclose(result(done, "h", h0.shape), finals[0], rtol=1e-5, atol=1e-6)
    assert np.allclose(result(done, "c", c0.shape), finals[1], rtol=1e-5, atol=1e-6)
    assert kernels(done)[0][2].startswith("3,2,2;"), "steps first, as the kernel takes them"


def test_only_the_branch_that_was_taken_has_kernels(run):
    w = weight("w", 6, 4)
    left = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"], "dense"), helper.make_node("Relu", ["p"], ["l"], "act")],
        "then", [], [value("l", [3, 4])],
    )  # fmt: skip
    right = helper.make_graph(
        [
            helper.make_node("Slice", ["x", "starts", "ends"], ["s"], "cut"),
            helper.make_node("Neg", ["s"], ["r"], "neg"),
        ],
        "else", [], [value("r", [3, 4])],
        [numpy_helper.from_array(np.array([0, 1]), "starts"), numpy_helper.from_array(np.array([3, 5]), "ends")],
    )  # fmt: skip
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], "sum", keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["cond"], "greater"),
        helper.make_node("If", ["cond"], ["chosen"], "choice", then_branch=left, else_branch=right),
        helper.make_node("Exp", ["chosen"], ["y"], "exp"),
    ]
    net = model(nodes, [value("x", [3, 6])], [value("y", [3, 4])], [w, numpy_helper.from_array(np.float32(0), "zero")])
    x = np.abs(RNG.standard_normal((3, 6))).astype(np.float32)
    done = run(net, {"x": x}, {"x": -x})
    for number, sign in enumerate((1, -1)):
        (expected,) = ReferenceEvaluator(net).run(None, {"x": sign * x})
        assert np.array_equal(result(done, "y", (3, 4), number), expected)
    names = [name for name, _, _ in kernels(done)]
    assert names == [
        "sum",
        "greater",
        "choice/dense",
        "choice/act",
        "exp",
        "sum",
        "greater",
        "choice/cut",
        "choice/neg",
        "exp",
    ]
    assert not [found for _, found, _ in kernels(done) if "Unmapped" in found]


@pytest.mark.slow
def test_a_loop_has_the_kernels_of_every_turn(run):
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "w"], ["next"], "step"),
            helper.make_node("ReduceMax", ["next"], ["peak"], "peak", keepdims=0),
            helper.make_node("Less", ["peak", "limit"], ["go"], "less"),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("state", [2, 2])],
        [value("go", [], TensorProto.BOOL), value("next", [2, 2]), value("peak", [])],
    )
    nodes = [helper.make_node("Loop", ["", "", "x"], ["last", "peaks"], "loop", body=body)]
    weights = [numpy_helper.from_array(np.array([[2, 0], [0.5, 1]], np.float32), "w")]
    weights.append(numpy_helper.from_array(np.float32(20), "limit"))
    net = model(nodes, [value("x", [2, 2])], [value("last", [2, 2]), value("peaks", ["n"])], weights)
    x = np.array([[3, 1], [0, 2]], np.float32)
    done = run(net, {"x": x})
    state, peaks = x, []
    while not peaks or peaks[-1] < 20:
        state = state @ np.array([[2, 0], [0.5, 1]], np.float32)
        peaks.append(state.max())
    assert len(peaks) == 3
    assert np.array_equal(result(done, "last", (2, 2)), state)
    assert np.array_equal(result(done, "peaks", (3,)), np.array(peaks, np.float32))
    assert [name for name, _, _ in kernels(done)] == [*["loop/step", "loop/peak", "loop/less"] * 3, "loop_stack"]


@pytest.mark.slow
def test_a_scan_goes_over_rows_in_its_direction(run):
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum_in", "row"], ["sum_out"], "add"),
            helper.make_node("Mul", ["sum_out", "row"], ["scaled"], "scale"),
        ],
        "body",
        [value("sum_in", [3]), value("row", [3])],
        [value("sum_out", [3]), value("scaled", [3])],
    )
    nodes = [
        helper.make_node(
            "Scan", ["start", "x"], ["total", "rows"], "scan", body=body, num_scan_inputs=1, scan_input_directions=[1]
        )
    ]
    inputs = [value("start", [3]), value("x", [4, 3])]
    net = model(nodes, inputs, [value("total", [3]), value("rows", [4, 3])])
    start, x = RNG.standard_normal(3).astype(np.float32), RNG.standard_normal((4, 3)).astype(np.float32)
    done = run(net, {"start": start, "x": x})
    total, rows = start, []
    for row in x[::-1]:
        total = total + row
        rows.append(total * row)
    assert np.array_equal(result(done, "total", (3,)), total)
    assert np.array_equal(result(done, "rows", (4, 3)), np.array(rows))
    assert [found for _, found, _ in kernels(done)] == [*["StridedSliceD", "Add", "Mul"] * 4, "ConcatD"]


@pytest.mark.slow
def test_quantised_layers_compute_what_their_scales_say(run):
    x = RNG.standard_normal((1, 2, 5, 5)).astype(np.float32)
    kernel = RNG.integers(-100, 100, (3, 2, 3, 3)).astype(np.int8)
    dense = RNG.integers(-100, 100, (27, 4)).astype(np.int8)
    scales = {"sx": np.float32(0.02), "sw": np.float32(0.01), "sy": np.float32(0.05), "sd": np.float32(0.03)}
    zeros = {"zx": np.uint8(128), "zw": np.int8(0), "zy": np.uint8(120)}
    weights = [numpy_helper.from_array(np.asarray(each), name) for name, each in (scales | zeros).items()]
    weights += [numpy_helper.from_array(kernel, "k"), numpy_helper.from_array(dense, "d")]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"], "quantize"),
        helper.make_node("QLinearConv", ["q", "sx", "zx", "k", "sw", "zw", "sy", "zy"], ["c"], "conv"),
        helper.make_node("Flatten", ["c"], ["flat"], "flatten"),
        helper.make_node("QLinearMatMul", ["flat", "sy", "zy", "d", "sw", "zw", "sd", "zy"], ["m"], "dense"),
        helper.make_node("DequantizeLinear", ["m", "sd", "zy"], ["y"], "dequantize"),
        helper.make_node("DynamicQuantizeLinear", ["y"], ["v", "scale", "zero"], "dynamic"),
    ]
    outputs = [value("y", [1, 4]), value("v", [1, 4], TensorProto.UINT8), value("scale", [])]
    outputs.append(value("zero", [], TensorProto.UINT8))
    done = run(model(nodes, [value("x", x.shape)], outputs, weights), {"x": x})

    def quantised(values, scale, zero):
        return np.clip(np.rint(values / scale) + zero, 0, 255)

    q = (quantised(x.astype(float), 0.02, 128) - 128) * 0.02
    windows = np.lib.stride_tricks.sliding_window_view(q[0], (3, 3), axis=(1, 2))
    convolved = np.einsum("chwij,ocij->ohw", windows, kernel * 0.01)
    flat = (quantised(convolved, 0.05, 120).reshape(-1) - 120) * 0.05
    y = (quantised(flat @ (dense * 0.01), 0.03, 120) - 120) * 0.03
    # Half a step of rounding may fall either way in float32.
    assert np.allclose(result(done, "y", (4,)), y, atol=0.0301)
    y = result(done, "y", (4,)).astype(float)
    low, high = min(y.min(), 0), max(y.max(), 0)
    scale = (high - low) / 255
    assert np.isclose(result(done, "scale", ()), scale)
    zero = result(done, "zero", (), dtype=np.uint8)
    assert zero == np.rint(-low / scale)
    assert np.abs(result(done, "v", (4,), dtype=np.uint8) - quantised(y, scale, float(zero))).max() <= 1
    found = [(name, kind) for name, kind, _ in kernels(done) if kind != "TransData"]
    assert found == [
        ("quantize", "AscendQuant"),
        ("conv", "Conv2D"),
        ("dense", "MatMulV2"),
        ("dequantize", "AscendAntiQuant"),
        ("dynamic", "DynamicQuant"),
    ]


def test_without_the_plugin_a_model_names_it_and_others_run(programs, models):
    folder = programs.folder()
    node = helper.make_node("RNN", ["x", "w", "r"], ["y"], "rnn", hidden_size=2)
    net = model([node], [value("x", [1, 1, 2])], [value("y", None)], [weight("w", 1, 2, 2), weight("r", 1, 2, 2)])
    models.save(net, folder / "recurrent.om")
    script = """
import acl
assert acl.init() == acl.rt.set_device(0) == 0
print(acl.mdl.load_from_file("mlp.om")[1], acl.mdl.load_from_file("recurrent.om")[1], acl.get_recent_err_msg())
"""
    done = programs(script, folder=folder, environment={"DRYNPU_QUIET": "1", "DRYNPU_PLUGINS": "-onnx_nodes"})
    assert "'RNN' is served by the plugin 'onnx_nodes', which is off" in done.stdout
    fine, refused, _ = done.stdout.split(maxsplit=2)
    assert (fine, refused) != ("0", "0") == (fine, "0")
