"""
Dialect: the ``profiler`` section of acl.json (cann_msprof.md 1.6; pyacl_prof.md 11).

The keys equal `drynpu.options.profiling_options` under the rules of the surface ``ACL_JSON``; what is special
here is the document around them: a switch that is off is no error, and the file has a size limit.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from drynpu._errors import OptionError
from drynpu.options._notices import Notice, NoticeCode, Origin, Severity
from drynpu.options._problems import shown
from drynpu.options._request import Parsed, ProfilingRequest, Switches
from drynpu.options._values import Activity, Level, MetricGroup
from drynpu.options.profiling_options import ACL_JSON
from drynpu.options.profiling_options._parse import OutputLookup, check_document
from drynpu.options.profiling_options._parse import parse_document as parse_options
from drynpu.options.profiling_options._reading import Document, read_document
from drynpu.platforms import DEFAULT_CHIP, resolve_platform

SECTION = "profiler"
_OFF = ProfilingRequest(
    level=Level.NONE,
    activities=(Activity.DEVICE,),
    aic_metrics=MetricGroup.NONE,
    switches=Switches(acl_api=False),
)


@frozen(kw_only=True)
class AclJson(Parsed):
    """
    An acl.json after reading.

    ``enabled`` is False when profiling stays off: the switch is not ``on``, or there is no section. Then ``request``
    asks for nothing.
    """

    enabled: bool = True


def parse(
    section: object,
    *,
    chip: str = DEFAULT_CHIP,
    strict: bool = False,
    environ: Mapping[str, str] | None = None,
    cwd: str | None = None,
    executable_dir: str | None = None,
) -> AclJson:
    """
    Read the ``profiler`` section (cann_msprof.md 1.6).

    Parameters
    ----------
    section:
        JSON text, UTF-8 bytes or a mapping.
    chip, strict, environ, cwd:
        As for `drynpu.options.profiling_options.parse`.
    executable_dir:
        Where the data goes for want of a usable path; the directory of this process's executable by default. The
        collector also falls back to it when a path turns out not to be accessible: pass it to ``prepare_output``.

    Raises
    ------
    OptionError
        With every problem: ``EK0005`` for a key that acl.json or the chip lacks, ``EK0003`` for a bad value, for text
        that is no JSON object and for more than 1 MiB. A switch that is not ``on`` is no problem, but the other keys
        are checked all the same, except those that the collector looks at only later (path, size limit, operators).
    """
    document = _read(section, strict=strict)
    platform = resolve_platform(chip)
    switch = document.values.get("switch")
    options = evolve(document, form="json", values={k: v for k, v in document.values.items() if k != "switch"})
    if switch != "on":
        return _switched_off(options, switch, chip, strict=strict)
    lookup = OutputLookup(
        environ=os.environ if environ is None else environ,
        cwd=str(Path.cwd()) if cwd is None else cwd,
        executable_dir=str(Path(sys.executable).parent) if executable_dir is None else executable_dir,
    )
    parsed = parse_options(options, platform, ACL_JSON, strict=strict, lookup=lookup)
    return _as_acl_json(parsed, enabled=True)


def _read(text: object, *, strict: bool) -> Document:
    """Read an object; one without keys is fine, no text at all is not."""
    blank = text is None or (isinstance(text, (str, bytes, bytearray)) and not text.strip())
    if blank:
        raise OptionError([f"{ACL_JSON.name}: {ACL_JSON.value_id} {ACL_JSON.empty_reason}"])
    return read_document(text, ACL_JSON, strict=strict)


# The collector looks at these only when it starts, which a switch that is off prevents.
_LATER = ("output", "storage_limit", "instr_profiling_freq", "optype")


def _switched_off(document: Document, switch: object, chip: str, *, strict: bool) -> AclJson:
    values = {name: value for name, value in document.values.items() if name not in _LATER}
    effective, problems = check_document(
        evolve(document, values=values), resolve_platform(chip), ACL_JSON, strict=strict
    )
    if problems:
        raise OptionError(problems)
    state = "there is no switch" if switch is None else f"switch is {shown(switch)}"
    message = f"Profiling switch is off ({state}; only 'on' turns it on)"
    severity = Severity.INFO if switch in (None, "off") else Severity.WARNING
    notice = Notice(severity, "switch", message, NoticeCode.IGNORED)
    return _off((*effective.notices, notice))


def _off(notices: tuple[Notice, ...]) -> AclJson:
    origins = dict.fromkeys(("level", "aic_metrics", "switches.acl_api", "activities"), Origin.RULE)
    parsed = Parsed.build(_OFF, dialect=ACL_JSON.name, notices=notices, origins=origins)
    return _as_acl_json(parsed, enabled=False)


def _as_acl_json(parsed: Parsed, *, enabled: bool) -> AclJson:
    effective = {"switch": "on" if enabled else "off", **parsed.effective}
    return AclJson(**asdict(evolve(parsed, effective=effective), recurse=False), enabled=enabled)


def parse_document(document: object, **options: Any) -> AclJson:
    """
    Read a whole acl.json: an object whose member ``profiler`` is the section.

    Without that member profiling stays off. *options* go to `parse`. Raises `OptionError`.
    """
    # The limits and the pointed messages of the section hold for the file around it.
    whole = _read(document, strict=bool(options.get("strict", False))).values
    if SECTION not in whole:
        message = f"acl.json has no member {SECTION!r}; profiling stays off."
        return _off((Notice(Severity.INFO, SECTION, message, NoticeCode.IGNORED),))
    section = whole[SECTION]
    if not isinstance(section, Mapping):
        reason = f"value {shown(section)} refused: {ACL_JSON.syntax_reason}"
        raise OptionError([f"{SECTION}: {ACL_JSON.value_id} {reason}"])
    size = _length(section)
    if size > ACL_JSON.byte_limit:
        reason = f"Length of acl json config should be less than or equal to {ACL_JSON.byte_limit}"
        raise OptionError([f"{SECTION}: {ACL_JSON.value_id} value {size} refused: {reason}"])
    return parse(section, **options)


def _length(section: Mapping[str, object]) -> int:
    """Return the length of the section as text; 0 for values that no JSON text could have given."""
    try:
        return len(json.dumps(dict(section)).encode())
    except (TypeError, ValueError, RecursionError):
        return 0
