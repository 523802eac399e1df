"""Scripts that run models through ``aclruntime``, as the vendor's ``ais_bench`` and many samples do."""

from __future__ import annotations

import csv
import itertools
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

HEAD = """
import json, sys
import numpy as np
import aclruntime

def show(name, value):
    print(name + "=" + json.dumps(value))

def refusal(call, *arguments):
    try:
        call(*arguments)
    except (RuntimeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"

def session(path, **options):
    settings = aclruntime.session_options()
    for name, value in options.items():
        setattr(settings, name, value)
    return aclruntime.InferenceSession(path, 0, settings)

def values(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)

kept = []  # an address keeps no array alive

def base(array):
    kept.append(array)
    return aclruntime.BaseTensor(array.__array_interface__["data"][0], array.nbytes)

def results(outputs):
    for each in outputs:
        each.to_host()
    return [np.array(each).tolist() for each in outputs]
"""


def values(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights(model: Any) -> dict[str, np.ndarray]:
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def perceptron(model: Any, x: np.ndarray) -> np.ndarray:
    w = weights(model)
    logits = np.maximum(x @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


STATIC = """
mlp = session("mlp.om")
inputs, outputs = mlp.get_inputs(), mlp.get_outputs()
show("described", [[d.name, d.datatype.name, d.format, d.shape, d.size, d.realsize] for d in inputs + outputs])
x = values((4, 16))
tensor = aclruntime.Tensor(x)
show("host", [str(tensor), tensor.type is aclruntime.memory_host, int(tensor.dtype), tensor.shape, tensor.device])
tensor.to_device(0)
show("device", [tensor.type is aclruntime.memory_device, tensor.device])
show("on_device", refusal(np.array, tensor))
show("ran", [
    results(mlp.run(["y"], [tensor])),
    results(mlp.run(["y"], {"x": tensor})),
    results(mlp.run(["y"], [base(x)])),
    results(mlp.run(["y"], [aclruntime.Tensor(x)])),
])
show("runs", mlp.sumary().exec_time_list)
mlp.reset_sumaryinfo()
mlp.options().loop = 3
mlp.run(["y"], [base(x)])
show("looped", len(mlp.sumary().exec_time_list))
copies = aclruntime.MemorySummary()
show("copies", [copies.H2D_time_list, copies.D2H_time_list])
copies.reset()
show("forgotten", [copies.H2D_time_list, aclruntime.MemorySummary().D2H_time_list])
show("refused", [
    refusal(mlp.run, ["y"], []), refusal(mlp.run, ["z"], [base(x)]), refusal(mlp.run, ["y"], [base(x[:2])]),
    refusal(mlp.run, ["y"], {"z": tensor}), refusal(mlp.run, ["y"], [x]),
    refusal(aclruntime.InferenceSession, "mlp.om", 99, aclruntime.session_options()),
    refusal(session, "none.om"), refusal(tensor.to_device, 99), refusal(aclruntime.Tensor, np.array(["text"])),
    refusal(mlp.set_dynamic_batchsize, 2), refusal(mlp.inner_run, [-1], ["y"], True, True),
])
print(mlp)
mlp.free_resource()
show("freed", refusal(mlp.run, ["y"], [base(x)]))
aclruntime.InferenceSession.finalize()
again = aclruntime.model("mlp.om")
show("again", results(again.run(["y"], [base(x)])))
"""


@pytest.fixture(scope="module")
def static_run(programs: Any) -> Any:
    return programs(HEAD + STATIC)


def test_a_static_model_runs_with_tensors_arrays_and_names(static_run: Any, models: Any) -> None:
    ran = static_run
    expected = perceptron(models.mlp(), values((4, 16)))
    assert ran.printed("described") == [
        ["x", "float32", 2, [4, 16], 256, 256],
        ["y", "float32", 2, [4, 8], 128, 128],
    ]
    assert ran.printed("host") == ["<Tensor>\nshape:\t(4, 16)\ndtype:\tfloat32\ndevice:\t-1", True, 0, [4, 16], -1]
    assert ran.printed("device") == [True, 0]
    assert "RuntimeError: tensor is in npu. can't convert to numpy array" in ran.printed("on_device")
    for outputs in [*ran.printed("ran"), ran.printed("again")]:
        np.testing.assert_allclose(outputs[0], expected, rtol=1e-5)
    assert "#0    x  (4, 16)  float32  256  256" in ran.stdout
    assert ran.printed("looped") == 3
    assert "loop inference exec: (3/3)" in ran.stdout
    assert ran.printed("forgotten") == [[], []]


def test_times_are_modelled_and_say_so(static_run: Any, programs: Any) -> None:
    ran = static_run
    pairs = ran.printed("runs")
    assert len(pairs) == 4
    lengths = [end - start for start, end in pairs]
    # Four small kernels: the host launches the model and waits, which takes tens of microseconds.
    assert all(0.005 < each < 0.2 for each in lengths)
    assert max(lengths) < 1.2 * min(lengths)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(pairs))
    to_device, to_host = ran.printed("copies")
    assert len(to_device) == 4, "a tensor, memory twice and a tensor on the host"
    assert len(to_host) == 4
    assert all(0 < each < 0.2 for each in to_device + to_host)
    assert ran.stderr.count("times of runs and copies are modelled (Ascend910B2), not measured") == 1
    wall = programs(HEAD + STATIC, environment={"DRYNPU_CLOCK": "wall"})
    assert "times of runs and copies are measured on this CPU (DRYNPU_CLOCK=wall)" in wall.stderr


def test_what_does_not_fit_is_refused_with_the_value_and_what_is_allowed(static_run: Any) -> None:
    ran = static_run
    expected = [
        "RuntimeError: [-1][ACL: general failure] the model has 1 inputs, 0 came",
        "RuntimeError: [-1][ACL: general failure] outnames z not valid; allowed: y",
        "RuntimeError: [-1][ACL: general failure] Check i:0 name:x in size:128 needsize:256 not match",
        "RuntimeError: [-1][ACL: general failure] intensors size:1 need size:1 not match; allowed: x",
        "TypeError: input x is a ndarray; allowed: aclruntime.Tensor, BaseTensor",
        "RuntimeError: [107001][Error code unknown] acl open device 99 failed; devices are 0 to 7 (DRYNPU_DEVICES)",
        "RuntimeError: [1][ACL: invalid parameter] load model from file failed, model file is none.om: no model file",
        "RuntimeError: [1004][Invalid parameter] deviceId(99) is bigger than deviceCount(8)",
        "TypeError: aclruntime.Tensor: <U4 is not allowed; allowed: bool, float16,",
        "RuntimeError: [1][ACL: invalid parameter] the dynamic_batch_size parameter is not specified for model",
        "RuntimeError: [-1][ACL: general failure] inner_run: there is no last run; call first_inner_run before",
    ]
    for text, begin in zip(ran.printed("refused"), expected, strict=True):
        assert str(text).startswith(begin), text
    assert "SetContext failed: device 0 is not set or context" in ran.printed("freed")
    assert "[ERROR] Check i:0 name:x in size:128 needsize:256 not match" in ran.stdout


CHOICES = """
gear, image, dims, free = (session(name + ".om") for name in ("gear", "image", "masked", "free"))
show("sizes", [[d.size for d in each.get_inputs()] for each in (gear, image, dims, free)])
show("largest", gear.get_max_dym_batchsize())
found = []
for batch in (1, 4, 8):
    gear.set_dynamic_batchsize(batch)
    found.append([gear.get_inputs()[0].realsize, *results(gear.run(["y"], [base(values((batch, 16)))]))])
show("batches", found)
found = []
for height, width in ((16, 16), (32, 24)):
    image.set_dynamic_hw(height, width)
    found.append(results(image.run(["features"], [base(values((1, 3, height, width)))])))
show("images", found)
found = []
for n, s in ((1, 4), (2, 8)):
    x, mask = values((n, s, 8)), values((n, s, 1), 1)
    dims.set_dynamic_dims(f"x:{n},{s},8;mask:{n},{s},1")
    free.set_dynamic_shape(f"x:{n},{s},8;mask:{n},{s},1")
    free.set_custom_outsize([10000])
    found.append([results(each.run(["y"], [base(x), base(mask)]))[0] for each in (dims, free)])
show("dims", found)
free.set_custom_outsize([])
gear.set_staticbatch()
pair = [base(values((1, 1, 8))), base(values((1, 1, 1)))]
show("refused", [
    refusal(gear.set_dynamic_batchsize, 3), refusal(image.set_dynamic_hw, 24, 32),
    refusal(dims.set_dynamic_dims, "x:1,5,8;mask:1,5,1"), refusal(free.set_dynamic_shape, "x:1,5,8"),
    refusal(free.set_dynamic_shape, "x:1,5,8;m:1,5,1"), refusal(free.set_dynamic_shape, "x 1,5,8;mask:1,5,1"),
    refusal(free.run, ["y"], [base(x), base(mask)]), refusal(gear.run, ["y"], [base(values((8, 16)))]),
])
chosen = aclruntime.session_options()
opened = session("open.om")
opened.set_dynamic_batchsize(5)
show("open", results(opened.run(["y"], [base(values((5, 16)))])))
"""


def test_batch_image_dims_and_shape_are_chosen(programs: Any, models: Any) -> None:
    torch = pytest.importorskip("torch")
    folder = programs.folder()
    for name, model, line in (
        ("gear", models.mlp(batch=-1), '--input_shape="x:-1,16" --dynamic_batch_size="1,4,8"'),
        ("open", models.mlp(batch="n"), ""),
        ("image", models.any_image(), '--input_shape="image:1,3,-1,-1" --dynamic_image_size="16,16;32,24"'),
        ("masked", models.masked(), '--input_shape="x:-1,-1,8;mask:-1,-1,1" --dynamic_dims="1,4,1,4;2,8,2,8"'),
        ("free", models.masked(), ""),
    ):
        models.save(model, folder / f"{name}.onnx")
        if line:
            (folder / f"{name}.atc").write_text(f"atc {line}")
    ran = programs(HEAD + CHOICES, folder=folder)
    assert ran.printed("sizes") == [[512], [9216], [512, 64], [0, 0]]
    assert ran.printed("largest") == 8
    for batch, (size, output) in zip((1, 4, 8), ran.printed("batches"), strict=True):
        assert size == batch * 64
        np.testing.assert_allclose(output, perceptron(models.mlp(batch="n"), values((batch, 16))), rtol=1e-5)
    kernel = torch.tensor(weights(models.any_image())["k"])
    for size, (output,) in zip(((16, 16), (32, 24)), ran.printed("images"), strict=True):
        expected = torch.nn.functional.conv2d(torch.tensor(values((1, 3, *size))), kernel, padding=1).relu()
        np.testing.assert_allclose(output, expected.numpy(), atol=1e-5)
    for (n, s), outputs in zip(((1, 4), (2, 8)), ran.printed("dims"), strict=True):
        expected = (values((n, s, 8)) * values((n, s, 1), 1)) @ weights(models.masked())["w"]
        for output in outputs:
            np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ran.printed("open")[0], perceptron(models.mlp(batch="n"), values((5, 16))), rtol=1e-5)
    refused = ran.printed("refused")
    for text, part in zip(
        refused,
        (
            "batch 3 is not allowed; the model was converted for --dynamic_batch_size=1,4,8",
            "image size 24,32 is not allowed; the model was converted for --dynamic_image_size=16,16;32,24",
            "dims 1,5,8,1,5,1 of all inputs is not allowed; the model was converted for --dynamic_dims=1,4,8,1,4,1",
            "om has 2 input, but dymShape parametet give 1",
            "please check input name: x, m is not allowed; allowed: x, mask",
            "shape 'x 1,5,8' is not allowed; write name:1,3,224,224;other:1,5",
            "[3011][Infer: find outputsize is zero please check outputsize is set correct] out i:0 size is zero",
            "gear: no gear was chosen for the data set",
        ),
        strict=True,
    ):
        assert part in text


