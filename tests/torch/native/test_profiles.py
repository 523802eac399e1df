"""Profiles of the native device and of the sink agree, but for what only a device can know."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("profiled_training.py")
HOST_NUMBERS = {"aclnnInplaceNormal": 4, "aclnnInplaceRandom": 2}
"""Random numbers that the script draws on the host, in two steps: the sink takes them for work of the device."""


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    (found,) = folder.glob(f"*/ASCEND_PROFILER_OUTPUT/{name}")
    with found.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _kernels(folder: Path) -> Counter[str]:
    return Counter(row["Name"].split("_")[0] for row in _rows(folder, "kernel_details.csv"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    return {
        (device, form): tmp_path_factory.mktemp(f"{device}_{form}")
        for device in ("sink", "native")
        for form in ("loop", "foreach")
    }


@pytest.mark.parametrize("form", ["loop", "foreach"])
def test_kernels_agree_but_for_host_work(folders: dict[tuple[str, str], Path], form: str, run: Any) -> None:
    losses = {device: run(SCRIPT, str(folders[device, form]), form, device=device) for device in ("sink", "native")}
    assert losses["sink"] == losses["native"]
    sink, native = (_kernels(folders[device, form]) for device in ("sink", "native"))
    assert sink - native == HOST_NUMBERS
    assert not native - sink
    assert native["aclnnAddmm"] == native["aclnnFlashAttentionScore"] == 2
    assert ("ForeachSqrt" in native) == (form == "foreach")


def test_copies_cross_in_their_direction(folders: dict[tuple[str, str], Path]) -> None:
    rows = _rows(folders["native", "loop"], "operator_details.csv")
    names = Counter(row["Name"] for row in rows)
    # In each of two steps three tensors to the device, the loss to the host twice, and one that a convolution's
    # gradient makes on the device.
    tasks = Counter(row["kernel_type"] for row in _rows(folders["native", "loop"], "task_time.csv"))
    assert tasks["MEMCPY_ASYNC"] == 2 * (3 + 2 + 1)
    assert not [name for name in names if name.startswith("drynpu")]


def test_only_memory_of_the_device_counts(folders: dict[tuple[str, str], Path]) -> None:
    def peak(device: str) -> float:
        rows = _rows(folders[device, "loop"], "memory_record.csv")
        return max(float(row["Total Allocated(MB)"] or 0) for row in rows)

    # The sink counts the host's batches and the scratch of the CPU's kernels, too.
    assert 0 < peak("native") < peak("sink")


STREAMS = """
import json, sys, torch, torch_npu
stream, ready, done = torch.Stream(device="npu"), torch.Event("npu"), torch.Event("npu")
x = torch.randn(64, 64, device="npu")
handler = torch_npu.profiler.tensorboard_trace_handler(sys.argv[1])
with torch_npu.profiler.profile(on_trace_ready=handler):
    product = x @ x
    ready.record()
    with stream:
        ready.wait(stream)
        positive = product.relu()
    done.record(stream)
    done.synchronize()
print(json.dumps(stream.stream_id))
"""


def test_plain_streams_order_the_simulated_device(tmp_path: Path, run: Any) -> None:
    assert run(STREAMS, str(tmp_path)) > 0
    stream = {row["kernel_name"]: row["stream_id"] for row in _rows(tmp_path, "task_time.csv")}
    assert stream["aclnnMm_MatMulCommon_MatMulV2"] != stream["aclnnRelu_Relu_Relu"]
