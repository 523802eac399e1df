"""``torchair``, which comes with torch_npu: its backend runs graphs operator by operator, converters are kept."""

from __future__ import annotations

from typing import Any

import pytest

SCRIPT = """
import warnings
import torch, torch_npu
import torchair
from torchair import ge, register_fx_node_ge_converter
from torchair.configs.compiler_config import CompilerConfig
from torchair.core.utils import logger
assert logger is torchair.logger
from torchair.ge import DataType, Tensor, TensorSpec, attr

@register_fx_node_ge_converter(torch.ops.aten.add.Tensor)
def convert(x: Tensor, y: Tensor, meta_outputs: TensorSpec = None):
    return ge.custom_op("Add", inputs={"x": x, "y": y}, attrs={"n": attr.Int(3)}, outputs=["z"])

config = CompilerConfig()
config.mode = "reduce-overhead"
config.experimental_config.frozen_parameter = True
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    backend = torchair.get_npu_backend(compiler_config=config)
print("warned", [str(w.message).partition(":")[0] for w in caught])
model = torch.compile(lambda x: torchair.scope.npu_wait_tensor(x * 2 + 1, x), backend=backend, fullgraph=True)
print("result", model(torch.tensor([1.5, -2.0]).npu()).tolist())
print("types", DataType.DT_FLOAT, DataType.DT_BF16, DataType.DT_INT64, attr.Int(3).value)
for code in ("convert(None, None)", "setattr(config, 'mode', 'fast')", "torchair.dynamo_export(None)"):
    try:
        eval(code)
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_graph_runs_operator_by_operator(scripts: Any) -> None:
    lines = scripts(SCRIPT).stdout.splitlines()
    assert "warned ['the simulated npu does not model fused graphs']" in lines
    assert "result [4.0, -3.0]" in lines
    assert "types 0 27 9 3" in lines  # GE's public enumeration
    refusals = [line for line in lines if "Error" in line]
    assert refusals[0].startswith("NotImplementedError torchair.ge.custom_op('Add') makes a node")
    assert refusals[1].startswith("ValueError Value 'fast' (type: <class 'str'>) not in optional list")
    assert refusals[2].startswith("NotImplementedError torchair.dynamo_export exists in torch_npu")
