"""Whether a process is profiled: the script decides, or the environment (cann_msprof.md 1.1)."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options._notices import Notice, NoticeCode, Origin, Severity
from drynpu.options._problems import shown
from drynpu.options._request import Parsed
from drynpu.options.profiling_options._parse import parse

MODE_VARIABLE, _OPTIONS = "PROFILING_MODE", "PROFILING_OPTIONS"


class ProfilingMode(enum.Enum):
    """What a process does about profiling."""

    OFF = "off"
    ON = "on"
    DYNAMIC = "dynamic"
    """A command attaches to the process, starts and stops the profiling, and brings the options."""


_WORDS = {"true": ProfilingMode.ON, "false": ProfilingMode.OFF, "dynamic": ProfilingMode.DYNAMIC}


@frozen(kw_only=True)
class Start:
    """
    The decision.

    Attributes
    ----------
    mode:
        What happens.
    by:
        Who decided: ``GIVEN`` (the script), ``ENVIRONMENT``, or ``DEFAULT`` when neither said anything.
    parsed:
        The options, when the mode is ``ON``; their origins say ``ENVIRONMENT`` where the environment gave them.
    notices:
        Remarks on the decision itself; those on the options are in ``parsed``.
    """

    mode: ProfilingMode
    by: Origin
    parsed: Parsed | None = None
    notices: tuple[Notice, ...] = ()


def resolve_start(
    enabled: bool | None = None,
    options: object = None,
    *,
    environ: Mapping[str, str] | None = None,
    strict: bool = False,
    **reading: Any,
) -> Start:
    """
    Decide between a script's own setting and ``PROFILING_MODE`` / ``PROFILING_OPTIONS``.

    ``PROFILING_MODE=dynamic`` wins over everything; then the script's setting; then the environment. The side that
    decides also gives the options: the options of the other side do not count. Without any, the enabled-but-empty rule
    holds (cann_msprof.md 1.2).

    Parameters
    ----------
    enabled, options:
        What the script set: ``None`` where it set nothing.
    strict:
        Refuse a mode that the documentation does not know, as well as what `parse` then refuses.
    reading:
        Further options of `parse`: ``chip``, ``cwd``, ``framework``, ``honour_task_trace``.

    Raises
    ------
    OptionError
        When the options that count cannot be read.
    """
    environ = os.environ if environ is None else environ
    notices: list[Notice] = []
    mode = _mode(environ.get(MODE_VARIABLE, ""), notices, strict=strict)
    if mode is ProfilingMode.DYNAMIC:
        if enabled is not None:
            notices.append(
                _note(MODE_VARIABLE, "PROFILING_MODE=dynamic overrides what the script sets.", NoticeCode.RULE)
            )
        if environ.get(_OPTIONS):
            notices.append(_note(_OPTIONS, "options come with the attaching command in dynamic mode."))
        return Start(mode=mode, by=Origin.ENVIRONMENT, notices=tuple(notices))
    if enabled is not None:
        if mode is not None and (mode is ProfilingMode.ON) is not enabled:
            state = "on" if enabled else "off"
            notices.append(_note(MODE_VARIABLE, f"the script turns profiling {state}, which counts for more."))
        elif environ.get(_OPTIONS):
            notices.append(_note(_OPTIONS, "the script's own options count; options of the environment are not used."))
        if not enabled:
            return Start(mode=ProfilingMode.OFF, by=Origin.GIVEN, notices=tuple(notices))
        parsed = parse(options, environ=environ, strict=strict, **reading)
        return Start(mode=ProfilingMode.ON, by=Origin.GIVEN, parsed=parsed, notices=tuple(notices))
    return _by_environment(mode, environ, notices, strict=strict, reading=reading)


def _by_environment(
    mode: ProfilingMode | None,
    environ: Mapping[str, str],
    notices: list[Notice],
    *,
    strict: bool,
    reading: Mapping[str, Any],
) -> Start:
    if mode is not ProfilingMode.ON:
        if environ.get(_OPTIONS):
            notices.append(_note(_OPTIONS, "options have no effect unless PROFILING_MODE is true."))
        by = Origin.DEFAULT if mode is None else Origin.ENVIRONMENT
        return Start(mode=ProfilingMode.OFF, by=by, notices=tuple(notices))
    parsed = parse(environ.get(_OPTIONS), environ=environ, strict=strict, **reading)
    origins = {
        path: Origin.ENVIRONMENT if origin is Origin.GIVEN else origin for path, origin in parsed.origins.items()
    }
    return Start(
        mode=ProfilingMode.ON,
        by=Origin.ENVIRONMENT,
        parsed=evolve(parsed, origins=origins),
        notices=tuple(notices),
    )


def _mode(text: str, notices: list[Notice], *, strict: bool) -> ProfilingMode | None:
    """Return the mode of the environment, ``None`` when it is silent."""
    if not text:
        return None
    if text in _WORDS:
        return _WORDS[text]
    allowed = "allowed: true, false, dynamic"
    hint = did_you_mean(text, _WORDS)
    if strict:
        raise OptionError([f"{MODE_VARIABLE}: value {shown(text)} refused; {allowed}.{hint}"])
    message = f"{shown(text)} is no mode ({allowed}); profiling stays off.{hint}"
    notices.append(Notice(Severity.WARNING, MODE_VARIABLE, message, NoticeCode.MISSPELT))
    return ProfilingMode.OFF


def _note(path: str, message: str, code: NoticeCode = NoticeCode.IGNORED) -> Notice:
    return Notice(Severity.INFO, path, message, code)
