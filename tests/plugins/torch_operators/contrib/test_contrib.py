"""Functions and modules of ``torch_npu.contrib``, in a script that uses them as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu_torch.extension import find_build

SCRIPT = Path(__file__).with_name("contrib_script.py")


@pytest.mark.one_of(2)
@pytest.mark.parametrize("device", ["sink", "native"])
def test_modules_and_functions_compute_the_plain_formulas(device: str) -> None:
    if device == "native" and not find_build().done:
        pytest.skip("the native device is not built")
    environment = os.environ | {"DRYNPU_DEVICE": device, "DRYNPU_QUIET": "1", "KINETO_LOG_LEVEL": "99"}
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    names = done.stdout.split()
    assert len(names) == len(set(names)) == 45, names
