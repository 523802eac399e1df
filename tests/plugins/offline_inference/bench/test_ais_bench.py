"""The benchmark's command line and its sessions, as instructions of the vendor's model zoo use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper


def values(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights(model: Any) -> dict[str, np.ndarray]:
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def perceptron(model: Any, x: np.ndarray) -> np.ndarray:
    w = weights(model)
    logits = np.maximum(x @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"]
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def bench(folder: Path, *arguments: str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_", "AIT_"))}
    done = subprocess.run(
        [sys.executable, "-m", "ais_bench", *arguments],
        cwd=folder,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done


SERIES = """
import json, sys
from ais_bench.infer.benchmark_process import main

for line in json.loads(open("commands").read()):
    print("next:", flush=True)
    try:
        main(line)
    except RuntimeError as error:
        print("refused:", error, flush=True)
"""


def benches(programs: Any, folder: Path, *commands: tuple[str, ...]) -> list[str]:
    """Return the output of several commands, run in one process."""
    (folder / "commands").write_text(json.dumps(commands))
    return programs(SERIES, folder=folder).stdout.split("next:\n")[1:]


def throughput(stdout: str) -> float:
    (line,) = [line for line in stdout.splitlines() if line.startswith("[INFO] throughput 1000*batchsize.mean(")]
    return float(line.split()[-1])


def test_files_make_up_a_batch_and_results_are_split_among_them(programs: Any, models: Any) -> None:
    folder = programs.folder()
    (folder / "data").mkdir()
    for number in range(6):  # one and a half batches, in the order of numbers and not of texts
        values((1, 16), number).tofile(folder / "data" / f"x_{number + 5}.bin")
    done = bench(
        folder,
        *("--model", "mlp.om", "--input", "data", "--output", "out", "--output_dirname", "first", "--outfmt", "NPY"),
        *("--loop", "3", "--display_all_summary", "1", "--batchsize", "4"),
    )
    lines = done.stdout.splitlines()
    assert "[INFO] get filesperbatch files0 size:64 tensor0size:256 filesperbatch:4 runcount:2" in lines
    assert "[INFO] warm up 1 done" in lines
    for number in range(6):
        saved = np.load(folder / "out" / "first" / f"x_{number + 5}_0.npy")
        np.testing.assert_allclose(saved, perceptron(models.mlp(), values((1, 16), number)), rtol=1e-5)
    summary = json.loads((folder / "out" / "first_summary.json").read_text())
    assert list(summary["filesinfo"]) == [str(number) for number in range(6)]
    assert summary["filesinfo"]["5"] == {"infiles": ["data/x_10.bin"], "outfiles": ["out/first/x_10_0.npy"]}
    times = summary["npu_compute_time_list"]
    assert len(times) == 6, "two batches, three turns each"
    stated = summary["NPU_compute_time"]
    for name, expected in (
        ("min", min(times)),
        ("max", max(times)),
        ("mean", sum(times) / 6),
        ("median", np.median(times)),
        ("percentile(99%)", np.percentile(times, 99)),
        ("count", 6),
    ):
        assert stated[name] == pytest.approx(expected)
    assert summary["throughput"] == pytest.approx(1000 * 4 / (sum(times) / 6)) == throughput(done.stdout)
    assert summary["H2D_latency"]["count"] == summary["D2H_latency"]["count"] == 2
    assert sum(line.startswith(("[INFO] H2D_latency (ms): min = ", "[INFO] D2H_latency (ms)")) for line in lines) == 2
    assert "times of runs and copies are modelled (Ascend910B2), not measured" in done.stderr


@pytest.mark.slow
def test_shapes_are_chosen_on_the_command_line(programs: Any, models: Any) -> None:
    folder = programs.folder()
    for name, model, line in (
        ("gear", models.mlp(batch=-1), '--input_shape="x:-1,16" --dynamic_batch_size="1,4,8"'),
        ("image", models.any_image(), '--input_shape="image:1,3,-1,-1" --dynamic_image_size="16,16;32,24"'),
        ("masked", models.masked(), '--input_shape="x:-1,-1,8;mask:-1,-1,1" --dynamic_dims="1,4,1,4;2,8,2,8"'),
        ("free", models.masked(), ""),
    ):
        models.save(model, folder / f"{name}.onnx")
        if line:
            (folder / f"{name}.atc").write_text(f"atc {line}")
    chosen = benches(
        programs,
        folder,
        ("--model", "gear.om", "--dymBatch", "8", "--pure_data_type", "random"),
        ("--model", "image.om", "--dymHW", "32,24", "--run_mode", "tensor"),
        ("--model", "masked.om", "--dymDims", "x:2,8,8;mask:2,8,1"),
        ("--model", "dynamic.onnx"),
    )
    for said, batch in zip(chosen, (8, 1, 2), strict=False):
        assert f"[INFO] try get model batchsize:{batch}" in said
        assert throughput(said) > 0
    assert "refused: dynamic batch om model detected, but dymbatch, dymdims or dymshape not set!" in chosen[3]
    ranged = bench(
        folder, "--model", "free.om", "--dymShape_range", "x:1~2,8,8;mask:1-2,8,1", "--outputSize", "9999"
    ).stdout
    assert "run_count:4 success_count:3 avg_throughput:" in ranged
    assert "3 dymshape:x:1,8,8;mask:2,8,1  result:Failed throughput:0" in ranged, "the mask is not broadcast back"
    for number, rows in enumerate((1, 3)):
        np.save(folder / f"x{number}.npy", values((rows, 4, 8), number))
        np.save(folder / f"mask{number}.npy", values((rows, 4, 1), 9))
    files = "x0.npy,x1.npy,mask0.npy,mask1.npy"
    shaped = ("--model", "free.om", "--input", files, "--auto_set_dymshape_mode", "1", "--outputSize", "9999")
    shaped += ("--output", "out", "--outfmt", "NPY", "--output_dirname")
    rows_then_pipeline = benches(
        programs, folder, (*shaped, "rows"), (*shaped, "pipeline", "--pipeline", "1", "--threads", "2")
    )
    for name, said in zip(("rows", "pipeline"), rows_then_pipeline, strict=True):
        assert "throughput 1000*batchsize.mean(2.0)/NPU_compute_time.mean(" in said, "of one row and three"
        for number, rows in enumerate((1, 3)):
            expected = (values((rows, 4, 8), number) * values((rows, 4, 1), 9)) @ weights(models.masked())["w"]
            np.testing.assert_allclose(np.load(folder / f"out/{name}/x{number}_0.npy"), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_a_profiled_benchmark_leaves_what_msprof_leaves(programs: Any) -> None:
    folder = programs.folder()
    done = bench(folder, "--model", "conv.onnx", "--output", "out", "--profiler", "1", "--loop", "2")
    assert throughput(done.stdout) > 0
    (summary,) = folder.glob("out/profiler/PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    mark = summary.parents[1].name.rpartition("_")[2]
    assert summary.name.endswith(f"_conv_{mark}.csv"), "results are named by the model and the directory"
    assert summary.read_text().count("Conv2D") == 4
    plain = bench(folder, "--model", "conv.onnx", "--output", "other", "--profiler", "1", AIT_NO_MSPROF_MODE="1")
    (summary,) = folder.glob("other/profiler/PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    assert summary.read_text().count("Conv2D") == 4, "one run to warm up, one that counts"
    assert "msprof cmd" not in plain.stdout
    assert "dump is not simulated" in bench(folder, "--model", "mlp.om", "--output", "out", "--dump", "1").stderr


@pytest.mark.slow
def test_several_devices_share_the_inputs(programs: Any, models: Any) -> None:
    folder = programs.folder()
    for number in range(3):
        np.save(folder / f"x{number}.npy", values((4, 16), number))
    done = bench(
        folder,
        *("--model", "mlp.om", "--device", "0,1", "--input", "x0.npy,x1.npy,x2.npy", "--divide_input", "1"),
        *("--output", "out", "--output_dirname", "all", "--outfmt", "NPY"),
    )
    assert sorted(path.name for path in folder.glob("out/all/device0_0/*.npy")) == ["x0_0.npy"]
    assert sorted(path.name for path in folder.glob("out/all/device1_1/*.npy")) == ["x1_0.npy", "x2_0.npy"]
    saved = np.load(folder / "out/all/device1_1/x2_0.npy")
    np.testing.assert_allclose(saved, perceptron(models.mlp(), values((4, 16), 2)), rtol=1e-5)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("[INFO] summary throughput:")]
    parts = [float(each.split("throughput:")[1]) for each in done.stdout.splitlines() if "device_" in each]
    assert float(line.rpartition(":")[2]) == pytest.approx(sum(parts))


SESSIONS = """
import json
import numpy as np
import torch
from ais_bench.infer.interface import InferSession, MemorySummary, MultiDeviceSession
from ais_bench.infer.summary import summary

