"""The example of pyACL inference that profiles itself."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "acl" / "profile_inference.py"


def main() -> object:
    """Run the inference; return nothing that could differ."""
    sys.argv = [str(EXAMPLE), "--output", "out"]
    # As Python does for a script that is run by itself: it imports the module beside it.
    sys.path.insert(0, str(EXAMPLE.parent))
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    return "done"
