"""``torch_npu.utils`` and the tensor functions of ``torch_npu``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from drynpu import TOOLKIT_VARIABLES, cann_release, toolkit_folder
from drynpu_torch import services
from drynpu_torch.install import install


@pytest.fixture(autouse=True)
def _device() -> None:
    install()


def test_the_release_of_cann_is_the_one_in_the_toolkits_folder() -> None:
    notes = list(toolkit_folder().glob("*/ascend_toolkit_install.info"))
    assert {note.parent.name for note in notes} == {"x86_64-linux", "aarch64-linux"}
    assert all(f"\nversion={cann_release()}\n" in note.read_text() for note in notes)
    assert torch.version.cann == cann_release() == services.get_cann_version()
    assert services.get_cann_version("HCCL") == cann_release()
    assert services.get_cann_version("DRIVER") == ""
    assert TOOLKIT_VARIABLES == ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")


def test_the_environment_is_described() -> None:
    text = services.describe_environment()
    assert f"CANN: {cann_release()} (simulated)" in text
    assert f"PyTorch version: {torch.__version__}" in text


def test_operations_are_recorded_and_those_of_a_pause_traversed() -> None:
    a, b = torch.ones(3, 4).to("npu"), torch.ones(4, 5).to("npu")
    with services.FlopsCounter() as counter:
        a @ b
        counter.pause()
        a @ b
        counter.resume()
        a @ b
        assert counter.get_flops() == [2 * 120, 3 * 120]
    a @ b
    assert counter.get_flops() == [240, 360]
    counter.stop()
    assert counter.get_flops() == [0, 0]


def test_a_file_is_written_while_the_values_change(tmp_path: Path) -> None:
    values = torch.ones(3).to("npu")
    services.save_async({"values": values}, tmp_path / "saved.pt", model=None)
    values.zero_()
    for _ in range(200):
        if (tmp_path / "saved.pt").exists() and (tmp_path / "saved.pt").stat().st_size:
            break
        torch.ones(1 << 16).sum()
    assert torch.load(tmp_path / "saved.pt", map_location="cpu")["values"].tolist() == [1.0] * 3


def test_a_thread_runs_on_the_cores_that_are_given() -> None:
    before = os.sched_getaffinity(0)
    first = min(before)
    try:
        services.set_thread_affinity([first, first])
        assert os.sched_getaffinity(0) == {first}
    finally:
        services.reset_thread_affinity()
    assert os.sched_getaffinity(0) == before
    with pytest.raises(ValueError, match="Invalid core range"):
        services.set_thread_affinity([3, 1])


def test_formats_and_memory() -> None:
    assert (services.Format.FRACTAL_NZ, services.Format.ND, services.Format(0).name) == (29, 2, "NCHW")
    with pytest.warns(UserWarning, match="Cannot create tensor with internal format while allow_internal_format=False"):
        private = services.empty_with_format((2, 3), dtype=torch.int8, acl_format=29)
    assert (private.shape, private.dtype) == ((2, 3), torch.int8)
    with pytest.raises(ValueError, match="99 is not a valid Format"):
        services.empty_with_format((2,), acl_format=99)
    target = torch.zeros(2).to("npu")
    assert services.copy_memory_(target, torch.ones(2).to("npu")) is target
    assert target.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="should have same dtype"):
        services.copy_memory_(target, torch.ones(2).half())


def test_names_that_trainings_import(tmp_path: Path) -> None:
    script = tmp_path / "names.py"
    script.write_text(
        """import torch, torch_npu
from torch_npu.utils import register_asd_hook
from torch_npu.utils.asd_detector import set_asd_loss_scale
from torch_npu.utils.flops_count import FlopsCounter
x = torch.ones(2, requires_grad=True)
print(register_asd_hook(x, x), x._backward_hooks, set_asd_loss_scale(2.0), FlopsCounter is torch_npu.utils.FlopsCounter)
print(torch_npu.npu.get_soc_version(), torch.qint8 in torch_npu.unsupported_dtype)
"""
    )
    environment = os.environ | {"DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99", "DRYNPU_CHIP": "Ascend910B2"}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.splitlines() == ["None None None True", "221 True"], done.stderr
