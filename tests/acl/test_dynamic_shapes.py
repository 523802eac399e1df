"""Programs that choose batch, image size or dims before each run, as models with gears need it."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

PROGRAM = """
import json, sys
import numpy as np
import acl

H2D, D2H = 1, 2

def check(ret):
    ret = ret if isinstance(ret, int) else ret[-1]
    assert ret == 0, (ret, acl.get_recent_err_msg())

def show(name, value):
    print(name + "=" + json.dumps(value))

check(acl.init())
check(acl.rt.set_device(0))
model, ret = acl.mdl.load_from_file("net.om")
check(ret)
desc = acl.mdl.create_desc()
check(acl.mdl.get_desc(desc, model))
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x2)
check(acl.prof.start(config))

def dataset(count, size_of):
    made, pointers = acl.mdl.create_dataset(), []
    for index in range(count):
        size = size_of(desc, index)
        pointer, ret = acl.rt.malloc(size, 0)
        check(ret)
        check(acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size)))
        pointers.append((pointer, size))
    return made, pointers

inputs, given = dataset(acl.mdl.get_num_inputs(desc), acl.mdl.get_input_size_by_index)
outputs, made = dataset(acl.mdl.get_num_outputs(desc), acl.mdl.get_output_size_by_index)
show("sizes", [[size for _, size in given], [size for _, size in made]])
show("dims", [acl.mdl.get_input_dims(desc, i)[0] for i in range(len(given))])
show("batch", acl.mdl.get_dynamic_batch(desc))
show("hw", acl.mdl.get_dynamic_hw(desc, 0))
count, ret = acl.mdl.get_input_dynamic_gear_count(desc, -1)
check(ret)
show("gears", acl.mdl.get_input_dynamic_dims(desc, -1, count))
index, ret = acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data")
check(ret)
show("unchosen", acl.mdl.execute(model, inputs, outputs))

def choose(values):
    if sys.argv[1] == "batch":
        return acl.mdl.set_dynamic_batch_size(model, inputs, index, *values)
    if sys.argv[1] == "image":
        return acl.mdl.set_dynamic_hw_size(model, inputs, index, *values)
    dims = {"name": "", "dimCount": len(values), "dims": values}
    return acl.mdl.set_input_dynamic_dims(model, inputs, index, dims)

results = []
for values, shapes in json.loads(sys.argv[2]):
    check(choose(values))
    for (pointer, size), shape in zip(given, shapes):
        data = (np.arange(np.prod(shape), dtype=np.float32) / 7 % 3).tobytes()
        check(acl.rt.memcpy(pointer, size, acl.util.bytes_to_ptr(data), len(data), H2D))
    check(acl.mdl.execute(model, inputs, outputs))
    dims, ret = acl.mdl.get_cur_output_dims(desc, 0)
    check(ret)
    data = bytes(4 * int(np.prod(dims["dims"])))
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), len(data), made[0][0], len(data), D2H))
    written = bytes(given[index][1])
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(written), len(written), given[index][0], len(written), D2H))
    results.append([dims["dims"], np.frombuffer(data, np.float32).tolist(), np.frombuffer(written, np.int32).tolist()])
show("results", results)
missing = acl.create_data_buffer(0, 64)
small = acl.create_data_buffer(given[index][0], 2)
codes = [choose(json.loads(sys.argv[3]))]
others = {"batch": (acl.mdl.set_dynamic_hw_size, (2, 2)), "image": (acl.mdl.set_dynamic_batch_size, (1,)),
          "dims": (acl.mdl.set_dynamic_batch_size, (1,))}
other, values = others[sys.argv[1]]
codes.append(other(model, inputs, index, *values))
codes.append(other(model, inputs, index, *(0 for _ in values)))
codes.append(other(model, 12, index, *values))
codes.append(other(model, inputs, 9, *values))
codes.append(other(77, inputs, index, *values))
tiny = acl.mdl.create_dataset()
check(acl.mdl.add_dataset_buffer(tiny, small))
codes.append(other(model, tiny, 0, *values))
void = acl.mdl.create_dataset()
check(acl.mdl.add_dataset_buffer(void, missing))
codes.append(other(model, void, 0, *values))
show("codes", codes)
show("wrong", [acl.mdl.get_input_dynamic_gear_count(desc, 0), acl.mdl.get_input_dynamic_dims(desc, 0, 9),
               acl.mdl.get_dynamic_batch(5), acl.mdl.get_dynamic_hw(5, 0), acl.mdl.get_cur_output_dims(desc, 3),
               acl.mdl.get_input_dynamic_dims(desc, -1, 5000)])