ITERATED = """
from pathlib import Path
step = session("step.om")
x, zero = values((2, 4)), np.zeros((2, 4), np.float32)
found = []
for copy in (True, False):
    step.first_inner_run(["y"], [base(x), base(zero)])
    step.inner_run([-1, 0], ["y"], False, copy)
    found.append(results(step.inner_run([-1, 0], ["y"], True, copy))[0])
show("iterated", found)
show("relation", [refusal(step.inner_run, wrong, ["y"], True, True) for wrong in ([0], [-1, 3])])
pairs = [[base(values((2, 4), seed)), base(zero)] for seed in range(5)]
show("piped", [[np.array(each).tolist() for each in row] for row in step.run_pipeline(["y"], pairs, [], False, False)])
for seed in range(3):
    np.save(f"x{seed}.npy", values((2, 4), seed))
zero.tofile("zero.bin")
options = aclruntime.infer_options()
for form in ("NPY", "BIN", "TXT"):
    Path(form).mkdir()
    options.output_dir, options.out_format = form, form
    other = session("step.om")
    step.run_pipeline([[f"x{seed}.npy", "zero.bin"] for seed in range(3)], options, [other])
show("files", sorted(str(path) for form in ("NPY", "BIN", "TXT") for path in Path(form).iterdir()))
show("saved", [np.load("NPY/x1_0.npy").tolist(), np.fromfile("BIN/x1_0.bin", np.float32).reshape(2, 4).tolist(),
               np.loadtxt("TXT/x1_0.txt").tolist()])
show("counted", len(step.sumary().exec_time_list))
options.pure_infer_mode = True
step.run_pipeline([["pure_infer_data_zero", "pure_infer_data_random"]], options, [])
show("refused", [refusal(step.run_pipeline, [["none.npy", "zero.bin"]], options, []),
                 refusal(step.run_pipeline, [["x0.npy", "zero.bin"]], options, [step]),
                 refusal(step.run_pipeline, [["zero.bin", "x0.npy", "x0.npy"]], options, []),
                 refusal(step.run_pipeline)])
values((1, 4)).tofile("half.bin")
joined = step.create_tensor_from_fileslist(step.get_inputs()[0], ["half.bin", "half.bin"])
joined.to_host()
show("joined", np.array(joined).tolist())
show("missing", refusal(step.create_tensor_from_fileslist, step.get_inputs()[0], ["none.bin"]))
two = [aclruntime.Tensor(values((2, 4), seed)) for seed in range(2)]
show("batch", [aclruntime.batch(two).shape, aclruntime.batch(two, True).shape, refusal(aclruntime.batch, [])])
show("joined_batch", np.array(aclruntime.batch(inputs=two, keep_dims=True)).tolist())
"""


