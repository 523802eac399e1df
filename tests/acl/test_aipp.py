"""Programs whose model prepares its images itself (AIPP), with fixed settings and with settings before each run."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

START = """
import json, sys
import numpy as np
import acl

def check(ret):
    ret = ret if isinstance(ret, int) else ret[-1]
    assert ret == 0, (ret, acl.get_recent_err_msg())

check(acl.init())
check(acl.rt.set_device(0))
model, ret = acl.mdl.load_from_file("net.onnx")
check(ret)
desc = acl.mdl.create_desc()
check(acl.mdl.get_desc(desc, model))
inputs, outputs, pointers = acl.mdl.create_dataset(), acl.mdl.create_dataset(), []
sizes = [acl.mdl.get_input_size_by_index(desc, i) for i in range(acl.mdl.get_num_inputs(desc))]
for size in sizes:
    pointer, ret = acl.rt.malloc(size, 0)
    check(acl.mdl.add_dataset_buffer(inputs, acl.create_data_buffer(pointer, size)))
    pointers.append(pointer)
room = acl.mdl.get_output_size_by_index(desc, 0)
result, ret = acl.rt.malloc(room, 0)
check(acl.mdl.add_dataset_buffer(outputs, acl.create_data_buffer(result, room)))

def put(array):
    data = array.tobytes()
    check(acl.rt.memcpy(pointers[0], sizes[0], acl.util.bytes_to_ptr(data), len(data), 1))

def run():
    check(acl.mdl.execute(model, inputs, outputs))
    data = bytes(room)
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), room, result, room, 2))
    return np.frombuffer(data, np.float32).tolist()
"""

STATIC = (
    START
    + """
