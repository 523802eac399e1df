"""Errors of the native device have the vendor's words and codes."""

from __future__ import annotations

from typing import Any

RANGE = (
    "EE1001: Set device failed, invalid device, set device=8, valid device range is [0, 8). "
    "DRYNPU_DEVICES sets how many devices there are."
)
SCRIPT = """
import json, torch, torch_npu

def raised(function):
    try:
        function()
    except Exception as error:
        first, second, *rest = str(error).splitlines()
        return [type(error).__name__, first, second.rpartition(") ")[2], *map(str.strip, rest)]

x = torch.ones(2, device="npu")
print(json.dumps([
    raised(lambda: torch.zeros(1, device="npu:8")),
    raised(lambda: torch.npu.set_device(8)),
    raised(lambda: torch.npu.get_device_name(8)),
]))
"""


def test_errors_have_the_vendors_words_and_codes(run: Any) -> None:
    made, selected, named = run(SCRIPT)
    assert (
        made
        == selected
        == [
            "RuntimeError",
            "ExchangeDevice:drynpu NPU function error: c10_npu::SetDevice(device), error code is 107001",
            "ERR00100 PTA call acl api failed",
            "[Error]: Invalid device ID.",
            "Check whether the device ID is valid.",
            RANGE,
        ]
    )
    assert (named[0], named[2:]) == ("AssertionError", ["ERR00003 PTA invalid value"])


def test_sparse_tensors_need_values(run: Any) -> None:
    """A sparse tensor has as many elements as values say, so a run that computes none has none."""
    script = """
import json, torch, torch_npu

try:
    indices = torch.zeros(1, 400000, dtype=torch.int64, device="npu")
    torch.sparse_coo_tensor(indices, torch.ones(400000, device="npu"), (5,)).coalesce()
except NotImplementedError as error:
    print(json.dumps(str(error)))
"""
    text = run(script, DRYNPU_COMPUTE="0")
    assert "for tensors of layout Sparse without values (DRYNPU_COMPUTE=0)." in text
    assert "ERR01007 OPS feature not supported" in text
