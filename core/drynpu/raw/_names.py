"""The name of a ``PROF_XXX`` directory (cann_msprof.md 2.1)."""

from __future__ import annotations

import random
from datetime import datetime

_RANDOM_LETTERS = "ABCDEFGHIJKLMNOPQR"


def prof_directory_name(index: int, pid: int, now: datetime, rng: random.Random) -> str:
    """
    Return a name after the rule of cann_msprof.md 2.1.

    Parameters
    ----------
    index:
        How many directories this process made before, from 0.
    pid:
        Process id: its last eight digits, zero-padded, become the letters ``A`` (0) to ``J`` (9).
    now:
        Local time of the start; a time with a zone is turned into local time.
    rng:
        Source of the eight random letters ``A`` to ``R``.
    """
    local = now if now.tzinfo is None else now.astimezone()
    stamp = f"{local:%Y%m%d%H%M%S}{local.microsecond // 1000:03d}"
    pid_letters = "".join(chr(ord("A") + int(digit)) for digit in f"{pid:08d}"[-8:])
    tail = "".join(rng.choice(_RANDOM_LETTERS) for _ in range(8))
    return f"PROF_{index % 999999 + 1:06d}_{stamp}_{pid_letters}{tail}"
