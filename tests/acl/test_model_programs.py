"""Programs that load, describe and run models in every way, and that look at each number they are given."""

from __future__ import annotations

import pytest
from tests.acl.preamble import PREAMBLE

START = f"""{PREAMBLE}import numpy as np

def memory(size):
    return new(acl.rt.malloc(size, 0))

def dataset(pointer, size):
    buffers = acl.mdl.create_dataset()
    check(acl.mdl.add_dataset_buffer(buffers, acl.create_data_buffer(pointer, size)))
    return buffers

def numbers(pointer, count):
    data = bytes(4 * count)
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), len(data), pointer, len(data), 2))
    return np.frombuffer(data, np.float32).tolist()

check(acl.init())
check(acl.rt.set_device(0))
"""

LOAD = (
    START
    + """
given, size = memory(4 * 16 * 4), 4 * 16 * 4
result, room = memory(4 * 8 * 4), 4 * 8 * 4
check(acl.rt.memset(given, size, 0, size))
inputs, outputs = dataset(given, size), dataset(result, room)
data = open("mlp.om", "rb").read()
pointer = acl.util.bytes_to_ptr(data)
work, weights = new(acl.mdl.query_size("mlp.om")[::2]), new(acl.mdl.query_size("mlp.om")[1:])
ways = {
    "file": acl.mdl.load_from_file("mlp.om"),
    "memory": acl.mdl.load_from_mem(pointer, len(data)),
    "both": acl.mdl.load_from_file_with_mem("mlp.om", memory(work), work, memory(weights), weights),
}
sums = {}
for name, loaded in ways.items():
    model = new(loaded)
    check(acl.rt.memset(result, room, 0, room))
    check(acl.mdl.execute(model, inputs, outputs))
    sums[name] = [round(sum(numbers(result, 32)), 3)]
    check(acl.rt.memset(result, room, 0, room))
    check(acl.mdl.execute_async(model, inputs, outputs, 0))
    check(acl.rt.synchronize_stream(0))
    sums[name].append(round(sum(numbers(result, 32)), 3))
    check(acl.mdl.unload(model))
    sums[name].append(acl.mdl.execute(model, inputs, outputs))
show("sums", sums)
show("sizes", [work, weights])
broken = new(acl.mdl.load_from_file("failing.onnx"))
wrong = dataset(memory(20), 20)
show("codes", [acl.mdl.execute(broken, wrong, dataset(memory(196), 196)), "shape" in acl.get_recent_err_msg()])
"""
)

DESCRIBE = (
    START
    + """
model = new(acl.mdl.load_from_file("conv.onnx"))
desc = acl.mdl.create_desc()
show("empty", acl.mdl.get_num_inputs(desc))
check(acl.mdl.get_desc(desc, model))
show("counts", [acl.mdl.get_num_inputs(desc), acl.mdl.get_num_outputs(desc)])
show("inputs", [acl.mdl.get_input_name_by_index(desc, 0), acl.mdl.get_input_dims(desc, 0),
                acl.mdl.get_input_dims_v2(desc, 0)[0]["dims"], acl.mdl.get_input_size_by_index(desc, 0),
                acl.mdl.get_input_format(desc, 0), acl.mdl.get_input_data_type(desc, 0),
                acl.mdl.get_input_index_by_name(desc, "image"), acl.mdl.get_input_index_by_name(desc, "scores")[1]])
show("outputs", [acl.mdl.get_output_name_by_index(desc, 0), acl.mdl.get_output_dims(desc, 0),
                 acl.mdl.get_output_size_by_index(desc, 0), acl.mdl.get_output_format(desc, 0),
                 acl.mdl.get_output_data_type(desc, 0), acl.mdl.get_output_index_by_name(desc, "scores"),
                 acl.mdl.get_output_index_by_name(desc, "image")[1]])
check(acl.mdl.destroy_desc(desc))
show("gone", [acl.mdl.get_num_inputs(desc), acl.mdl.destroy_desc(desc)])
"""
)

DATA = (
    START
    + """
one, other = memory(64), memory(128)
buffer = acl.create_data_buffer(one, 64)
seen = [[acl.get_data_buffer_addr(buffer) == one, acl.get_data_buffer_size(buffer),
         acl.get_data_buffer_size_v2(buffer)]]
check(acl.update_data_buffer(buffer, other, 128))
seen.append([acl.get_data_buffer_addr(buffer) == other, acl.get_data_buffer_size(buffer),
             acl.get_data_buffer_size_v2(buffer)])
buffers = acl.mdl.create_dataset()
before = acl.mdl.get_dataset_num_buffers(buffers)
check(acl.mdl.add_dataset_buffer(buffers, buffer))
show("set", [before, acl.mdl.get_dataset_num_buffers(buffers), acl.mdl.get_dataset_buffer(buffers, 0) == buffer,
             acl.mdl.get_dataset_buffer(buffers, 1)])
check(acl.mdl.destroy_dataset(buffers))
check(acl.destroy_data_buffer(buffer))
show("gone", [acl.mdl.get_dataset_num_buffers(buffers), acl.mdl.destroy_dataset(buffers),
              acl.destroy_data_buffer(buffer), acl.get_data_buffer_addr(buffer)])
show("seen", seen)
show("elements", [acl.data_type_size(kind) for kind in (0, 1, 2, 9, 12, 999)])
show("about", [acl.get_soc_name(), acl.get_version()])
"""
)


def test_every_way_to_load_and_run_a_model(programs):
    run = programs(LOAD)
    assert set(run.printed("sums")) == {"file", "memory", "both"}
    for sums in run.printed("sums").values():
        assert sums == [4, 4, 145003], "each of four rows of a softmax adds up to 1, until the model is unloaded"
    assert run.printed("sizes") == [4 * (32 + 32 + 8) * 4, 4 * (16 * 32 + 32 + 32 * 8 + 8)]
    assert run.printed("codes") == [507011, True]


def test_a_model_is_described(programs):
    run = programs(DESCRIBE)
    assert run.printed("empty") == 0
    assert run.printed("counts") == [1, 1]
    image = {"name": "image", "dimCount": 4, "dims": [1, 3, 16, 16]}
    assert run.printed("inputs") == ["image", [image, 0], [1, 3, 16, 16], 3072, 0, 0, [0, 0], 100000]
    scores = {"name": "scores", "dimCount": 2, "dims": [1, 10]}
    assert run.printed("outputs") == ["scores", [scores, 0], 40, 2, 0, [0, 0], 100000]
    assert run.printed("gone") == [0, 100000]


@pytest.mark.slow
@pytest.mark.parametrize("chip", ["Ascend910B2", "Ascend310P3"])
def test_data_buffers_and_sets(programs, chip):
    run = programs(DATA, environment={"DRYNPU_CHIP": chip})
    assert run.printed("seen") == [[True, 64, 64], [True, 128, 128]]
    assert run.printed("set") == [0, 1, True, 0]
    assert run.printed("gone") == [0, 100000, 100000, 0]
    assert run.printed("elements") == [4, 2, 1, 8, 1, 0]
    assert run.printed("about") == [chip, [1, 16, 0, 0]]
