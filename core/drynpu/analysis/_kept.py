"""Results that a profile keeps, because several deliverables are made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from drynpu.tables import Profile

T = TypeVar("T")


def once_per_profile(compute: Callable[[Profile], T]) -> Callable[[Profile], T]:
    """Return *compute* with its result kept by the profile: a second call with the same profile returns the first's."""

    @functools.wraps(compute)
    def kept(profile: Profile) -> T:
        result: T = profile.keep(compute.__qualname__, lambda: compute(profile))
        return result

    return kept