check(acl.prof.init("out"))
config = acl.prof.create_config([0], 0, 0, 0x2)
check(acl.prof.start(config))
print("sizes=" + json.dumps([sizes, acl.mdl.get_input_data_type(desc, 0)]))
print("dims=" + json.dumps([acl.mdl.get_input_dims(desc, 0)[0], acl.mdl.get_input_dims_v2(desc, 0)[0]]))
print("type=" + json.dumps([acl.mdl.get_aipp_type(*each) for each in ((model, 0), (model, 1), (9, 0))]))
put((np.arange(12 * 10 * 3 // 2) * 37 % 251).astype(np.uint8))
print("result=" + json.dumps(run()))
check(acl.prof.stop(config))
check(acl.prof.finalize())
check(acl.finalize())
"""
)

CONF = """
aipp_op {  # of a camera
    aipp_mode : static
    related_input_rank : 0
    input_format : YUV420SP_U8
    src_image_size_w : 12
    src_image_size_h : 10
    crop : true
    load_start_pos_w : 2
    load_start_pos_h : 4
    crop_size_w : 8
    crop_size_h : 5
    csc_switch : true
    rbuv_swap_switch : false
    matrix_r0c0 : 256
    matrix_r0c1 : 0
    matrix_r0c2 : 359
    matrix_r1c0 : 256
    matrix_r1c1 : -88
    matrix_r1c2 : -183
    matrix_r2c0 : 256
    matrix_r2c1 : 454
    matrix_r2c2 : 0
    input_bias_0 : 0
    input_bias_1 : 128
    input_bias_2 : 128
    mean_chn_0 : 104
    mean_chn_1 : 117
    mean_chn_2 : 123
    var_reci_chn_0 : 0.0078125
    var_reci_chn_1 : 0.015625
    var_reci_chn_2 : 0.5
}
"""


def features(model, image):
    (expected,) = ReferenceEvaluator(model).run(None, {"image": image.astype(np.float16).astype(np.float32)})
    return expected


@pytest.mark.slow
def test_settings_of_the_compiler_prepare_the_image(programs, models):
    folder = programs.folder()
    model = models.any_image()
    models.save(model, folder / "net.onnx")
    (folder / "aipp.cfg").write_text(CONF, encoding="utf-8")
    command = 'atc --model=net.onnx --input_shape="image:1,3,5,8" --insert_op_conf=aipp.cfg'
    (folder / "net.atc").write_text(command, encoding="utf-8")
    done = programs(STATIC, folder=folder, environment={"DRYNPU_QUIET": "1"})
    assert done.printed("sizes") == [[180], 4], "bytes of the camera's image, aclDataType uint8"
    assert [each["dims"] for each in done.printed("dims")] == [[1, 10, 12, 3], [1, 15, 12, 1]]
    assert done.printed("type") == [[1, 0xFFFFFFFF, 0], [0, 0, 100000], [0, 0, 145003]]

    # Pixel by pixel, as the guide writes it.
    raw = (np.arange(180) * 37 % 251).astype(int)
    image = np.zeros((1, 3, 5, 8))
    for row in range(5):
        for column in range(8):
            y, x = row + 4, column + 2
            pair = 120 + (y // 2) * 12 + x // 2 * 2
            luma, u, v = raw[y * 12 + x], raw[pair] - 128, raw[pair + 1] - 128
            colours = [256 * luma + 359 * v, 256 * luma - 88 * u - 183 * v, 256 * luma + 454 * u]
            whole = [min(max(colour >> 8, 0), 255) for colour in colours]
            image[0, :, row, column] = (np.array(whole) - [104, 117, 123]) * [1 / 128, 1 / 64, 0.5]
    assert np.array_equal(np.array(done.printed("result"), np.float32).reshape(1, 4, 5, 8), features(model, image))

    (path,) = folder.glob("out/PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        first = next(csv.DictReader(stream))
    assert (first["Op Name"], first["OP Type"]) == ("image_aipp", "Aipp")
    assert (first["Input Data Types"].strip(), json.loads(first["Output Shapes"])) == ("UINT8", "1,3,5,8")


DYNAMIC = (
    START
    + """
print("sizes=" + json.dumps(sizes))
index, ret = acl.mdl.get_input_index_by_name(desc, "ascend_dynamic_aipp_data")
check(ret)
print("type=" + json.dumps([acl.mdl.get_aipp_type(model, 0), acl.mdl.get_aipp_type(model, index)]))
print("unset=" + json.dumps(acl.mdl.execute(model, inputs, outputs)))
print("none=" + json.dumps([acl.mdl.create_aipp(0), acl.mdl.destroy_aipp(5), acl.mdl.get_aipp_data_size(3)]))
aipp = acl.mdl.create_aipp(2)
codes = [acl.mdl.set_input_aipp(model, inputs, index, aipp)]  # nothing is set yet
check(acl.mdl.set_aipp_input_format(aipp, 3))
check(acl.mdl.set_aipp_src_image_size(aipp, 6, 4))
check(acl.mdl.set_aipp_rbuv_swap_switch(aipp, 1))
check(acl.mdl.set_aipp_ax_swap_switch(aipp, 0))
check(acl.mdl.set_aipp_csc_params(aipp, 0, *[0] * 15))
for image in (0, 1):
    check(acl.mdl.set_aipp_crop_params(aipp, 1, 1, image, 4, 3, image))
    codes.append(acl.mdl.set_input_aipp(model, inputs, index, aipp))  # 4 x 3, the model takes 5 x 4
    check(acl.mdl.set_aipp_padding_params(aipp, 1, 1, 0, 0, 1, image))
    check(acl.mdl.set_aipp_dtc_pixel_mean(aipp, 10, 20, 30, 0, image))
    check(acl.mdl.set_aipp_dtc_pixel_min(aipp, 0.5, 0.0, 1.0, 0.0, image))
    check(acl.mdl.set_aipp_pixel_var_reci(aipp, 0.25, 0.5, 2.0 ** -image, 1.0, image))
check(acl.mdl.set_input_aipp(model, inputs, index, aipp))
check(acl.mdl.set_aipp_by_input_index(model, inputs, 0, aipp))
put((np.arange(144) * 53 % 256).astype(np.uint8))
print("result=" + json.dumps(run()))
codes += [
    acl.mdl.set_input_aipp(model, inputs, 0, aipp),
    acl.mdl.set_aipp_by_input_index(model, inputs, 1, aipp),
    acl.mdl.set_input_aipp(model, inputs, index, 77),
    acl.mdl.set_input_aipp(88, inputs, index, aipp),
    acl.mdl.set_aipp_input_format(aipp, 15),
    acl.mdl.set_aipp_src_image_size(aipp, 1, 4),
    acl.mdl.set_aipp_crop_params(aipp, 1, 4096, 0, 4, 4, 0),
    acl.mdl.set_aipp_padding_params(aipp, 1, 33, 0, 0, 0, 0),
    acl.mdl.set_aipp_dtc_pixel_mean(aipp, 256, 0, 0, 0, 0),
    acl.mdl.set_aipp_pixel_var_reci(aipp, 1.0, 1.0, 1.0, 65505.0, 0),
    acl.mdl.set_aipp_dtc_pixel_min(aipp, 1.0, 1.0, 1.0, 1.0, 2),
    acl.mdl.set_aipp_csc_params(aipp, 2, *[0] * 15),
    acl.mdl.set_aipp_src_image_size(aipp, 400, 4),
    acl.mdl.set_input_aipp(model, inputs, index, aipp),
]
print("codes=" + json.dumps(codes))
print("why=" + json.dumps(acl.get_recent_err_msg()))
check(acl.mdl.destroy_aipp(aipp))
print("gone=" + json.dumps(acl.mdl.destroy_aipp(aipp)))
check(acl.finalize())
"""
)


def test_settings_of_the_program_prepare_each_batch(programs, models):
    folder = programs.folder()
    model = models.any_image(batch=2)
    models.save(model, folder / "net.onnx")
    conf = "aipp_op {\n aipp_mode: dynamic\n max_src_image_size: 1000\n}\n"
    (folder / "aipp.cfg").write_text(conf, encoding="utf-8")
    command = 'atc --model=net.onnx --input_shape="image:2,3,4,5" --insert_op_conf=aipp.cfg'
    (folder / "net.atc").write_text(command, encoding="utf-8")
    done = programs(DYNAMIC, folder=folder)
    assert done.printed("sizes") == [1000, 64 + 2 * 96]
    assert done.printed("type") == [[2, 1, 0], [3, 0xFFFFFFFF, 0]]
    assert done.printed("unset") == 145014
    assert done.printed("none") == [0, 100000, [64 + 3 * 96, 0]]
    raw = (np.arange(144) * 53 % 256).reshape(2, 4, 6, 3).astype(float)
    image = np.zeros((2, 3, 4, 5))
    for number in (0, 1):
        part = raw[number, number : number + 3, 1:5, ::-1]
        factor = np.array([0.25, 0.5, 0.5**number])
        image[number, :, 1:, :4] = ((part - [10.5, 20, 31]) * factor).transpose(2, 0, 1)
    result = np.array(done.printed("result"), np.float32)
    assert np.array_equal(result.reshape(2, 4, 4, 5), features(model, image))
    assert done.printed("codes") == [100000] * 4 + [500000, 100000, 145003] + [100000] * 8 + [0, 100000]
    assert "max_src_image_size" in done.printed("why")
    assert done.printed("gone") == 100000


def test_a_configuration_that_cannot_be_is_refused_with_the_model(programs, models):
    folder = programs.folder()
    models.save(models.any_image(), folder / "net.onnx")
    (folder / "aipp.cfg").write_text(CONF.replace("crop_size_w : 8", "crop_size_w : 12"), encoding="utf-8")
    (folder / "net.atc").write_text('--input_shape="image:1,3,5,8" --insert_op_conf=aipp.cfg', encoding="utf-8")
    program = (
        "import acl\nacl.init()\nacl.rt.set_device(0)\n"
        "print(acl.mdl.load_from_file('net.onnx'), acl.get_recent_err_msg())\n"
    )
    assert (
        "(0, 100014) net.atc: AIPP: the crop (2, 4, 12, 5) leaves the image" in programs(program, folder=folder).stdout
    )
