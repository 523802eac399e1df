"""The arguments of ``analyse``, and the run directories below a path (mindspore_profiler.md 3.2, 5.5)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from attrs import evolve

from drynpu_mindspore.profiler._backend import Analysis
from drynpu_mindspore.profiler._directory_name import checked_folder
from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import AnalysisMode

DEFAULT_PROCESSES = max(1, (os.cpu_count() or 1) // 2)
"""Processes that analyse several runs where the script gives no number."""

_RAW = re.compile(r"FRAMEWORK$|PROF_\d+_\d+_[0-9a-zA-Z]+")

_MODES = [mode.value for mode in AnalysisMode]


def read_analysis(previous: Analysis, pretty: object, step_list: object, mode: object, user_log: UserLog) -> Analysis:
    """
    Return how to analyse, from the arguments of ``analyse``; a bad one is replaced, which the log says.

    A bad ``step_list`` leaves the steps of the last call in force, as the vendor's does.
    """
    checked = evolve(previous, pretty=_pretty(pretty, user_log))
    if step_list is not None:
        checked = evolve(checked, step_list=_steps(step_list, previous.step_list, user_log))
    return evolve(checked, asynchronous=_mode(mode, user_log) == AnalysisMode.ASYNC_MODE.value)


def _pretty(value: object, user_log: UserLog) -> bool:
    if isinstance(value, bool):
        return value
    user_log.warning(f"For profiler, the parameter pretty must be bool, but got {type(value)}, reset to False.")
    return False


def _steps(value: Any, previous: tuple[int, ...] | None, user_log: UserLog) -> tuple[int, ...] | None:
    problem = ""
    if not isinstance(value, list):
        problem = f"the parameter step_list must be a list, but got type {type(value)}"
    elif not all(isinstance(each, int) for each in value):
        problem = "the elements of the parameter step_list must be integers"
    elif value and max(value) - min(value) + 1 != len(value):
        problem = "the elements of the parameter step_list must be continuous integers"
    if problem:
        user_log.error(f"For profiler, {problem}, step_list reset to None.")
        return previous
    return tuple(sorted(value)) or None


def _mode(value: object, user_log: UserLog) -> str:
    if not isinstance(value, str):
        user_log.warning(
            f"For Profiler.analyse(), the parameter mode must be str, but got {type(value)}, reset to sync."
        )
        return AnalysisMode.SYNC_MODE.value
    if value not in _MODES:
        user_log.warning(
            f"For Profiler.analyse(), the parameter mode must be one of {_MODES}, but got {value}, reset to sync."
        )
        return AnalysisMode.SYNC_MODE.value
    return value


def analyse_folder(
    session: Session, path: Any, processes: int, pretty: Any, step_list: Any, data_simplification: Any
) -> None:
    """
    Analyse the run that *path* is, or the runs in it, each in a process.

    Raises
    ------
    FileNotFoundError
        There is no such path.
    OutputError
        It is a link or a file, or no path that the vendor takes.
    TypeError
        *path* is no path.
    """
    folder = checked_folder(path)
    runs = _runs_in(folder)
    if not runs:
        session.user_log.error(
            f"Invalid path: {folder}. Expected a *_ascend_ms_* directory "
            "or a parent directory of multiple *_ascend_ms_*"
        )
        return
    how = read_analysis(Analysis(), pretty, step_list, AnalysisMode.SYNC_MODE.value, session.user_log)
    how = evolve(how, data_simplification=_simplification(data_simplification, session.user_log))
    failed = session.backend.analyse_offline(runs, how, min(processes, len(runs)))
    logs = session.generation.is_current
    begin = "Call to offline_analyse failed. Exception" if logs else "offline analysis failed"
    for reason in failed.values():
        session.user_log.error(f"{begin}: {reason}")


def _runs_in(folder: Path) -> list[Path]:
    """Return the run directories: *folder* itself, or those right below it."""
    if _is_run(folder):
        return [folder]
    return [each for each in sorted(folder.iterdir()) if each.is_dir() and not each.is_symlink() and _is_run(each)]


def _is_run(folder: Path) -> bool:
    return any(_RAW.match(each.name) and each.is_dir() for each in folder.iterdir())


def _simplification(value: object, user_log: UserLog) -> bool:
    if isinstance(value, bool):
        return value
    user_log.warning(
        f"For profiler, the type of data_simplification should be bool, but got {type(value)}, reset to True."
    )
    return True
