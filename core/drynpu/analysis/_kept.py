"""Results that a profile keeps, because several deliverables are made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar, cast

import polars as pl

from drynpu.tables import Profile

T = TypeVar("T")


def once_per_profile(compute: Callable[[Profile], T]) -> Callable[[Profile], T]:
    """Return *compute* with its result kept by the profile: a second call with the same profile returns the first's."""

    @functools.wraps(compute)
    def kept(profile: Profile) -> T:
        result: T = profile.keep(compute.__qualname__, lambda: compute(profile))
        return result

    return kept


F = TypeVar("F", bound=Callable[..., pl.DataFrame])


def stated_first(compute: F) -> F:
    """
    Return *compute* for profiles of raw data; of one read from results, what these state under its name.

    *compute* takes the profile first.
    """

    @functools.wraps(compute)
    def stated(profile: Profile, *arguments: object) -> pl.DataFrame:
        known = profile.results or {}
        return known[compute.__name__] if compute.__name__ in known else compute(profile, *arguments)

    return cast(F, stated)