@pytest.mark.slow
def test_results_become_inputs_and_files_run_in_a_pipeline(programs: Any, models: Any) -> None:
    folder = programs.folder()
    models.save(models.step(), folder / "step.om")
    ran = programs(HEAD + ITERATED, folder=folder)
    weight = weights(models.step())["w"]
    state = np.zeros((2, 4), np.float32)
    for _ in range(3):
        state = state @ weight + values((2, 4))
    for output in ran.printed("iterated"):
        np.testing.assert_allclose(output, state, rtol=1e-4, atol=1e-5)
    assert "wrong inOutRelation size" in ran.printed("relation")[0]
    assert "output 3 is not allowed; allowed: -1 to 0" in ran.printed("relation")[1]
    for seed, (output,) in enumerate(ran.printed("piped")):
        np.testing.assert_allclose(output, values((2, 4), seed), atol=1e-6)
    names = [f"{form}/x{seed}_0.{form.lower()}" for form in ("BIN", "NPY", "TXT") for seed in range(3)]
    assert ran.printed("files") == names
    for saved, tolerance in zip(ran.printed("saved"), (1e-6, 1e-6, 1e-4), strict=True):
        np.testing.assert_allclose(saved, values((2, 4), 1), atol=tolerance)
    assert ran.printed("counted") == 6 + 5 + 9, "the runs of the other sessions as well"
    missing, shared, many, nothing = ran.printed("refused")
    assert "Unable to open file none.npy" in missing
    assert "cannot have session in same context" in shared
    assert "3 files for 2 inputs" in many
    assert "run_pipeline takes (files, infer_options, other sessions)" in nothing
    np.testing.assert_allclose(ran.printed("joined"), np.repeat(values((1, 4)), 2, 0), atol=1e-6)
    assert "open file none.bin failed" in ran.printed("missing")
    assert ran.printed("batch")[:2] == [[2, 2, 4], [4, 4]]
    assert "tensors have to be alike: none" in ran.printed("batch")[2]
    np.testing.assert_allclose(
        ran.printed("joined_batch"), np.concatenate([values((2, 4), 0), values((2, 4), 1)]), atol=1e-6
    )


