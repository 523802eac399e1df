"""What to ask the profiler for, where a page has nothing to show."""

from __future__ import annotations

from collections.abc import Iterator

from drynpu.options import option_spellings
from drynpu.tables import Profile
from drynpu.views.content import EMPTY, Note

_SURFACES = {"torch": "torch_npu.profiler", "mindspore": "mindspore.profiler"}


def how_to_record(profile: Profile, missing: str, *paths: str) -> Note:
    """
    Return the note for what a profile does not hold.

    Parameters
    ----------
    missing:
        A sentence that says what there is not.
    paths:
        Options of the neutral model that record it; they are named as the profiler spells them that left the profile.
    """
    names = " and ".join(_names(profile, paths))
    return Note(f"{missing} It is recorded with {names}." if names else missing, EMPTY)


def _names(profile: Profile, paths: tuple[str, ...]) -> Iterator[str]:
    by_framework = profile.framework_path is not None or profile.source == "results"
    for path in paths:
        spelt = option_spellings(path)
        framework = spelt.get(profile.product, ()) if by_framework else ()
        if framework:
            yield f"{framework[0]} of {_SURFACES.get(profile.product, profile.product)}"
        else:
            flags = [f"--{name}" for name in spelt["msprof"]]
            keys = [f"{name} of acl.json or profiling_options" for name in spelt["json"]]
            yield " or ".join([*(f"{flag} of msprof" for flag in flags[:1]), *keys[:1]])
