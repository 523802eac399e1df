"""Collection by ``drynpu msprof``: start an application and record it from outside (cann_msprof.md 6.1)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from drynpu import CommandError
from drynpu.chips import load_chip
from drynpu.cli._msprof_flags import PROCESSING_FLAGS, Request
from drynpu.cli._msprof_process import info, process, warn
from drynpu.options import Settings
from drynpu.options.msprof_cli import LaunchMode, MsprofParsed, parse
from drynpu.plugins import Plugins, build_manager
from drynpu.session import COLLECT_VARIABLE, CollectionOrder

__all__ = ["collect"]

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_QUIET = {"TF_ENABLE_ONEDNN_OPTS": "0", "KINETO_LOG_LEVEL": "99"}


def collect(flags: Mapping[str, str], command: Sequence[str]) -> None:
    """
    Run an application with a recording of the whole of every process that uses PyTorch, then export and list it.

    Raises
    ------
    OptionError
        Flags that cannot be, in the command's words.
    CommandError
        Exit code 1: a collection that is not available, an application that cannot be started, or one that left
        nothing to record.
    OutputError
        A file cannot be written.
    """
    plugins = build_manager(record_problems=True)
    chip = load_chip(Settings.from_environ(os.environ).chip, extra_files=plugins.chip_files())
    collected = {name: text for name, text in flags.items() if name not in PROCESSING_FLAGS}
    parsed = parse(collected, application=command, chip=chip.platform_version)
    for notice in parsed.notices:
        warn(notice.message)
    _check_available(parsed)
    with tempfile.TemporaryDirectory(prefix="drynpu-msprof-") as folder:
        order = CollectionOrder(
            request=parsed.request,
            directory=Path(parsed.request.output.directory or "."),
            journal=Path(folder) / "journal",
        )
        _run(parsed, _environment(plugins, order, parsed.launch.environment))
        reports = order.reports()
    for note in dict.fromkeys(note for report in reports for note in report.notes):
        warn(note)
    written = [report.path for report in reports if report.path is not None]
    if not written:
        raise CommandError(
            "Failed to find profiling data, please check that the application executes AI-related business, "
            "or ensure that aclInit/GEInitialize is invoked in the application. "
            "drynpu records Python processes that import torch."
        )
    _show(written, database_only="text" not in {kind.value for kind in parsed.request.output.export})


def _check_available(parsed: MsprofParsed) -> None:
    """Refuse what no part of drynpu can record."""
    window = parsed.request.window
    for given, what in (
        (parsed.launch.mode is not LaunchMode.APPLICATION, f"--{parsed.launch.mode.value} without an application"),
        (window.interactive, "--dynamic=on"),
        (window.delay_s is not None, "--delay"),
        (window.duration_s is not None, "--duration"),
    ):
        if given:
            raise CommandError(
                f"Start profiling failed: {what} is not available; drynpu records an application from its start to "
                "its end. Nothing was started."
            )


def _environment(plugins: Plugins, order: CollectionOrder, given: Mapping[str, str]) -> dict[str, str]:
    """Return the application's environment: facades in reach, devices loaded with PyTorch, the order."""
    environment = {**_QUIET, **os.environ, **given}
    folders = dict.fromkeys(str(facade.folder) for facade in plugins.facades())
    inherited = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([*([inherited] if inherited else []), *folders])
    return environment | {"DRYNPU_AUTOLOAD": "1", COLLECT_VARIABLE: order.to_text()}


def _run(parsed: MsprofParsed, environment: Mapping[str, str]) -> None:
    words = _words(parsed.launch.application)
    if shutil.which(words[0], path=environment.get("PATH")) is None:
        raise CommandError(f"App path({words[0]}) does not exist or permission denied!!!")
    info("Start profiling....")
    try:
        done = subprocess.run(words, env=environment, check=False)
    except OSError as error:
        raise CommandError(f"Start profiling failed: {words[0]}: {error.strerror or error}") from error
    if done.returncode:
        warn(f"An exception has occurred in process App, return code: {done.returncode}.")


def _words(application: Sequence[str]) -> list[str]:
    """Return the command to start: Python scripts, and ``python``, run in the Python that drynpu is installed in."""
    first, *rest = application
    if first.endswith(".py") and not os.access(first, os.X_OK):
        return [sys.executable, first, *rest]
    return [sys.executable if _PYTHON.fullmatch(first) else first, *rest]


def _show(written: Sequence[Path], *, database_only: bool) -> None:
    for path in written:
        for mode in ("export", "query"):
            process(Request(mode=mode, output=str(path), database_only=database_only and mode == "export"))
    info("Profiling finished.")
    for path in written:
        click.echo(f"[INFO] Process profiling data complete. Data is saved in {path}.")
