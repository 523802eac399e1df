"""The example of pyACL inference that profiles itself."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "acl" / "profile_inference.py"
REFUSED = "acl.prof.init failed with 100003"
"""A directory that cannot be made is a wrong argument (pyacl_prof.md 4); the example checks what calls return."""


def main() -> object:
    """Run the inference, long enough that runs are saved meanwhile; return nothing that could differ."""
    sys.argv = [str(EXAMPLE), "--output", "out", "--runs", "300"]
    # As Python does for a script that is run by itself: it imports the module beside it.
    sys.path.insert(0, str(EXAMPLE.parent))
    try:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    except SystemExit as ending:
        if ending.code != REFUSED:
            raise
    return "done"