check(acl.prof.stop(config))
check(acl.prof.finalize())
check(acl.finalize())
"""


def values(shape):
    return (np.arange(np.prod(shape), dtype=np.float32) / 7 % 3).reshape(shape)


def kernels(run):
    (path,) = run.folder.glob("out/PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        return [(row["Op Name"], json.loads(row["Input Shapes"].rstrip("\t"))) for row in csv.DictReader(stream)]


@pytest.fixture
def run(programs, models):
    def start(model, command, kind, choices, wrong):
        folder = programs.folder()
        models.save(model, folder / "net.onnx")
        (folder / "net.om").write_bytes(b"IMOD" + bytes(300))
        (folder / "net.atc").write_text(command, encoding="utf-8")
        arguments = (kind, json.dumps(choices), json.dumps(wrong))
        return programs(PROGRAM, *arguments, folder=folder, environment={"DRYNPU_QUIET": "1"})

    return start


def check_results(done, model, names, choices):
    for (dims, result, _), (_, shapes) in zip(done.printed("results"), choices, strict=True):
        feeds = {name: values(shape) for name, shape in zip(names, shapes, strict=True)}
        (expected,) = ReferenceEvaluator(model).run(None, feeds)
        assert tuple(dims) == expected.shape
        assert np.array_equal(np.array(result, np.float32).reshape(dims), expected)


def test_a_batch_is_chosen_among_the_gears(run, models):
    command = 'atc --framework=5 --model=net.onnx --input_shape="x:-1,16" --dynamic_batch_size="1,3,6" \\\n --log=error'
    model = models.mlp(batch="n")
    choices = [([3], [(3, 16)]), ([1], [(1, 16)]), ([6], [(6, 16)])]
    done = run(model, command, "batch", choices, [2])
    check_results(done, model, ["x"], choices)
    assert done.printed("sizes") == [[6 * 16 * 4, 4], [6 * 8 * 4]], "the largest gear's sizes, and one number"
    assert done.printed("dims") == [
        {"name": "x", "dimCount": 2, "dims": [-1, 16]},
        {"name": "ascend_mbatch_shape_data", "dimCount": 1, "dims": [1]},
    ]
    assert done.printed("batch") == [{"batchCount": 3, "batch": [1, 3, 6]}, 0]
    assert (done.printed("hw"), done.printed("gears")) == ([{"hwCount": 0, "hw": []}, 0], [[], 0])
    assert [written for _, _, written in done.printed("results")] == [[3], [1], [6]]
    assert done.printed("unchosen") == 145013
    assert done.printed("codes") == [145013, 145012, 100000, 100000, 100000, 145003, 145012, 100000]
    assert done.printed("wrong") == [
        [0, 100000],
        [[], 100000],
        [{}, 100000],
        [{}, 100000],
        [{}, 100000],
        [None, 100000],
    ]
    found = kernels(done)
    assert found[0] == ("fc1_ascend_mbatch_batch_1", "3,16;16,32;32")
    assert found[4] == ("fc1_ascend_mbatch_batch_0", "1,16;16,32;32")
    assert len(found) == 12


def test_an_image_size_is_chosen_among_the_gears(run, models):
    command = (
        'atc --model=net.onnx --input_shape="image:1,3,-1,-1" --dynamic_image_size="8,12;16,10" --precision_mode=x'
    )
    choices = [([16, 10], [(1, 3, 16, 10)]), ([8, 12], [(1, 3, 8, 12)])]
    done = run(models.any_image(), command, "image", choices, [12, 8])
    check_results(done, models.any_image(), ["image"], choices)
    assert done.printed("sizes") == [[3 * 160 * 4, 8], [4 * 160 * 4]]
    assert done.printed("hw") == [{"hwCount": 2, "hw": [[8, 12], [16, 10]]}, 0]
    assert [written for _, _, written in done.printed("results")] == [[16, 10], [8, 12]]
    assert done.printed("codes")[:3] == [145013, 145013, 100000]
    assert "net.atc: --precision_mode: not simulated" in done.stderr
    assert [name for name, _ in kernels(done) if name.startswith("conv")] == [
        "conv_ascend_mbatch_batch_1relu_ascend_mbatch_batch_1",
        "conv_ascend_mbatch_batch_0relu_ascend_mbatch_batch_0",
    ]


def test_dims_of_all_inputs_are_chosen_among_the_gears(run, models):
    command = 'atc --input_shape "mask:-1,-1,1;x:-1,-1,8" --dynamic_dims "2,3,2,3;1,7,1,7" --model net.onnx'
    choices = [([2, 3, 1, 2, 3, 8], [(2, 3, 8), (2, 3, 1)]), ([1, 7, 1, 1, 7, 8], [(1, 7, 8), (1, 7, 1)])]
    done = run(models.masked(), command, "dims", choices, [2, 3, 1, 2, 3, 9])
    check_results(done, models.masked(), ["x", "mask"], choices)
    assert done.printed("sizes") == [[7 * 8 * 4, 7 * 4, 16], [7 * 5 * 4]]
    assert done.printed("gears") == [
        [
            {"name": "", "dimCount": 6, "dims": [2, 3, 1, 2, 3, 8]},
            {"name": "", "dimCount": 6, "dims": [1, 7, 1, 1, 7, 8]},
        ],
        0,
    ]
    assert done.printed("codes")[:2] == [145012, 145013], "a fixed dim of another length; no batch to choose"
    assert kernels(done)[0] == ("keep_ascend_mbatch_batch_0", "2,3,8;2,3,1")


FREE = """
import json
import numpy as np
import acl

