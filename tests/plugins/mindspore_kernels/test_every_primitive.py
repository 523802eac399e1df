"""Every primitive that something computes here has a rule: MindSpore's list of its kernels says which there are."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import ctypes
import json
from pathlib import Path

import mindspore

from drynpu_mindspore_kernels.compositions import COMPOSITIONS
from drynpu_mindspore_kernels.compositions._factory import find_factory
from drynpu_mindspore.rules import RULES

libraries = Path(mindspore.__file__).parent / "lib"
for name in ("libmindspore_core.so", "plugin/libmindspore_ops_cpu.so"):
    ctypes.CDLL(str(libraries / name))
own = find_factory(ctypes.CDLL(str(libraries / "libmindspore_hardware_abstract.so"))).names()
print("count=" + json.dumps(len({*own, *COMPOSITIONS})))
print("without=" + json.dumps(sorted({*own, *COMPOSITIONS} - set(RULES))))
"""


def test_every_primitive_that_is_computed_has_a_rule(scripts: Any) -> None:
    done = scripts(SCRIPT)
    assert done.printed("count") > 1000
    assert done.printed("without") == []
