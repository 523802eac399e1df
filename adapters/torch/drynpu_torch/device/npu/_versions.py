"""The numbers that torch_npu gives to chips (its NpuVariables.h), which scripts compare."""

from __future__ import annotations

from typing import Final

from drynpu_torch.device._state import state

_SERIES: Final = {
    100: "Ascend910PremiumA Ascend910ProA Ascend910A Ascend910ProB Ascend910B",
    200: "Ascend310P1 Ascend310P2 Ascend310P3 Ascend310P4 Ascend310P5 Ascend310P7",
    220: "Ascend910B1 Ascend910B2 Ascend910B2C Ascend910B3 Ascend910B4 Ascend910B4-1",
    240: "Ascend310B1 Ascend310B2 Ascend310B3 Ascend310B4",
    250: "Ascend910_9391 Ascend910_9392 Ascend910_9381 Ascend910_9382 Ascend910_9372 Ascend910_9362 Ascend910_9363",
}
"""Names of chips by the number of the first; the others follow it."""
_NUMBERS: Final = {
    name: first + place for first, names in _SERIES.items() for place, name in enumerate(names.split())
} | {
    # Names of drynpu's chips that stand for a series take the number of its most common member.
    "Ascend910": 102,
    "Ascend910_93": 250,
}
_LATEST: Final = ("Ascend950", 260)
"""How the names of the latest series begin, and the number of all of them."""


def get_soc_version() -> int:
    """
    Return the number of the simulated chip: 221 for an Ascend910B2, 220 and more for A2, 250 and more for A3.

    Raises RuntimeError in the vendor's words for a chip that torch_npu does not support.
    """
    name = state().chip.name
    if name.startswith(_LATEST[0]):
        return _LATEST[1]
    if name not in _NUMBERS:
        raise RuntimeError(f"Unsupported soc version: {name.replace('_', ' ')}")
    return _NUMBERS[name]
