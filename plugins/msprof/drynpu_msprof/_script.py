"""``msprof.py import|export|query|analyze``: the script form of the command, as its flags (cann_msprof.md 6.2)."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import NoReturn

from drynpu import CommandError

SCRIPT = "msprof.py"
_PYTHON = re.compile(r"python(\d(\.\d+)?)?")
_MODES = {"import": "parse", "export": "export", "query": "query", "analyze": "analyze"}
_BAD_PARAMETER = 1
NO_OPERATOR_TUNING = (
    "'msprof op' is not simulated: it replays one kernel of a program on the cores, and drynpu has no instructions of "
    "kernels; record the program with 'drynpu msprof --aic-metrics=... PROGRAM' and read op_summary_*.csv"
)
"""What ``msprof op`` says."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong as the command does."""
        raise CommandError(f"{SCRIPT}: {message}", exit_code=_BAD_PARAMETER)


def script_arguments(command: Sequence[str]) -> list[str] | None:
    """Return the arguments behind ``[python] msprof.py`` if *command* is the script, ``None`` for an application."""
    words = list(command)
    if words and _PYTHON.fullmatch(PurePath(words[0]).name):
        del words[0]
    if not words or PurePath(words[0]).name != SCRIPT or (words[1:] and words[1] not in (*_MODES, "-h", "--help")):
        return None
    return words[1:]


def script_flags(arguments: Sequence[str]) -> dict[str, str]:
    """
    Return what the script is asked for as flags of ``msprof``, by name.

    ``export summary`` and ``export timeline`` write tables and timeline, as ``--export`` does.

    Raises
    ------
    CommandError
        Exit code 1: an argument that the script does not have, or without its value.
    """
    parsed = _parser().parse_args(list(arguments))
    flags = {_MODES[parsed.mode]: "on", "output": parsed.directory}
    for name in ("model-id", "iteration-id", "summary-format", "reports", "rule", "type"):
        value = getattr(parsed, name.replace("-", "_"), None)
        if value is not None:
            flags[name] = value
    if getattr(parsed, "clear", False):
        flags["clear"] = "on"
    if getattr(parsed, "kind", "") == "db":
        flags["type"] = "db"
    return flags


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=SCRIPT)
    modes = parser.add_subparsers(dest="mode", required=True)
    for mode in _MODES:
        each = modes.add_parser(mode)
        each.add_argument("-dir", "--collection-dir", dest="directory", required=True)
        if mode == "export":
            _add_export(each)
        elif mode == "import":
            each.add_argument("--cluster", action="store_true")
        elif mode == "query":
            for name in ("--id", "--data-type", "--model-id", "--iteration-id"):
                each.add_argument(name, dest=f"unused_{name}")
        else:
            each.add_argument("--rule", "-r", required=True)
            each.add_argument("--clear", action="store_true")
            each.add_argument("--type", choices=("db", "text"))
    return parser


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("summary", "timeline", "db"))
    for name in ("--model-id", "--iteration-id"):
        parser.add_argument(name)
    parser.add_argument("--iteration-count", dest="unused_count")
    parser.add_argument("--format", dest="summary_format", choices=("csv", "json"))
    parser.add_argument("--clear", action="store_true")
    parser.add_argument("-reports", dest="reports")