def values(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)

def show(name, value):
    print(name + "=" + json.dumps(value))

def refusal(call, *arguments):
    try:
        call(*arguments)
    except RuntimeError as error:
        return str(error)

if __name__ == "__main__":
    mlp = InferSession(0, "mlp.om")
    x = values((4, 16))
    tensor = mlp.create_tensor_from_arrays_to_device(x)
    show("static", [mlp.infer(each)[0].tolist() for each in ([x], [torch.tensor(x)], [tensor], [x.T.copy().T])])
    show("piped", [row[0].tolist() for row in mlp.infer_pipeline([[values((4, 16), seed)] for seed in range(3)])])
    summary.npu_compute_time_list = mlp.summary().exec_time_list
    summary.h2d_latency_list = MemorySummary.get_H2D_time_list()
    summary.report(4, output_prefix=None, display_all_summary=True)
    free = InferSession(0, "free.om")
    pair = [values((3, 5, 8)), values((3, 5, 1), 1)]
    show("free", free.infer(pair, "dymshape", [9999])[0].tolist())
    show("free_piped", free.infer_pipeline([pair, pair], "dymshape", 9999)[1][0].tolist())
    step = InferSession(0, "step.om")
    pair = [values((2, 4)), np.zeros((2, 4), np.float32)]
    show("iterated", step.infer_iteration(pair, [-1, 0], 4)[0].tolist())
    show("refused", [
        refusal(mlp.infer, [x], "dymbatch"), refusal(mlp.infer, [x], "dymhw"), refusal(mlp.infer, [x], "any"),
        refusal(mlp.infer, ["x"]), refusal(mlp.infer, [x, x], "dymdims"),
        refusal(free.infer, pair, "dymshape", "10"), refusal(step.infer_iteration, pair, [0], 2),
    ])
    several = MultiDeviceSession("mlp.om")
    outputs = several.infer({0: [[x]], 1: [[x], [values((4, 16), 1)]]})
    show("several", [outputs[1][1][0].tolist(), len(outputs[0]), sorted(map(len, several.summary.values()))])
    mlp.free_resource()
    InferSession.finalize()
