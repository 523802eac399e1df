"""The modules and names that the plugin adds to ``torch_npu`` (Ascend/pytorch, torch_npu/, September 2026)."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import importlib, json
import torch_npu
from torch_npu.utils import npu_combine_tensors
exported = {}
for name in ("optim", "utils", "utils.combine_tensors"):
    exported[name] = sorted(importlib.import_module(f"torch_npu.{name}").__all__)
same = npu_combine_tensors is importlib.import_module("torch_npu.utils.combine_tensors").npu_combine_tensors
print("exported=" + json.dumps(exported))
print("same=" + json.dumps(same))
"""
OPTIMIZERS = "Adadelta Adam AdamP AdamW BertAdam Lamb OptimizerBase RMSprop RMSpropTF SGD"
COMBINED = {"get_part_combined_tensor", "is_combined_tensor_valid", "npu_combine_tensors"}


def test_every_name_can_be_imported_from_its_module(scripts: Any) -> None:
    run = scripts(SCRIPT)
    exported = run.printed("exported")
    assert exported["optim"] == [f"NpuFused{name}" for name in OPTIMIZERS.split()]
    assert set(exported["utils.combine_tensors"]) == COMBINED
    assert set(exported["utils"]) > COMBINED
    assert run.printed("same") is True
