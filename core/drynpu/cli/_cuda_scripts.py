"""What to say about a script that ends because there is no CUDA."""

from __future__ import annotations

import linecache
import os
import sys
import traceback

from drynpu import say

_LINES = 3
"""Lines before the one at which a script ended that may have asked for CUDA: a test, a message."""


def hint_at_transfer(error: BaseException) -> None:
    """Name ``TORCH_TRANSFER_TO_NPU`` where a script ends at a line or with a message about CUDA."""
    if "torch" not in sys.modules or os.environ.get("TORCH_TRANSFER_TO_NPU") == "1" or "cuda" not in _last_words(error):
        return
    say("no CUDA here: TORCH_TRANSFER_TO_NPU=1 runs a script for CUDA on the NPU, as transfer_to_npu does in a script")


def _last_words(error: BaseException) -> str:
    """Return the message of an error and the last lines of each file that it passed, in lower case."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [
        linecache.getline(frame.filename, number)
        for frame in frames[-1:]
        for number in range(max((frame.lineno or 1) - _LINES, 1), (frame.lineno or 1) + 1)
    ]
    return " ".join([str(error), *lines]).lower()
