"""Every method of ``InferSession``, the times of copies, the log and several devices, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

SCRIPT = Path(__file__).with_name("session_calls.py")
CAMERA = """[aipp_op]
input_format : RGB888_U8
src_image_size_w : 8
src_image_size_h : 6
crop : 1
load_start_pos_w : 2
load_start_pos_h : 1
crop_size_w : 5
crop_size_h : 4
mean_chn_1 : 20
min_chn_2 : 0.5
var_reci_chn_0 : 0.25
var_reci_chn_1 : 1
var_reci_chn_2 : 2
"""


def values(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weight(model: Any) -> np.ndarray:
    (found,) = model.graph.initializer
    return numpy_helper.to_array(found)


def step(models: Any, x: np.ndarray, state: np.ndarray, times: int = 1) -> np.ndarray:
    for _ in range(times):
        state = x + state @ weight(models.step())
    return state


@pytest.fixture(scope="module")
def run(programs: Any, models: Any) -> Any:
    folder = programs.folder()
    models.save(models.step(), folder / "step.om")
    models.save(models.masked(), folder / "free.om")
    camera = models.copies(image=("float32", [2, 3, 4, 5]))
    image = models.copies(image=("float32", [1, 3, "h", "w"]))
    for name, model, line in (
        ("gear", models.masked(), '--input_shape="x:-1,4,8;mask:-1,4,1" --dynamic_batch_size="2,3"'),
        ("image", image, '--input_shape="image:1,3,-1,-1" --dynamic_image_size="4,6;8,2"'),
        ("dims", models.masked(), '--input_shape="x:-1,-1,8;mask:-1,-1,1" --dynamic_dims="1,4,1,4;2,8,2,8"'),
        ("camera", camera, '--input_shape="image:2,3,4,5" --insert_op_conf=aipp.cfg'),
    ):
        models.save(model, folder / f"{name}.onnx")
        (folder / f"{name}.atc").write_text(f"atc {line}")
    (folder / "aipp.cfg").write_text("aipp_op {\n aipp_mode: dynamic\n max_src_image_size: 300\n}\n")
    (folder / "camera.config").write_text(CAMERA)
    (folder / "out").mkdir()
    return programs(SCRIPT, folder=folder)


def test_runs_take_arrays_tensors_and_files(run: Any, models: Any) -> None:
    assert run.printed("described") == [["x", [2, 4], 32], ["state", [2, 4], 32], ["y", [2, 4], 32]]
    there, early, here = run.printed("host")
    assert (there, here) == ("memory_device", "memory_host")
    assert "tensor is in npu. can't convert to numpy array" in early
    assert run.printed("device") == [["memory_device", 0]] * 2
    assert len(run.printed("runs")) == 4
    for found in run.printed("runs"):
        np.testing.assert_allclose(found, step(models, values((2, 4)), values((2, 4), 1)), rtol=1e-5, atol=1e-6)


def test_runs_and_copies_are_counted_and_forgotten(run: Any) -> None:
    # Four runs so far; then a run of three turns and one of one.
    assert run.printed("counts") == [[4, 0, True], [4, 0, True]]
    assert run.printed("copies") == [True, True, [2, 1]]


def test_results_become_states(run: Any, models: Any) -> None:
    assert run.printed("nothing") == [[], None]
    expected = step(models, values((2, 4)), values((2, 4), 1), 3)
    for found in (run.printed("states"), run.printed("several")):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_files_run_in_a_pipeline_that_two_sessions_share(run: Any, models: Any) -> None:
    assert run.printed("shared") == [4, 2], "the first session counts the runs of both"
    for seed in range(4):
        found = np.load(run.folder / "out" / f"x{seed}_0.npy")
        np.testing.assert_allclose(
            found, step(models, values((2, 4), seed), values((2, 4), seed + 10)), rtol=1e-5, atol=1e-6
        )
    zeros = (run.folder / "out" / "pure_infer_data_zero_0.bin").read_bytes()
    assert zeros == bytes(32), "four bytes for each number"


def test_batch_dims_shape_and_image_are_chosen(run: Any, models: Any) -> None:
    assert run.printed("largest") == [3, 0]
    sizes = ((2, 4), (3, 4), (2, 8), (1, 4), (3, 5), (2, 6))
    for (n, s), found in zip(sizes, run.printed("choices"), strict=True):
        expected = (values((n, s, 8)) * values((n, s, 1), 1)) @ weight(models.masked())
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    static, small, batch = run.printed("refused")
    assert "gear: no gear was chosen for the data set" in static
    assert "output y: 240 bytes are needed" in small, "239 were given"
    assert "batch 4 is not allowed; the model was converted for --dynamic_batch_size=2,3" in batch
    for (height, width), image in zip(((4, 6), (8, 2)), run.printed("images"), strict=True):
        np.testing.assert_array_equal(np.array(image, np.float32), values((1, 3, height, width)))


def test_settings_of_images_come_from_a_file(run: Any) -> None:
    assert run.printed("camera") == [1, 0]
    code, image = run.printed("prepared")
    pixels = (np.arange(288) * 53 % 256).reshape(2, 6, 8, 3)[:, 1:5, 2:7].transpose(0, 3, 1, 2)
    shift, factor = (np.array(each).reshape(3, 1, 1) for each in ([0, 20, 0.5], [0.25, 1, 2]))
    assert code == 0
    np.testing.assert_array_equal(image, (pixels - shift) * factor)
    unchecked, plain = run.printed("unprepared")
    assert "acl.mdl.set_input_aipp was not called" in unchecked
    assert "the model has no dynamic aipp input" in plain
    assert "rbuv_swap_switch 2 is not allowed; allowed: 0 to 1" in run.printed("switch")


def test_the_log_names_devices_and_errors(run: Any, models: Any) -> None:
    np.testing.assert_allclose(
        run.printed("piped"), step(models, values((2, 4)), values((2, 4), 1)), rtol=1e-5, atol=1e-6
    )
    lines = [line for line in run.stdout.splitlines() if ", start_time:" in line]
    assert [line.partition(",")[0] for line in lines] == ["[INFO] device 1", "[INFO] device 0"], "none from ERROR on"
    assert "[ERROR] wrong infer_mode:dynamic, only support static" in run.stdout


def test_sessions_end_alone_and_with_the_library(run: Any) -> None:
    freed, alive, finalized, moved = run.printed("end")
    assert alive == np.zeros((2, 4)).tolist()
    for text in (freed, finalized):
        assert "SetContext failed: device 0 is not set or context" in text
    assert "make an InferenceSession first" in moved
