"""Where the collector writes (cann_msprof.md 1.4)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from drynpu._errors import OptionError
from drynpu.options._notices import Origin
from drynpu.options._problems import shown

INVALID_CHARACTER_REASON = "Output path contains invalid character"
NOT_ACCESSIBLE_REASON = "Result path is empty or not accessible"

# Backslash is among them, so the escaped two-character spellings are refused with it.
_FORBIDDEN = frozenset("\n\f\r\b\t\v\x7f\"'\\%><|&$;`")
# cann_msprof.md 1.4
_MAX_LENGTH = 1024


def forbidden_characters(path: str) -> list[str]:
    """Return the characters of *path* that no output path may hold, sorted (cann_msprof.md 1.4)."""
    return sorted(_FORBIDDEN.intersection(path))


def resolve_output(
    directory: str, environ: Mapping[str, str], cwd: str, *, value_id: str = "EK0001", fallback: str | None = None
) -> tuple[str, Origin]:
    """
    Return the absolute output directory and where it came from; touches no disk.

    *directory* if it is not empty (relative to *cwd*), else ``$ASCEND_WORK_PATH/profiling_data``, else *fallback*,
    which also stands in for a path that cannot exist.

    Raises
    ------
    OptionError
        When there is none (``EK0003``), the path holds a forbidden character (*value_id*), or it is longer than
        1024 characters and there is no *fallback*.
    """
    work_path = environ.get("ASCEND_WORK_PATH", "")
    if directory:
        path, origin, source = directory, Origin.GIVEN, "output"
    elif work_path:
        path, origin, source = f"{work_path.rstrip('/')}/profiling_data", Origin.ENVIRONMENT, "ASCEND_WORK_PATH"
    elif fallback is not None:
        return fallback, Origin.RULE
    else:
        advice = "give output, or set ASCEND_WORK_PATH"
        raise OptionError([f"output: EK0003 value '' refused: {NOT_ACCESSIBLE_REASON} ({advice})"])
    bad = forbidden_characters(path)
    if bad:
        raise OptionError(
            [f"output: {value_id} value {shown(path)} of {source} refused: {INVALID_CHARACTER_REASON} ({shown(bad)})"]
        )
    absolute = os.path.normpath(Path(cwd) / path)
    if len(absolute) > _MAX_LENGTH or "\0" in absolute:
        if fallback is not None:
            return fallback, Origin.RULE
        limits = f"at most {_MAX_LENGTH} characters, none of them NUL"
        raise OptionError(
            [f"output: EK0003 value {shown(path)} of {source} refused: {NOT_ACCESSIBLE_REASON} ({limits})"]
        )
    return absolute, origin


def prepare_output(directory: str, *, fallback: str | None = None) -> Path:
    """
    Create *directory* as the collector does (mode 0750) and return its canonical path.

    Where that fails, *fallback* takes its place, as the directory of the executable does for acl.json
    (cann_msprof.md 1.4).

    Raises
    ------
    OptionError
        ``EK0003`` when it cannot be created or written, nor *fallback*.
    """
    try:
        return _created(directory)
    except OptionError:
        if fallback is None:
            raise
        return _created(fallback)


def _created(directory: str) -> Path:
    try:
        Path(directory).mkdir(mode=0o750, parents=True, exist_ok=True)
        path = Path(directory).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        reason = f"{NOT_ACCESSIBLE_REASON} ({error})"
        raise OptionError([f"output: EK0003 value {shown(directory)} refused: {reason}"]) from error
    if not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
        raise OptionError([f"output: EK0003 value {shown(directory)} refused: {NOT_ACCESSIBLE_REASON} (not writable)"])
    return path