"""


@pytest.mark.slow
def test_sessions_take_arrays_and_choose_shapes_by_them(programs: Any, models: Any) -> None:
    pytest.importorskip("torch")
    folder = programs.folder()
    models.save(models.masked(), folder / "free.onnx")
    models.save(models.step(), folder / "step.om")
    ran = programs(SESSIONS, folder=folder)
    for output in ran.printed("static"):
        np.testing.assert_allclose(output, perceptron(models.mlp(), values((4, 16))), rtol=1e-5)
    for seed, output in enumerate(ran.printed("piped")):
        np.testing.assert_allclose(output, perceptron(models.mlp(), values((4, 16), seed)), rtol=1e-5)
    assert throughput(ran.stdout) > 0
    masked = (values((3, 5, 8)) * values((3, 5, 1), 1)) @ weights(models.masked())["w"]
    np.testing.assert_allclose(ran.printed("free"), masked, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ran.printed("free_piped"), masked, rtol=1e-4, atol=1e-6)
    state = np.zeros((2, 4), np.float32)
    for _ in range(4):
        state = state @ weights(models.step())["w"] + values((2, 4))
    np.testing.assert_allclose(ran.printed("iterated"), state, rtol=1e-4, atol=1e-5)
    for text, part in zip(
        ran.printed("refused"),
        (
            "not a dymbatch model!",
            "not a dymhw model!",
            "wrong infer_mode:any, only support static, dymbatch, dymhw, dymdims, dymshape",
            "invalid; allowed: numpy.ndarray, torch.Tensor, aclruntime.Tensor",
            "the model has 1 inputs, 2 came",
            "custom_sizes:10 type:",
            "in_out_list has 1 numbers, the model 2 inputs",
        ),
        strict=True,
    ):
        assert part in text
    second, count, lengths = ran.printed("several")
    np.testing.assert_allclose(second, perceptron(models.mlp(), values((4, 16), 1)), rtol=1e-5)
    assert (count, lengths) == (1, [1, 2])


REFUSED = """
import sys
from ais_bench.infer.benchmark_process import main

