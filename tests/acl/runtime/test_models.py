"""Models: loading, describing, running, and everything that can be wrong with that."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator


@pytest.fixture
def image():
    return np.random.default_rng(1).standard_normal((1, 3, 16, 16)).astype(np.float32)


@pytest.fixture
def x():
    return np.random.default_rng(2).standard_normal((4, 16)).astype(np.float32)


def test_a_run_gives_what_the_evaluator_gives(library, models, image):
    net = models.conv_net()
    model_id = library.load(net)
    (inputs, _), (outputs, (result,)) = library.dataset(image), library.dataset(np.zeros((1, 10), np.float32))
    assert library.process.models.execute(model_id, inputs, outputs) == 0
    (expected,) = ReferenceEvaluator(net).run(None, {"image": image})
    assert np.array_equal(library.read(result, expected), expected)


def test_numbers_of_models_grow(library, models):
    first, second = library.load(models.mlp()), library.load(models.mlp())
    assert (first, second) == (1, 2)
    assert library.process.models.unload(first) == 0
    assert library.process.models.unload(first) == 145003
    assert library.load(models.mlp()) == 3


def test_a_model_is_described(library, models):
    process, model_id = library.process, library.load(models.conv_net(), "net.onnx")
    data = process.data
    desc = data.create_desc()
    assert data.count("inputs", desc) == 0
    assert process.models.get_desc(desc, model_id) == 0
    assert data.dims("inputs", desc, 0) == ({"name": "image", "dimCount": 4, "dims": [1, 3, 16, 16]}, 0)
    assert data.dims("outputs", desc, 0) == ({"name": "scores", "dimCount": 2, "dims": [1, 10]}, 0)
    assert (data.count("inputs", desc), data.count("outputs", desc)) == (1, 1), "weights are no inputs"
    assert (data.size("inputs", desc, 0), data.size("outputs", desc, 0)) == (3072, 40)
    assert (data.dtype("inputs", desc, 0), data.format("inputs", desc, 0), data.format("outputs", desc, 0)) == (0, 0, 2)
    assert data.index("inputs", desc, "image") == (0, 0)
    assert data.index("inputs", desc, "scores") == (0, 100000)
    assert process.models.unload(model_id) == 0
    assert data.name("inputs", desc, 0) == "image", "a description outlives its model"
    assert data.dims("inputs", desc, 1) == ({}, 100000)
    assert (data.size("inputs", desc, 1), data.name("inputs", desc, 1), data.dtype("inputs", desc, 1)) == (0, "", -1)
    assert process.models.get_desc(desc, model_id) == 145003
    assert data.destroy_desc(desc) == 0
    assert data.destroy_desc(desc) == 100000
    assert data.size("inputs", desc, 0) == 0
    assert process.models.get_desc(desc, model_id) == 100000


def test_om_stands_for_the_onnx_file_beside_it(library, models):
    (library.folder / "a.onnx").write_bytes(models.mlp().SerializeToString())
    assert library.process.models.load_from_file(str(library.folder / "a.om"))[1] == 0


def test_a_closed_om_is_replaced_by_the_onnx_file_it_was_made_from(library, models, x):
    (library.folder / "a.onnx").write_bytes(models.mlp(batch=4).SerializeToString())
    closed = library.folder / "a_linux_aarch64.om"
    closed.write_bytes(b"IMOD" + bytes(2000))
    model_id, code = library.process.models.load_from_file(str(closed))
    assert code == 0
    assert library.process.models.get(model_id).name == "a_linux_aarch64"
    (library.folder / "a.onnx").write_bytes(b"damaged")
    assert library.process.models.load_from_file(str(closed)) == (0, 100014)


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"IMOD" + bytes(2000), b"not a model", b"\x08\x07"])
def test_files_that_are_no_models(library, content):
    path = library.folder / "bad.om"
    path.write_bytes(content)
    assert library.process.models.load_from_file(str(path)) == (0, 100014)
    assert "bad" in library.process.get_recent_err_msg()
    assert library.process.models.query_size(str(path)) == (0, 0, 100014)


@pytest.mark.parametrize("path", ["missing.om", "", ".", "missing/x.onnx", "x" * 5000])
def test_files_that_are_not_there(library, path):
    assert library.process.models.load_from_file(path) == (0, 100003)
    assert library.process.models.query_size(path) == (0, 0, 100003)


def test_a_damaged_model_never_does_more_than_fail(library, models):
    whole = models.conv_net().SerializeToString()
    random = np.random.default_rng(3)
    path, codes = library.folder / "damaged.onnx", set()
    for _ in range(60):
        damaged = bytearray(whole[: random.integers(1, len(whole))])
        for place in random.integers(0, len(damaged), 8):
            damaged[place] = random.integers(0, 256)
        path.write_bytes(damaged)
        codes.add(library.process.models.load_from_file(str(path))[1])
    assert codes <= {0, 100014}


def test_a_model_comes_from_memory(library, models):
    data = models.mlp().SerializeToString()
    process = library.process
    pointer = process.memory.lend(data)
    assert process.models.load_from_mem(pointer, len(data)) == (1, 0)
    assert process.models.load_from_mem(pointer, len(data) + 1) == (0, 107000)
    assert process.models.load_from_mem(0, len(data)) == (0, 100000)
    assert process.models.load_from_mem(pointer, 0) == (0, 100000)


def test_a_model_is_loaded_with_the_programs_memory(library, models):
    process, path = library.process, library.folder / "m.om"
    path.write_bytes(models.mlp().SerializeToString())
    work, weight, code = process.models.query_size(str(path))
    assert (work, weight, code) == (4 * (32 + 32 + 8) * 4, 4 * (16 * 32 + 32 + 32 * 8 + 8), 0)
    (own, _), (other, _) = process.malloc(work, 0), process.malloc(weight, 0)
    assert process.models.load_from_file_with_mem(str(path), own, work, other, weight)[1] == 0
    assert process.models.load_from_file_with_mem(str(path), own, work + 1, other, weight) == (0, 107000)


def test_a_dynamic_dim_follows_from_the_size(library, models, x):
    model_id = library.load(models.mlp(batch="n"))
    for rows in (1, 3, 4):
        (inputs, _), (outputs, (result,)) = library.dataset(x[:rows]), library.dataset(np.zeros((rows, 8), np.float32))
        assert library.process.models.execute(model_id, inputs, outputs) == 0
        (expected,) = ReferenceEvaluator(models.mlp()).run(None, {"x": x[:rows]})
        assert np.array_equal(library.read(result, expected), expected)


def test_a_dynamic_batch_can_be_told(library, models, x):
    process, model_id, fixed = library.process, library.load(models.mlp(batch="n")), library.load(models.mlp())
    (inputs, _), (outputs, (result,)) = library.dataset(x), library.dataset(np.zeros((4, 8), np.float32))
    assert process.shapes.set_dynamic_batch_size(model_id, inputs, 1, 2) == 0
    assert process.models.execute(model_id, inputs, outputs) == 0
    assert np.count_nonzero(library.read(result, np.zeros((4, 8), np.float32)).any(1)) == 2
    assert process.shapes.set_dynamic_batch_size(model_id, inputs, 1, 5) == 0
    assert process.models.execute(model_id, inputs, outputs) == 100017
    assert process.shapes.set_dynamic_batch_size(model_id, inputs, 1, 0) == 100000
    assert process.shapes.set_dynamic_batch_size(fixed, inputs, 1, 2) == 100000
    assert process.shapes.set_dynamic_batch_size(99, inputs, 0, 2) == 145003
    assert process.shapes.set_dynamic_batch_size(fixed, inputs, 0, 2) == 145013


def test_data_sets_that_do_not_fit(library, models, x):
    process, model_id = library.process, library.load(models.mlp())
    run = process.models.execute
    y = np.zeros((4, 8), np.float32)
    (inputs, pointers), (outputs, results) = library.dataset(x), library.dataset(y)
    (both, _), (none, _) = library.dataset(x, x), library.dataset()
    (small_in, _), (small_out, _) = library.dataset(x[:3]), library.dataset(y[:3])
    assert run(model_id, both, outputs) == 100017
    assert run(model_id, none, outputs) == 100017
    assert run(model_id, small_in, outputs) == 100017
    assert run(model_id, inputs, none) == 100018
    assert run(model_id, inputs, small_out) == 100018
    assert run(99, inputs, outputs) == 145003
    assert run(model_id, 0, outputs) == 100000
    assert run(model_id, inputs, pointers[0]) == 100000
    assert run(model_id, inputs, outputs) == 0
    process.free(results[0])
    assert run(model_id, inputs, outputs) == 107000
    process.free(pointers[0])
    assert run(model_id, inputs, outputs) == 107000
    buffer = process.data.get_dataset_buffer(inputs, 0)
    assert process.data.destroy_data_buffer(buffer) == 0
    assert run(model_id, inputs, outputs) == 100000
    assert process.data.destroy_dataset(inputs) == 0
    assert run(model_id, inputs, outputs) == 100000


def test_data_buffers_that_are_not_there(library):
    data = library.process.data
    handle, dataset = data.create_data_buffer(4096, 16), data.create_dataset()
    assert (data.get_data_buffer_addr(handle), data.get_data_buffer_size(handle)) == (4096, 16)
    assert data.update_data_buffer(handle, 8192, 32) == 0
    assert (data.get_data_buffer_addr(handle), data.get_data_buffer_size(handle)) == (8192, 32)
    assert data.add_dataset_buffer(dataset, handle) == (dataset, 0)
    assert data.add_dataset_buffer(dataset, dataset) == (dataset, 100000)
    assert data.add_dataset_buffer(handle, handle) == (handle, 100000)
    assert data.get_dataset_num_buffers(dataset) == 1
    assert data.get_dataset_buffer(dataset, 0) == handle
    assert data.get_dataset_buffer(dataset, 1) == 0
    assert data.destroy_data_buffer(handle) == 0
    assert data.destroy_data_buffer(handle) == 100000
    assert data.update_data_buffer(handle, 1, 1) == 100000
    assert (data.get_data_buffer_addr(handle), data.get_data_buffer_size(handle)) == (0, 0)
    assert data.destroy_dataset(dataset) == 0
    assert data.destroy_dataset(dataset) == 100000
    assert data.get_dataset_num_buffers(dataset) == 0


def test_a_node_that_fails_is_told_at_once_or_when_the_stream_is_waited_for(library, models):
    process, model_id = library.process, library.load(models.failing())
    stream, _ = process.devices.create_stream()
    (inputs, _), (outputs, _) = library.dataset(np.zeros(5, np.float32)), library.dataset(np.zeros(49, np.float32))
    assert process.models.execute(model_id, inputs, outputs) == 507011
    assert "shape" in process.get_recent_err_msg()
    assert process.models.execute_async(model_id, inputs, outputs, stream) == 0
    assert process.waiting.synchronize_stream(0) == 0
    assert process.waiting.synchronize_stream(stream) == 507011
    assert process.waiting.synchronize_stream(stream) == 0
    assert process.models.execute_async(model_id, inputs, outputs, 77) == 107017
    (fitting, _), _ = library.dataset(np.zeros(49, np.float32)), None
    assert process.models.execute_async(model_id, fitting, outputs, stream) == 0
    assert process.waiting.synchronize_stream(stream) == 0


def test_the_listener_hears_of_runs_and_copies(library, heard, models, x):
    process, model_id = library.process, library.load(models.mlp())
    stream, _ = process.devices.create_stream()
    (inputs, _), (outputs, _) = library.dataset(x), library.dataset(np.zeros((4, 8), np.float32))
    assert [(kind, size) for kind, size, *_ in heard.copies] == [(1, x.nbytes), (1, 4 * 8 * 4)]
    assert process.models.execute(model_id, inputs, outputs) == 0
    assert process.models.execute_async(model_id, inputs, outputs, stream) == 0
    (first, second) = heard.runs
    assert [run[1] for run in heard.runs] == [0, process.devices.stream(stream)[1].number]
    operators, start_ns, end_ns = first[2:]
    names = [operators.names[n] for n in operators.name]
    assert names == ["Gemm", "Relu", "Gemm", "Softmax"]
    assert start_ns <= operators.start_ns[0]
    assert operators.end_ns[-1] <= end_ns
    assert (operators.start_ns < operators.end_ns).all()
    assert (operators.end_ns[:-1] <= operators.start_ns[1:]).all()
    assert set(operators.thread) == {threading.get_native_id()}
    assert operators.signatures is second[2].signatures, "runs of equal shapes share what is distinct"
    assert second[3] >= end_ns


def test_a_refused_run_is_not_heard_of(library, heard, models, x):
    model_id = library.load(models.mlp())
    (inputs, _), (none, _) = library.dataset(x), library.dataset()
    library.process.models.execute(model_id, inputs, none)
    assert heard.runs == []


def test_threads_run_one_model_at_once(library, heard, models, x):
    process, model_id = library.process, library.load(models.mlp())
    context, _ = process.devices.get_context()
    (expected,) = ReferenceEvaluator(models.mlp()).run(None, {"x": x})
    codes, wrong = [], []

    def work() -> None:
        process.devices.set_context(context)
        (inputs, _), (outputs, (result,)) = library.dataset(x), library.dataset(np.zeros((4, 8), np.float32))
        for _ in range(20):
            codes.append(process.models.execute(model_id, inputs, outputs))
            if not np.array_equal(library.read(result, expected), expected):
                wrong.append(result)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 80
    assert wrong == []
    assert len(heard.runs) == 80
    assert len({int(run[2].thread[0]) for run in heard.runs}) == 4


def two_inputs(ids_dims, mask_dims):
    """Return ``y = ids + mask`` with these dims; the node has no name."""
    nodes = [helper.make_node("Add", ["ids", "mask"], ["y"])]
    values = [helper.make_tensor_value_info(name, 1, dims) for name, dims in [("ids", ids_dims), ("mask", mask_dims)]]
    graph = helper.make_graph(nodes, "g", values, [helper.make_tensor_value_info("y", 1, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("ids_dims", "mask_dims", "shapes", "code"),
    [
        (["n", 4], ["n", 4], [(3, 4), (3, 4)], 0),
        (["n", "s"], ["s"], [(3, 5), (5,)], 0),  # the mask tells s, and that the ids their n
        (["n", 4], [None, 4], [(3, 4), (1, 4)], 0),
        (["n", 4], ["n", 4], [(3, 4), (2, 4)], 100017),  # one name, two lengths
        (["n", "s"], [4], [(3, 4), (4,)], 100017),  # 12 elements do not tell two dims
        ([0, 4], [1, 4], [(1, 4), (1, 4)], 0),  # a dim of no length takes nothing from the buffer
    ],
)
def test_dims_of_one_name_are_equal(library, ids_dims, mask_dims, shapes, code):
    model_id = library.load(two_inputs(ids_dims, mask_dims))
    arrays = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
    (inputs, _), (outputs, (result,)) = library.dataset(*arrays), library.dataset(np.zeros((4, 5), np.float32))
    assert library.process.models.execute(model_id, inputs, outputs) == code
    if code == 0 and 0 not in ids_dims:
        expected = arrays[0] + arrays[1]
        assert np.array_equal(library.read(result, expected), expected)


def test_a_node_without_a_name_is_called_by_type_and_number(library, heard):
    model_id = library.load(two_inputs([1], [1]))
    one = np.ones(1, np.float32)
    (inputs, _), (outputs, _) = library.dataset(one, one), library.dataset(one)
    assert library.process.models.execute(model_id, inputs, outputs) == 0
    assert heard.runs[0][2].signatures[0].attributes[1] == "Add_0"


def test_a_result_of_unknown_size_is_described_as_such(library, models):
    process, model_id = library.process, library.load(models.mlp(batch="n"))
    desc = process.data.create_desc()
    process.models.get_desc(desc, model_id)
    assert process.data.dims("inputs", desc, 0)[0]["dims"] == [-1, 16]
    assert process.data.dims("outputs", desc, 0)[0]["dims"] == [-1, 8]
    assert (process.data.size("inputs", desc, 0), process.data.size("outputs", desc, 0)) == (0, 0)
