"""How the profiling calls behave where releases differ."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import field, frozen

from drynpu import OptionError
from drynpu.options import Settings
from drynpu.platforms import Chip
from drynpu.recorder import load_chosen_chip

_VERSION, _COMPAT = "DRYNPU_ACL_VERSION", "DRYNPU_ACL_COMPAT"
_DEFERRED = (9, 1)
"""The first release of CANN whose ``start`` needs no ``init``."""


@frozen(kw_only=True)
class AclSettings:
    """
    The settings of the simulator and those of this adapter.

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
    version: tuple[int, int] = (9, 0)
    source_rules: bool = False

    @property
    def deferred(self) -> bool:
        """Whether ``start`` needs no ``init`` and makes the directory."""
        return self.version >= _DEFERRED

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> AclSettings:
        """
        Read ``DRYNPU_ACL_VERSION``, ``DRYNPU_ACL_COMPAT`` and the simulator's own variables.

        Raises
        ------
        OptionError
            For a bad value, which is named with what is allowed.
        ChipError
            The chip does not exist.
        """
        shared = Settings.from_environ(environ)
        version = environ.get(_VERSION, "").strip() or "9.0"
        found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(\..*)?", version, re.ASCII)
        compat = environ.get(_COMPAT, "").strip().casefold() or "documented"
        problems = []
        if found is None:
            problems.append(f"{_VERSION}: {version!r} is not allowed; allowed: a release of CANN such as 9.0 or 9.1.")
        if compat not in ("documented", "source"):
            problems.append(f"{_COMPAT}: {compat!r} is not allowed; allowed: documented, source.")
        if problems or found is None:
            raise OptionError(problems)
        return cls(
            shared=shared,
            chip=load_chosen_chip(shared),
            version=(int(found[1]), int(found[2])),
            source_rules=compat == "source",
        )