for line in open("lines"):
    try:
        main(line.split())
    except (RuntimeError, SystemExit) as error:
        print("refused:", error, flush=True)
        print("refused:", error, file=sys.stderr, flush=True)
"""
LINES = {
    "--model none.om": "om path:none.om is illegal. Please check; needed: the file, or none.onnx beside it",
    "--model mlp.om --loop 0": "0 is an invalid positive int value",
    "--model mlp.om --device 0,300": "device:0,300 is invalid. valid value range is [0, 255]",
    "--model mlp.om --dymShape x:1*2": "is not a legal string: it has '*'",
    "--model mlp.om --input none": "input path:none is illegal",
    "--model mlp.om --debug maybe": "Boolean value expected",
    "--model mlp.om --aipp_config mlp.om": "needed is a .config file",
    "--model mlp.om --profiler 1": "when dump or profiler, miss output path: add --output DIR",
    "--model mlp.om --profiler 1 --dump 1 --output o": "cannot be true at the same time as parameter --dump",
    "--model mlp.om --output_dirname o": "parameter --output_dirname cann't be used alone: add --output DIR",
    "--model mlp.om --perf 1": "--perf is not simulated: TensorRT is no part of drynpu; leave it out",
    "--model mlp.om --energy_consumption 1": "--energy_consumption is not simulated: npu-smi",
    "--model mlp.om --input short.bin": "arg0 tensorsize: 256 filesize: 100 not match",
    "--model mlp.om --input short.bin --pipeline 1": "tensor_num:0 tensorsize:256 filesize:100 not match",
    "--model mlp.om --run_mode files": "--run_mode files does not support pure_infer_data",
    "--model mlp.om --acl_json_path lines": "can't read acl_json_path:lines",
    "--model mlp.om --input empty": "not find valid file,valid file format:[*.npy *.NPY *.bin *.BIN]",
}


def test_what_cannot_be_is_refused_with_what_is_allowed(programs: Any) -> None:
    folder = programs.folder()
    (folder / "lines").write_text("\n".join(LINES))
    (folder / "short.bin").write_bytes(bytes(100))
    (folder / "empty").mkdir()
    ran = programs(REFUSED, folder=folder)
    said = ran.stdout + ran.stderr
    assert ran.stdout.count("refused:") == len(LINES)
    for part in LINES.values():
        assert part in said, part


@pytest.mark.slow
def test_settings_of_images_come_from_a_file(programs: Any, models: Any) -> None:
    folder = programs.folder()
    models.save(models.any_image(), folder / "net.onnx")
    (folder / "aipp.cfg").write_text("aipp_op {\n aipp_mode: dynamic\n max_src_image_size: 1000\n}\n")
    (folder / "net.atc").write_text('atc --input_shape="image:1,3,4,5" --insert_op_conf=aipp.cfg')
    good = (
        "[aipp_op]\ninput_format : RGB888_U8\nsrc_image_size_w : 6\nsrc_image_size_h : 4\ncrop : 1\ncrop_size_w : 5\n"
    )
    (folder / "good.config").write_text(good + "crop_size_h : 4\nmean_chn_0 : 10\nvar_reci_chn_0 : 1\n")
    (folder / "wide.config").write_text(good + "crop_size_h : 5000\n")
    (folder / "lack.config").write_text("[aipp_op]\ninput_format : RGB888_U8\n")
    model = ("--model", "net.om")
    good, wide, lack, none = benches(
        programs, folder, *((*model, "--aipp_config", f"{name}.config") for name in ("good", "wide", "lack")), model
    )
    assert throughput(good) > 0
    assert "[ERROR] aipp_config: crop_size_h 5000 is not allowed; allowed: 1 to 4096" in wide
    assert "[ERROR] aipp_config: lack.config lacks src_image_size_w, src_image_size_h" in lack
    assert "add --aipp_config X.config" in none