RECORDED = """
conv = session("conv.onnx", acl_json_path="acl.json", log_level=1)
x = values((1, 3, 16, 16))
for _ in range(3):
    results(conv.run(["scores"], [base(x)]))
show("runs", conv.sumary().exec_time_list)
copies = aclruntime.MemorySummary()
show("copies", [copies.H2D_time_list, copies.D2H_time_list])
conv.free_resource()
aclruntime.InferenceSession.finalize()
"""


def test_a_recording_sees_the_kernels_and_the_times_of_the_summary(programs: Any) -> None:
    folder = programs.folder()
    (folder / "acl.json").write_text(
        '{"profiler": {"switch": "on", "output": "prof", "aicpu": "on"}, "dump": {"a": 1}}'
    )
    (folder / "prof").mkdir()
    ran = programs(HEAD + RECORDED, folder=folder)
    (results,) = folder.glob("prof/PROF_*/mindstudio_profiler_output")
    (summary,) = results.glob("op_summary_*.csv")
    with summary.open(newline="") as file:
        kinds = [row["OP Type"] for row in csv.DictReader(file)]
    assert kinds.count("Conv2D") == 6
    (statistic,) = results.glob("api_statistic_*.csv")
    with statistic.open(newline="") as file:
        calls = {row["API Name"]: row for row in csv.DictReader(file)}
    assert int(calls["aclmdlExecute"]["Count"]) == 3
    recorded_us = float(calls["aclmdlExecute"]["Avg(us)"])
    summed_us = [1000 * (end - start) for start, end in ran.printed("runs")]
    assert np.mean(summed_us) == pytest.approx(recorded_us, rel=0.1)
    copied_us = [1000 * each for side in ran.printed("copies") for each in side]
    assert int(calls["aclrtMemcpy"]["Count"]) == len(copied_us) == 6
    assert ran.stdout.count("[DEBUG] model aclExec cost : 0.0") == 3
    assert "dump is not simulated: no tensors of operators are written" in ran.stderr


