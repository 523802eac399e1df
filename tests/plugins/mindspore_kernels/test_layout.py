"""A MindSpore whose libraries are laid out otherwise: nothing is written, the part is off, and a line says so."""

from __future__ import annotations

from typing import Any

import pytest

BINDING = """
import attrs
from drynpu_mindspore_kernels import _binding as binding

"""
SCRIPT = """
import numpy as np
import mindspore as ms
from mindspore import Tensor, mint, ops

ms.set_device("Ascend")
x = Tensor(np.arange(4, dtype=np.float32).reshape(2, 2))
print("sum=%s" % ops.matmul(x, x).sum().item())
"""
OPERATORS, SORTED, REPAIRS = (
    "operators that only Ascend has",
    "gradients of sorted tensors in PyNative",
    "repairs of kernels of the CPU",
)
NARROW = "bf16 and fp16 are not added to kernels of the CPU that lack them"
USE_NARROW = "x.astype(ms.bfloat16)"


@pytest.mark.parametrize(
    ("change", "more", "lost"),
    [
        pytest.param("binding.MAP_COUNT = 5", "", OPERATORS, id="N11 count"),
        pytest.param("binding.PARENT, binding.LEFT = 2, 1", "", OPERATORS, id="N11 links"),
        pytest.param(
            "binding._INHERITED = {**binding._INHERITED, 12: binding._INHERITED[13]}", "", OPERATORS, id="N12 table"
        ),
        pytest.param("binding.NAME_AT = binding.PRIMITIVE_AT", "", OPERATORS, id="N12 name"),
        pytest.param(
            "from importlib.metadata import version\n"
            "places = binding.TensorPlaces(type_at=240, shape_at=256)\n"
            "binding.RELEASES = {version('mindspore'): binding.Release(tensor=places)}",
            "",
            OPERATORS,
            id="N12 tensor",
        ),
        pytest.param(
            "read = binding.read_kernel_table\n"
            "def read_another(kernel):\n"
            "    table = attrs.evolve(read(kernel), plain=range(25))\n"
            "    binding._INHERITED = {**binding._INHERITED, 12: binding._INHERITED[13]}\n"
            "    return table\n"
            "binding.read_kernel_table = read_another",
            "",
            REPAIRS,
            id="N13 table",
        ),
        pytest.param("binding.ATTRIBUTE_BYTES = 112", USE_NARROW, NARROW, id="N14 attribute"),
        pytest.param("binding.DATA_TYPE_BYTES = 16", USE_NARROW, NARROW, id="N14 type"),
        pytest.param("binding.COUNT = 6", "", SORTED, id="N15 count"),
        pytest.param("binding.FREEING = 10", "", SORTED, id="N15 function"),
    ],
)
def test_another_layout_is_found_before_anything_is_written(scripts: Any, change: str, more: str, lost: str) -> None:
    done = scripts.simulated(SCRIPT + more, before=BINDING + change)
    assert done.printed("sum") == 22.0
    (line,) = [line for line in done.stderr.splitlines() if lost in line]
    assert line.startswith("[drynpu] ")


SPLITTING = """
from pathlib import Path

import mindspore
from drynpu_mindspore_kernels import _binding as binding
from drynpu_mindspore_kernels.splitting import _target
from drynpu_mindspore_kernels.splitting._follow import Splitting

{change}
Splitting(Path(mindspore.__file__).parent, lambda: True).begin("semi_auto_parallel")
"""


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param("_target.import_place = lambda library, symbol: library._handle", "splits graphs", id="N7 slot"),
        pytest.param("_target.CPU = 'GPU'", "splits graphs", id="N8 option"),
        pytest.param("_target._PASS = _target.re.compile('_ZN9mindspore4prim')", "splits graphs", id="N9 code"),
        pytest.param(
            "from drynpu_mindspore_kernels.splitting import _groups\n_groups.COMM_MANAGER = 'MsCommManager'",
            "CommManager has another table",
            id="N10 class",
        ),
    ],
)
def test_graphs_are_not_split_where_the_layout_is_another_one(scripts: Any, change: str, error: str) -> None:
    done = scripts(SPLITTING.format(change=change), status=1)
    assert error in done.stderr.splitlines()[-1]


OFF = """
import numpy as np
import mindspore as ms
from mindspore import Tensor, ops
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

ms.set_device("Ascend")
x = Tensor(np.arange(4, dtype=np.float32).reshape(2, 2))
level = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(on_trace_ready=tensorboard_trace_handler("data"), experimental_config=level):
    print("sum=%s" % ops.matmul(x, x).sum().item())
"""


def test_without_the_plugin_scripts_run_and_one_line_says_what_is_lost(scripts: Any) -> None:
    done = scripts.simulated(OFF, environment={"DRYNPU_PLUGINS": "-mindspore_kernels"})
    assert done.printed("sum") == 22.0
    (line,) = [line for line in done.stderr.splitlines() if "runs without" in line]
    assert OPERATORS in line
    assert "the plugin 'mindspore_kernels' is off" in line
    (run,) = done.runs()
    kernels = (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").read_text(encoding="utf-8")
    assert "MatMulV2" in kernels
