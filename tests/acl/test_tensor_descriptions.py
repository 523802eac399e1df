"""Programs that describe the tensors of their data sets, and models that they did not load."""

from __future__ import annotations

PROGRAM = """
import json
import numpy as np
import acl

def check(ret):
    ret = ret if isinstance(ret, int) else ret[-1]
    assert ret == 0, (ret, acl.get_recent_err_msg())

def describe(desc):
    count = acl.get_tensor_desc_num_dims(desc)
    dims = [acl.get_tensor_desc_dim_v2(desc, i)[0] for i in range(count)]
    return [acl.get_tensor_desc_type(desc), dims, acl.get_tensor_desc_format(desc), acl.get_tensor_desc_size(desc),
            acl.get_tensor_desc_element_count(desc), acl.get_tensor_desc_name(desc)]

def show(name, value):
    print(name + "=" + json.dumps(value))

check(acl.init())
check(acl.rt.set_device(0))
half = acl.create_tensor_desc(1, [2, 3, 5], 2)
acl.set_tensor_desc_name(half, "half")
show("half", describe(half))
show("open", describe(acl.create_tensor_desc(0, [-1, 4], 2)))
show("wrong", [acl.get_tensor_desc_dim_v2(half, 3), describe(7), acl.destroy_tensor_desc(half), describe(half)])
acl.app_log(1, "quiet")
acl.app_log(3, "loud")
refused = []
for dims in ((2, 3), [2, "3"]):
    try:
        acl.create_tensor_desc(0, dims, 2)
    except TypeError as error:
        refused.append(str(error))
show("refused", refused)

model, ret = acl.mdl.load_from_file("image.onnx")
check(ret)
sets = []
for size in (3 * 300 * 4, 4 * 300 * 4):
    pointer, ret = acl.rt.malloc(size, 0)
    check(acl.rt.memset(pointer, size, 0, size))
    made = acl.mdl.create_dataset()
    check(acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size)))
    sets.append(made)
inputs, outputs = sets
show("none", acl.mdl.get_dataset_tensor_desc(outputs, 0))
shapes = []
for dims in ([1, 3, 9, 11], [1, 3, 20, 15]):
    desc = acl.create_tensor_desc(0, dims, 0)
    check(acl.mdl.set_dataset_tensor_desc(inputs, desc, 0))
    acl.destroy_tensor_desc(desc)  # the data set has a copy
    check(acl.mdl.execute(model, inputs, outputs))
    shapes.append(describe(acl.mdl.get_dataset_tensor_desc(outputs, 0)))
show("shapes", shapes)
show("same", acl.mdl.get_dataset_tensor_desc(outputs, 0) == acl.mdl.get_dataset_tensor_desc(outputs, 0))
codes = []
for dims in ([1, 4, 9, 11], [1, 3, 9], [1, 3, 90, 90]):
    check(acl.mdl.set_dataset_tensor_desc(inputs, acl.create_tensor_desc(0, dims, 0), 0))
    codes.append(acl.mdl.execute(model, inputs, outputs))
codes += [acl.mdl.set_dataset_tensor_desc(inputs, 0, 1)[1], acl.mdl.set_dataset_tensor_desc(5, 0, 0)[1],
          acl.mdl.set_dataset_tensor_desc(inputs, 77, 0)[1], acl.mdl.set_dataset_tensor_desc(inputs, 0, 0)[1]]
show("codes", codes)

desc = acl.mdl.create_desc()
check(acl.mdl.get_desc_from_file(desc, "mlp.om"))
show("file", acl.mdl.get_input_dims(desc, 0)[0]["dims"])
data = open("conv.onnx", "rb").read()
pointer = acl.util.bytes_to_ptr(data)
check(acl.mdl.get_desc_from_mem(desc, pointer, len(data)))
show("memory", acl.mdl.get_input_dims(desc, 0)[0]["dims"])
show("sizes", [acl.mdl.query_size_from_mem(pointer, len(data)) == acl.mdl.query_size("conv.onnx"),
               acl.mdl.query_size_from_mem(0, 5), acl.mdl.query_size_from_mem(pointer, len(data) + 1)])
work, ret = acl.rt.malloc(1000, 0)
show("loaded", [acl.mdl.load_from_mem_with_mem(pointer, len(data), work, 1000, 0, 0)[1],
                acl.mdl.load_from_mem_with_mem(pointer, len(data), work, 1001, 0, 0),
                acl.mdl.get_desc_from_file(desc, "none.om"), acl.mdl.get_desc_from_mem(desc, 0, 4)])
check(acl.finalize())
"""


def test_tensors_are_described(programs, models):
    folder = programs.folder()
    models.save(models.any_image(), folder / "image.onnx")
    run = programs(PROGRAM, folder=folder)
    assert run.printed("half") == [1, [2, 3, 5], 2, 60, 30, "half"]
    assert run.printed("open") == [0, [-1, 4], 2, 0, 0, ""]
    unknown = [-1, [], -1, 0, 0, ""]
    assert run.printed("wrong") == [[0, 100000], unknown, None, unknown]
    assert run.printed("refused") == ["argument 2 is not list", "the second argument is not list of int"]
    assert run.printed("none") == 0
    assert run.printed("shapes") == [
        [0, [1, 4, 9, 11], 0, 4 * 99 * 4, 396, "features"],
        [0, [1, 4, 20, 15], 0, 4 * 300 * 4, 1200, "features"],
    ]
    assert run.printed("same") is True
    assert run.printed("codes") == [100017, 100017, 100017, 100000, 100000, 100000, 0]
    assert (run.printed("file"), run.printed("memory")) == ([4, 16], [1, 3, 16, 16])
    assert run.printed("sizes") == [True, [0, 0, 100000], [0, 0, 107000]]
    assert run.printed("loaded") == [0, [0, 107000], 100003, 100000]
    lines = [line for line in run.stderr.splitlines() if "app_log" in line]
    assert lines == ["[drynpu] acl.app_log: [ERROR] loud"]
