"""The release of CANN that is simulated, and whether it is late enough."""

from __future__ import annotations

import re

from drynpu import cann_release

_MODULES = ("CANN", "RUNTIME", "COMPILER", "HCCL", "TOOLKIT", "OPP", "OPP_KERNEL", "DRIVER")


def get_cann_version(module: str = "CANN") -> str:
    """
    Return the release of CANN that is simulated, e.g. ``9.0.0``.

    *module* is one of CANN's parts, which all have that release. Of the driver nothing is known: the text is empty,
    as it is for a part that is not installed.
    """
    return cann_release() if module in _MODULES and module != "DRIVER" else ""


def is_gte_cann_version(version: str, module: str = "CANN") -> bool:
    """Whether a part of CANN has the release *version* or a later one; a part without a release has not."""
    found = get_cann_version(module)
    return bool(found) and _numbers(found) >= _numbers(version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