def check(ret):
    assert ret == 0, (ret, acl.get_recent_err_msg())

check(acl.init())
check(acl.rt.set_device(0))
model, ret = acl.mdl.load_from_file("image.onnx")
desc = acl.mdl.create_desc()
check(acl.mdl.get_desc(desc, model))
print("inputs=" + json.dumps([acl.mdl.get_num_inputs(desc), acl.mdl.get_input_dims(desc, 0)[0]["dims"]]))
print("index=" + json.dumps(acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data")))
sets = []
for size in (3 * 99 * 4, 4 * 99 * 4):
    pointer, ret = acl.rt.malloc(size, 0)
    check(acl.rt.memset(pointer, size, 0, size))
    made = acl.mdl.create_dataset()
    acl.mdl.add_dataset_buffer(made, acl.create_data_buffer(pointer, size))
    sets.append(made)
print("size=" + json.dumps(acl.mdl.execute(model, *sets)))
check(acl.mdl.set_dynamic_hw_size(model, sets[0], 0, 9, 11))
check(acl.mdl.execute(model, *sets))
dims = {"name": "image", "dimCount": 4, "dims": [1, 3, 5, 6]}
check(acl.mdl.set_input_dynamic_dims(model, sets[0], 0, dims))
check(acl.mdl.execute(model, *sets))
refused = []
for wrong in ([], {"dimCount": 1}, {"dimCount": 2, "dims": [1]}, {"dimCount": 1, "dims": ["1"]}):
    try:
        acl.mdl.set_input_dynamic_dims(model, sets[0], 0, wrong)
    except TypeError as error:
        refused.append(str(error))
print("refused=" + json.dumps(refused))
print("none=" + json.dumps(acl.mdl.set_input_dynamic_dims(model, sets[0], 0, {"dimCount": 0, "dims": []})))
print("bad=" + json.dumps(acl.mdl.load_from_file("bad.onnx")))
print("why=" + json.dumps(acl.get_recent_err_msg()))
fixed, ret = acl.mdl.load_from_file("fixed.onnx")
check(acl.mdl.get_desc(desc, fixed))
print("fixed=" + json.dumps(acl.mdl.get_input_dims(desc, 0)[0]["dims"]))
check(acl.finalize())
"""


def test_a_model_without_gears_takes_any_choice(programs, models):
    folder = programs.folder()
    models.save(models.any_image(), folder / "image.onnx")
    models.save(models.any_image(), folder / "bad.onnx")
    (folder / "bad.atc").write_text('--input_shape="image:-1,3,4,4" --dynamic_image_size="1,2;3,4"', encoding="utf-8")
    models.save(models.mlp(batch="n"), folder / "fixed.onnx")
    (folder / "fixed.atc").write_text("--input_shape=x:5,16", encoding="utf-8")
    done = programs(FREE, folder=folder)
    assert done.printed("inputs") == [1, [1, 3, -1, -1]]
    assert done.printed("index") == [0, 100000]
    assert "image: has no gears to choose from; name them in image.atc" in done.stderr
    assert done.printed("size") == 100017, "297 numbers can be many heights and widths"
    assert done.printed("refused") == [
        "argument 4 is not dict",
        "The dims of parameter 4 is not a list.",
        "the dims of fourth parameter is not list of int",
        "the dims of fourth parameter is not list of int",
    ]
    assert done.printed("none") == 100000
    assert done.printed("bad") == [0, 100014]
    assert done.printed("why").startswith("bad.atc: --dynamic_image_size: height and width")
    assert done.printed("fixed") == [5, 16], "what the command line fixes is fixed"
