"""
A rank that ``torchrun`` starts in a run on virtual time: it waits for its first turn, then is the script.

    python -m drynpu_virtual_time.rank SOCKET [-m] SCRIPT ARGUMENTS
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from drynpu_virtual_time.start import go_on


def main() -> None:
    """Run the script, or the module behind ``-m``, as Python does."""
    descriptor, *words = sys.argv[1:]
    go_on(int(descriptor))
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = words
    sys.path[0] = str(Path(words[0]).absolute().parent)
    runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
