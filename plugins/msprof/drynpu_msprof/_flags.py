"""The flags of ``drynpu msprof``: which mode they ask for, and what does not go together (cann_msprof.md 6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from attrs import frozen

from drynpu import CommandError
from drynpu.layouts.communication_files import ANALYSES
from drynpu.options.msprof_cli import FLAGS

F = TypeVar("F", bound=Callable[..., Any])

# In the order in which the command looks.
_MODES = ("parse", "query", "export", "analyze")

# Exit code of the vendor's command (cann_msprof.md 6.2).
_BAD_PARAMETER = 1
_PROCESSING: Mapping[str, tuple[str, str]] = {
    "parse": ("on|off", "Read the records and mark the data as parsed, then list it."),
    "export": ("on|off", "Write the results: tables, timeline, database."),
    "query": ("on|off", "List devices, models and iterations."),
    "analyze": ("on|off", "Write the analyses of communication."),
    "rule": ("communication|communication_matrix|both", "Analyses that --analyze writes; both by default."),
    "model-id": ("n", "Export one iteration: of this model; 4294967295 for steps. Goes with --iteration-id."),
    "iteration-id": ("n", "Export one iteration: this one. Goes with --model-id."),
    "summary-format": ("csv|json", "Form of the tables that --export writes; csv by default."),
    "reports": ("file", "JSON file that says which layers of the timeline --export writes."),
    "clear": ("on|off", "Remove intermediate databases after --export or --analyze."),
}
PROCESSING_FLAGS = frozenset(_PROCESSING)
"""Names of the flags that are about data that is there."""

_MODE_FLAGS: Mapping[str, frozenset[str]] = {
    "parse": frozenset({"output", "python-path"}),
    "query": frozenset({"output", "python-path"}),
    "export": frozenset(
        {"output", "python-path", "iteration-id", "model-id", "summary-format", "clear", "type", "reports"}
    ),
    "analyze": frozenset({"output", "python-path", "rule", "clear", "type"}),
}
_NOT_WITH: Mapping[str, tuple[str, ...]] = {
    "parse": ("rule", "clear"),
    "query": ("rule", "clear"),
    "export": ("rule",),
    "analyze": (),
}
_NOT_WITH_DB = ("iteration-id", "model-id", "summary-format", "clear", "reports")


@frozen(kw_only=True)
class Request:
    """
    What is to be done with data that is there.

    ``database_only`` is ``--type=db``; ``iteration`` is model and iteration, ``None`` for everything; ``rules`` are
    the analyses. ``warnings`` says which flags have no effect.
    """

    mode: str
    output: str
    database_only: bool = False
    iteration: tuple[int, int] | None = None
    json_tables: bool = False
    reports: str = ""
    clear: bool = False
    rules: tuple[str, ...] = ANALYSES
    warnings: tuple[str, ...] = ()


def msprof_flags(function: F) -> F:
    """Add every flag of the command; a flag's value is its text, ``None`` where it is not given."""
    shown = {name: (metavar, text) for name, (metavar, text) in _PROCESSING.items()}
    for flag in FLAGS.values():
        default = f" Default: {flag.default}." if flag.default else ""
        shown[flag.name] = (flag.kind.value, f"{flag.help}{default}")
    for name, (metavar, text) in reversed(list(shown.items())):
        function = click.option(f"--{name}", _parameter(name), metavar=metavar, help=text)(function)
    return function


def _parameter(name: str) -> str:
    return name.replace("-", "_")


def read_request(flags: Mapping[str, str], application: tuple[str, ...]) -> Request | None:
    """
    Read the flags that were given, by name; ``None`` if they ask for a collection.

    Raises
    ------
    CommandError
        Exit code 1, with the command's message.
    """
    if application or "application" in flags:
        return None
    switched = [name for name in _MODES if _switch(name, flags.get(name, "off"))]
    if not switched:
        return None
    mode, *others = switched
    database_only = _word("type", flags.get("type", "text"), ("text", "db")) == "db"
    limited = mode == "export" and database_only
    after = "export and --type" if limited else mode
    forbidden = [*others, *(name for name in (*_NOT_WITH[mode], *(_NOT_WITH_DB if limited else ())) if name in flags)]
    if forbidden:
        raise _bad(f"The argument {_listed(forbidden)} is forbidden when --{after} is not empty")
    if "output" not in flags:
        raise _bad(f"The argument --output is neccessary when --{after} is not empty")
    useless = sorted(set(flags) - _MODE_FLAGS[mode] - set(_MODES))
    warnings = (f"The argument {_listed(useless)} is useless when --{after} is not empty",) if useless else ()
    return Request(
        mode=mode,
        output=flags["output"],
        database_only=database_only,
        iteration=_iteration(flags) if mode == "export" else None,
        json_tables=_word("summary-format", flags.get("summary-format", "csv"), ("json", "csv")) == "json",
        reports=flags.get("reports", "") if mode == "export" else "",
        clear=_switch("clear", flags.get("clear", "off")),
        rules=_rules(flags.get("rule", "both")),
        warnings=warnings,
    )


def _bad(message: str) -> CommandError:
    return CommandError(message, exit_code=_BAD_PARAMETER)


def _listed(names: list[str]) -> str:
    return " ".join(f"--{name}" for name in names)


def _word(name: str, text: str, words: tuple[str, ...]) -> str:
    if not text:
        raise _bad(f"Argument --{name}: expected one argument")
    if text not in words:
        listed = " or ".join(f"'{word}'" for word in words)
        raise _bad(f"Argument --{name}: invalid value: {text}. Please input {listed}.")
    return text


def _switch(name: str, text: str) -> bool:
    return _word(name, text, ("on", "off")) == "on"


def _iteration(flags: Mapping[str, str]) -> tuple[int, int] | None:
    if ("model-id" in flags) != ("iteration-id" in flags):
        raise _bad(
            "Please set 'model-id' and 'iteration-id' simultaneously "
            "(recommend using 'query' to obtain proper 'model-id' and 'iteration-id' values)."
        )
    if "model-id" not in flags:
        return None
    return _number("model-id", flags["model-id"]), _number("iteration-id", flags["iteration-id"])


def _number(name: str, text: str) -> int:
    if not text:
        raise _bad(f"Argument --{name} is empty, please enter a valid value.")
    if not re.fullmatch(r"[0-9]{1,10}", text, re.ASCII):
        raise _bad(f"Argument --{name}: invalid value: {text}.Please input an integer value.")
    return int(text)


def _rules(text: str) -> tuple[str, ...]:
    if text == "both":
        return ANALYSES
    if not text:
        raise _bad("Argument --rule: expected one argument")
    rules = text.split(",")
    for rule in rules:
        if rule not in ANALYSES:
            raise _bad(
                f"Argument --rule: invalid value: {rule}. Please input 'communication' or 'communication_matrix'."
            )
    return tuple(rule for rule in ANALYSES if rule in rules)