IMAGES = """
net = session("net.om")
show("described", [[d.name, d.shape, d.size] for d in net.get_inputs()])
show("count", [net.get_dym_aipp_input_exist(), session("mlp.om").get_dym_aipp_input_exist()])
raw = (np.arange(1000) * 53 % 256).astype(np.uint8)
unset = refusal(net.run, ["features"], [base(raw)])
net.aipp_set_input_format("RGB888_U8")
net.aipp_set_src_image_size([6, 4])
net.aipp_set_max_batch_size(2)
net.aipp_set_rbuv_swap_switch(1)
net.aipp_set_ax_swap_switch(0)
net.aipp_set_csc_params([0] * 16)
net.aipp_set_crop_params([1, 1, 0, 5, 4])
net.aipp_set_padding_params([0] * 5)
net.aipp_set_dtc_pixel_mean([10, 20, 30, 0])
net.aipp_set_dtc_pixel_min([0.5, 0.0, 1.0, 0.0])
net.aipp_set_pixel_var_reci([0.25, 0.5, 1.0, 1.0])
net.set_dym_aipp_info_set()
net.check_dym_aipp_input_exist()
show("features", results(net.run(["features"], [base(raw)])))
net.aipp_set_src_image_size([1, 4])
small = refusal(net.set_dym_aipp_info_set)
net.aipp_set_input_format("RGB")
plain = session("mlp.om")
show("refused", [unset, small, refusal(net.set_dym_aipp_info_set), refusal(plain.check_dym_aipp_input_exist)])
"""


@pytest.mark.slow
def test_settings_of_images_are_given_before_runs(programs: Any, models: Any) -> None:
    torch = pytest.importorskip("torch")
    folder = programs.folder()
    model = models.any_image(batch=2)
    models.save(model, folder / "net.onnx")
    (folder / "aipp.cfg").write_text("aipp_op {\n aipp_mode: dynamic\n max_src_image_size: 1000\n}\n")
    (folder / "net.atc").write_text('atc --input_shape="image:2,3,4,5" --insert_op_conf=aipp.cfg')
    ran = programs(HEAD + IMAGES, folder=folder)
    assert ran.printed("described") == [["image", [2, 3, 4, 5], 1000]]
    assert ran.printed("count") == [1, 0]
    raw = (np.arange(144) * 53 % 256).reshape(2, 4, 6, 3).astype(np.float32)
    image = ((raw[:, :, 1:6, ::-1] - [10.5, 20, 31]) * [0.25, 0.5, 1.0]).transpose(0, 3, 1, 2).astype(np.float32)
    kernel = torch.tensor(weights(model)["k"])
    expected = torch.nn.functional.conv2d(torch.tensor(image), kernel, padding=1).relu()
    np.testing.assert_allclose(ran.printed("features")[0], expected.numpy(), rtol=1e-4, atol=1e-3)
    unset, small, form, none = ran.printed("refused")
    assert "acl.mdl.set_input_aipp was not called" in unset
    assert "AIPP: src_image_size 1, 4 is out of range" in small
    assert "AIPP: input_format 'RGB' is not allowed; allowed: YUV420SP_U8, XRGB8888_U8, RGB888_U8, YUV400_U8" in form
    assert "the model has no dynamic aipp input" in none
