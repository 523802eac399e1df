"""
The parts of vLLM-Ascend compute a decoder layer on the NPU as formulas do on the CPU.

The caller names both folders, ``make test-packages VLLM=DIR VLLM_ASCEND=DIR``; docs/packages.md says how to make them.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

HALF = 8e-3
"""Of results of size 5: float16 in every part, single precision in the formulas."""


def test_a_decoder_layer_has_the_results_of_its_formulas(plain: Any, simulated: Any) -> None:
    folders = [os.environ.get(name) for name in ("VLLM", "VLLM_ASCEND")]
    if not all(folders):
        pytest.skip("VLLM or VLLM_ASCEND is not set: make test-packages VLLM=DIR VLLM_ASCEND=DIR (docs/packages.md)")
    path = os.pathsep.join(map(str, folders))
    cpu = plain("vllm_decoder.py")
    npu = simulated("vllm_decoder.py", PYTHONPATH=path, VLLM_PLUGINS="")
    assert (cpu.result["device"], npu.result["device"]) == ("cpu", "npu")
    for name, count in (("prompts", 8 * 64), ("following", 2 * 64)):
        assert len(cpu.result[name]) == count
        assert npu.result[name] == pytest.approx(cpu.result[name], abs=HALF)
    assert len(npu.profiles) == 1
    assert npu.unmapped == {}
    parts = {"RmsNorm", "RopeWithSinCosCache", "ScatterPaKvCache", "FusedInferAttentionScore", "AddRmsNorm", "SwiGlu"}
    assert parts <= npu.kernel_types
