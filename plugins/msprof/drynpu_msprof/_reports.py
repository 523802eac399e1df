"""The file that ``--reports`` names: which layers of the timeline are exported (cann_msprof.md 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import orjson

from drynpu import CommandError
from drynpu.options import did_you_mean
from drynpu.options.msprof_cli import MAX_PATH
from drynpu.products import REPORT_KEYS, Reports

# Exit code of the vendor's command for a path (cann_msprof.md 6.2).
_BAD_PATH = 2
# The command reads no larger file (cann_msprof.md 6.2).
_MAX_BYTES = 64 * 1024 * 1024


def read_reports(path: Path) -> Reports:
    """
    Read a file ``{"json_process": {"ascend": true, ...}}``; a layer that is not named is not wanted.

    What cannot be understood means everything, with a warning.

    Raises
    ------
    CommandError
        Exit code 2, in the vendor's words: there is no such file, it cannot be read, is larger than 64 MB, or is a
        link.
    """
    content = _content(path)
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        return Reports(warnings=(f"{path} is not JSON ({error}): everything is exported.",))
    switches = document.get("json_process") if isinstance(document, dict) else None
    if not isinstance(switches, dict) or not all(isinstance(value, bool) for value in switches.values()):
        return Reports(warnings=(f'{path} does not hold {{"json_process": {{name: true|false}}}}: all is exported.',))
    return _chosen(path, switches)


def _chosen(path: Path, switches: Mapping[str, object]) -> Reports:
    warnings = [
        f"{path}: {name!r} is no layer and has no effect.{did_you_mean(name, REPORT_KEYS)}"
        for name in switches
        if name not in REPORT_KEYS
    ]
    wanted = {name for name, value in switches.items() if value and name in REPORT_KEYS}
    if not wanted:
        return Reports(warnings=(*warnings, f"{path} switches no layer on: everything is exported."))
    if "low_power" in wanted:
        wanted.add("freq")
    return Reports(frozenset(wanted), tuple(warnings))


def _content(path: Path) -> bytes:
    shown = f'The path "{path}"'
    if len(str(path)) > MAX_PATH:
        message = f'Please ensure the length of input path "{path}" less than {MAX_PATH}'
        raise CommandError(message, exit_code=_BAD_PATH)
    if path.is_symlink():
        raise CommandError(f"{shown} is link. Please check the path.", exit_code=_BAD_PATH)
    if not path.exists():
        raise CommandError(f"{shown} does not exist. Please check that the path exists.", exit_code=_BAD_PATH)
    if not path.is_file():
        raise CommandError(f"{shown} is not a file. Please check the path.", exit_code=_BAD_PATH)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise CommandError(f"{shown} is too large to read. Please check the path.", exit_code=_BAD_PATH)
        return path.read_bytes()
    except OSError as error:
        message = f"{shown} does not have permission to read. Please check that the path is readable."
        raise CommandError(message, exit_code=_BAD_PATH) from error
