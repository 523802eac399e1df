"""What the plugin adds to the facade ``torch_npu``."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import torch_npu
import torch_npu.contrib.function
import torch_npu.contrib.module
import torch_npu.dynamo

print(torch_npu.contrib.ROIAlign is torch_npu.contrib.module.ROIAlign, torch_npu.contrib.function.npu_iou)
print("npu_iou" in torch_npu.contrib.__all__, torch_npu.dynamo.torchair.__name__)
print(torch_npu.npu_swiglu is torch_npu._operator_names.npu_swiglu, torch_npu.int4)
for owner, name in ((torch_npu, "npu_nothing"), (torch_npu.contrib, "nothing")):
    try:
        getattr(owner, name)
    except AttributeError as error:
        print(error)
"""


def test_its_modules_and_names_join_the_packages(scripts: Any) -> None:
    first, *lines = scripts(SCRIPT).stdout.splitlines()
    assert first.startswith("True <function npu_iou at ")
    assert lines == [
        "True torch_npu.dynamo.torchair",
        "True 285",
        "torch_npu.npu_nothing exists in torch_npu, but drynpu does not provide it yet",
        "module 'torch_npu.contrib' has no attribute 'nothing'",
    ]
