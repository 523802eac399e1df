"""Collection by ``drynpu msprof``: start an application and record it from outside (cann_msprof.md 6.1)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from drynpu import CommandError
from drynpu.cli.shared import QUIET_FRAMEWORKS
from drynpu.options import Settings
from drynpu.options.msprof_cli import LaunchMode, MsprofParsed, parse
from drynpu.platforms import load_chip
from drynpu.plugins import Plugins, build_manager
from drynpu.recorder import COLLECT_VARIABLE, CollectionCommand, control_socket
from drynpu_msprof._dynamic import control_by_hand
from drynpu_msprof._flags import PROCESSING_FLAGS, Request
from drynpu_msprof._limits import limits_of
from drynpu_msprof._process import Processed, info, process, warn
from drynpu_msprof._system import record_system

# Another Python than this one may not have drynpu.
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
# What frameworks print at import would stand between the command's own lines.


def collect(flags: Mapping[str, str], command: Sequence[str]) -> list[Processed]:
    """
    Record an application, or the system where none is given, then export and list what was recorded; return that.

    Raises
    ------
    OptionError
        Flags that cannot be, in the command's words.
    CommandError
        Exit code 1: an application or process that cannot be reached, or one that left nothing to record.
    OutputError
        A file cannot be written.
    """
    plugins = build_manager(record_problems=True)
    chip = load_chip(Settings.checked(os.environ).chip, extra_files=plugins.chip_files())
    collected = {name: text for name, text in flags.items() if name not in PROCESSING_FLAGS}
    parsed = parse(collected, application=command, chip=chip.platform_version)
    for notice in parsed.notices:
        warn(notice.message)
    for text in limits_of(parsed.request, collected):
        warn(text)
    if parsed.launch.mode.runs:
        return _collect_application(parsed, plugins)
    written = record_system(parsed, chip, devices=Settings.checked(os.environ).devices)
    return _show([written], parsed)


def _collect_application(parsed: MsprofParsed, plugins: Plugins) -> list[Processed]:
    window = parsed.request.window
    with tempfile.TemporaryDirectory(prefix="drynpu-msprof-") as folder:
        order = CollectionCommand(
            request=parsed.request,
            directory=Path(parsed.request.output.directory or "."),
            journal=Path(folder) / "journal",
            launched_ns=time.time_ns(),
            control=control_socket(os.getpid()) if window.interactive else None,
        )
        environment = _environment(plugins, order, parsed.launch.environment)
        if order.control is not None:
            order.control.unlink(missing_ok=True)  # of a command that had this process id before
            launched = parsed.launch.mode is LaunchMode.APPLICATION
            words = _words(parsed.launch.application, environment) if launched else ()
            control_by_hand(words, environment, order, parsed.launch.pids)
        else:
            _run(parsed, environment)
        reports = order.reports()
    for note in dict.fromkeys(note for report in reports for note in report.notes):
        warn(note)
    written = [report.path for report in reports if report.path is not None]
    if window.interactive:
        # The command leaves the parsing of these to a call of its own.
        _finish(written)
        return [Processed(directory=path) for path in written]
    if written:
        return _show(written, parsed)
    if window.delay_s is not None and time.time_ns() - order.launched_ns <= window.delay_s * 1_000_000_000:
        warn("Before delay time, the app process has exited.")
        return []
    raise CommandError(
        "Failed to find profiling data, please check that the application executes AI-related business, "
        "or ensure that aclInit/GEInitialize is invoked in the application. "
        "drynpu records Python processes that import torch or call acl.init."
    )


def _environment(plugins: Plugins, order: CollectionCommand, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the application's environment: facades in reach, devices loaded with PyTorch, the order."""
    environment = {**QUIET_FRAMEWORKS, **os.environ, **variables}
    folders = dict.fromkeys(str(facade.folder) for facade in plugins.facades())
    inherited = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([*([inherited] if inherited else []), *folders])
    return environment | {"DRYNPU_AUTOLOAD": "1", COLLECT_VARIABLE: order.to_text()}


def _run(parsed: MsprofParsed, environment: Mapping[str, str]) -> None:
    words = _words(parsed.launch.application, environment)
    info("Start profiling....")
    try:
        done = subprocess.run(words, env=environment, check=False)
    except OSError as error:
        raise CommandError(f"Start profiling failed: {words[0]}: {error.strerror or error}") from error
    if done.returncode:
        warn(f"An exception has occurred in process App, return code: {done.returncode}.")


def _words(application: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command to start: Python scripts, and ``python``, run in the Python that drynpu is installed in."""
    first, *rest = application
    if first.endswith(".py") and not os.access(first, os.X_OK):
        return [sys.executable, first, *rest]
    if _PYTHON.fullmatch(first):
        return [sys.executable, *rest]
    if shutil.which(first, path=environment.get("PATH")) is None:
        raise CommandError(f"App path({first}) does not exist or permission denied!!!")
    return [first, *rest]


def _show(written: Sequence[Path], parsed: MsprofParsed) -> list[Processed]:
    database_only = "text" not in {kind.value for kind in parsed.request.output.export}
    done = []
    for path in written:
        exported = process(Request(mode="export", output=str(path), database_only=database_only))
        listed = process(Request(mode="query", output=str(path)))
        files = tuple(file for each in exported for file in each.files)
        done.append(Processed(directory=path, files=files, rows=tuple(row for each in listed for row in each.rows)))
    _finish(written)
    return done


def _finish(written: Sequence[Path]) -> None:
    info("Profiling finished.")
    for path in written:
        click.echo(f"[INFO] Process profiling data complete. Data is saved in {path}.")
