"""
Run the analysis of a checkout of Ascend/pytorch on one result directory, without torch_npu.

    python torch_npu_analysis.py CHECKOUT DIRECTORY

What torch_npu's package itself would import (its compiled layer above all) stays out: the modules of the analysis are
found in packages that only name their folders.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

PACKAGES = ("", "utils", "_init", "_init.common", "profiler", "_C")
NO_UID = 0


def place_packages(checkout: Path) -> None:
    """Put packages into ``sys.modules`` that name the folders of the checkout and run nothing."""
    for name in PACKAGES:
        module = ModuleType(".".join(filter(None, ("torch_npu", name))))
        module.__path__ = [str(checkout.joinpath("torch_npu", *name.split(".")))]
        sys.modules[module.__name__] = module
    compiled, helpers = ModuleType("torch_npu._C._profiler"), ModuleType("torch_npu.utils.utils")
    vars(compiled)["_get_host_uid"] = lambda: NO_UID
    vars(helpers)["_is_interactive_command_line"] = lambda: False
    sys.modules |= {module.__name__: module for module in (compiled, helpers)}


def main() -> None:
    """Rebuild ASCEND_PROFILER_OUTPUT in the forms that the recording asked for."""
    checkout, directory = sys.argv[1:]
    place_packages(Path(checkout))
    from torch_npu.profiler.analysis._npu_profiler import NpuProfiler

    NpuProfiler.analyse(directory)


if __name__ == "__main__":
    main()
