"""How the profiling calls behave where releases differ."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import field, frozen

from drynpu import ChipError, say_once
from drynpu.options import Settings
from drynpu.platforms import DEFAULT_CHIP, Chip, load_chip
from drynpu.recorder import load_chosen_chip

_VERSION, _COMPAT = "DRYNPU_ACL_VERSION", "DRYNPU_ACL_COMPAT"
_DEFAULT_VERSION = (9, 0)
_DEFERRED = (9, 1)
"""The first release of CANN whose ``start`` needs no ``init``."""


@frozen(kw_only=True)
class AclSettings:
    """
    The settings of the simulator and of this adapter.

    Attributes
    ----------
    version:
        Release of CANN whose call-order rules hold: 9.1 and later start without ``init`` (pyacl_prof.md 5).
    source_rules:
        A second ``start`` compares masks only, as the public source does; else devices that are being profiled are
        refused, as the documents say.
    """

    shared: Settings = field(factory=Settings)
    chip: Chip
    version: tuple[int, int] = _DEFAULT_VERSION
    source_rules: bool = False

    @property
    def deferred(self) -> bool:
        """Whether ``start`` needs no ``init`` and makes the directory."""
        return self.version >= _DEFERRED

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> AclSettings:
        """
        Read ``DRYNPU_ACL_VERSION``, ``DRYNPU_ACL_COMPAT`` and the simulator's own variables.

        This happens when a script imports acl, so a bad value is named in a line and its default serves.
        """
        shared = Settings.from_environ(environ)
        version = environ.get(_VERSION, "").strip() or "9.0"
        release = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(\..*)?", version, re.ASCII)
        compat = environ.get(_COMPAT, "").strip().casefold() or "documented"
        if release is None:
            say_once(
                f"{_VERSION}: {version!r} is not allowed; allowed: a release of CANN such as 9.0 or 9.1. "
                "The default is used instead."
            )
        if compat not in ("documented", "source"):
            say_once(f"{_COMPAT}: {compat!r} is not allowed; allowed: documented, source. The default is used instead.")
        return cls(
            shared=shared,
            chip=_known_chip(shared),
            version=_DEFAULT_VERSION if release is None else (int(release[1]), int(release[2])),
            source_rules=compat == "source",
        )


def _known_chip(settings: Settings) -> Chip:
    try:
        return load_chosen_chip(settings)
    except ChipError as error:
        say_once(f"{error} {DEFAULT_CHIP} is used instead.")
        return load_chip(DEFAULT_CHIP)
