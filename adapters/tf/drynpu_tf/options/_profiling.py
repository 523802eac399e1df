"""Decide whether and how a session is profiled: by the script, else by the environment (tf_adapters.md 1.5, 3)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from drynpu import say_once
from drynpu.options import Notice, NoticeCode, Settings, Severity
from drynpu.options.profiling_options import Start, prepare_output, resolve_start
from drynpu.recorder import load_chosen_chip
from drynpu_tf.options._npu_options import NpuOptions


def read_number(name: str, default: int) -> int:
    """Return the number that an environment variable holds, *default* where it is not set or holds something else."""
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default


def resolve_profiling(options: NpuOptions, environ: Mapping[str, str] | None = None) -> Start:
    """
    Decide whether a session with these options is profiled, by its own parameters or by ``PROFILING_MODE``.

    The output directory is made here, as the collector does when the graph engine starts.

    Raises
    ------
    OptionError
        Options that the collector refuses, with its identifiers and reasons (EK0001, EK0003, EK0005), one line each.
    ChipError
        The chip of the settings does not exist.
    """
    environ = os.environ if environ is None else environ
    settings = Settings.from_environ(environ)
    chip = load_chosen_chip(settings)
    start = resolve_start(
        options.profiling_mode,
        options.profiling_options,
        environ=environ,
        chip=chip.platform_version,
        strict=settings.strict,
        honour_task_trace=not settings.strict,
    )
    if start.parsed is not None and start.parsed.request.output.directory is not None:
        prepare_output(start.parsed.request.output.directory)
    return start


def say_notices(notices: tuple[Notice, ...]) -> None:
    """Print once what was replaced, has no effect or is deprecated; plain remarks are for ``drynpu check``."""
    for notice in notices:
        if notice.severity is not Severity.INFO:
            say_once(notice.message if notice.code is NoticeCode.DEPRECATED else f"{notice.path}: {notice.message}")
