"""The environment is checked as torch_npu does when a device is set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import torch, torch_npu
try:
    torch.npu.set_device(0)
    print("set")
except RuntimeError as error:
    print(str(error).replace("\\n", " "))
"""


@pytest.mark.one_of(7)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"dump": {}, "defaultDevice": {"default_device": "0"}}', "set"),
        ("not a json{{{", "Failed to parse user acl json"),
        ("", "Failed to parse user acl json"),
        ('{"dump": {}}', "lacks 'defaultDevice' object, required for lazy set_device mode."),
        ('{"defaultDevice": "none"}', "lacks 'defaultDevice' object, required for lazy set_device mode."),
        ('{"defaultDevice": {"default_device": "1"}}', "requires 'defaultDevice.default_device' to be \"0\""),
        (None, "is invalid. Please set the environment variable 'TORCH_ACL_INIT_CONFIG_PATH'"),
    ],
)
def test_the_file_that_configures_acl(scripts: Any, tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "acl.json"
    if text is not None:
        path.write_text(text)
    ended = scripts(SCRIPT, environment={"TORCH_ACL_INIT_CONFIG_PATH": str(path)})
    assert said in ended.stdout.splitlines()[-1]


@pytest.mark.slow
def test_an_unknown_mode_of_operators(scripts: Any) -> None:
    ended = scripts(SCRIPT, environment={"ACL_OP_INIT_MODE": "999"})
    assert "Get env ACL_OP_INIT_MODE not in [0, 1, 2], so reset it to the default value 0." in ended.stderr
