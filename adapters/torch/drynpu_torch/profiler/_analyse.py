"""Raw data to deliverables: right after a recording, beside the training, or offline; and the summary of a run."""

from __future__ import annotations

import atexit
import functools
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from drynpu import DrynpuError, OutputError, without_collections
from drynpu.layouts.result_files import PROFILER_INFO_PATTERN
from drynpu.options import ExportType
from drynpu.options.experimental_config import EXPORTS, normalise_handler
from drynpu_torch.profiler._messages import never_raises, print_error, print_info, print_warning, show
from drynpu_torch.profiler._process import PROCESS

_IN_DAEMON = (
    "The profiling data cannot be parsed during the daemon process, it is recommended that you use an offline parsing "
    "interface to parse the collected data. \nFor example: \nfrom torch_npu.profiler.profiler import analyse\n"
    'analyse("profiling_data_path")'
)
_FINISHED: list[Path] = []
"""Result directories of this process in order; the summary shows them when the process ends."""


def analyse_result(
    path: Path, *, simplify: bool, announce: bool = True, forms: Collection[ExportType] | None = None
) -> None:
    """
    Write ``mindstudio_profiler_output`` and ``ASCEND_PROFILER_OUTPUT`` of one result directory.

    *forms* is text, databases or both, by default the recording's. The toolkit's part is always text: its
    database becomes the one of ``ASCEND_PROFILER_OUTPUT``.

    Raises
    ------
    OutputError
        If the directory holds no profile or cannot be written.
    """
    # Imported here, because the import of torch_npu must not wait for the table engine.
    from drynpu.products import deliver

    if _in_daemon():
        return
    with _progress(path, "sync") as toolkit_done, without_collections():
        deliver(path, simplify=simplify, forms=forms, on_part=lambda _: toolkit_done())
    if announce:
        _announce(path)


def analyse_beside(path: Path, *, simplify: bool, forms: Collection[ExportType] | None = None) -> None:
    """Do the same in a second process, which this one waits for at its end; at the end of this process, do it here."""
    if _in_daemon():
        return

    @never_raises
    def analyse() -> None:
        _in_process(path, simplify=simplify, mode="async", forms=forms)
        _announce(path)

    from drynpu.products import deliver_beside

    deliver_beside(analyse, lambda: analyse_result(path, simplify=simplify, forms=forms))


@never_raises
def analyse(profiler_path: str, max_process_number: int | None = None, export_type: object = None) -> None:
    """
    Parse one result directory, or every one directly below *profiler_path*.

    Several directories are parsed in up to ``max_process_number`` processes, by default half as many as there are
    CPUs. One that cannot be parsed is reported, and the others are parsed all the same. A recording whose process was
    killed is recovered first.
    """
    from drynpu.products import deliver_many, find_profiles
    from drynpu.recorder import recover

    if _in_daemon():
        return
    root = Path(os.path.realpath(Path(profiler_path).expanduser()))
    if not root.exists():
        raise OutputError(f"The path does not exist: {profiler_path}")
    processes = _processes(max_process_number)
    forms = _forms(export_type)
    recover(root, print_warning)
    paths = find_profiles(root)
    deliver_many(
        paths,
        processes,
        here=functools.partial(_reported, functools.partial(analyse_result, announce=False, forms=forms)),
        apart=functools.partial(_reported, functools.partial(_in_process, mode="sync", forms=forms)),
    )


def _forms(export_type: object) -> list[ExportType] | None:
    """Return the forms to write; ``None``, which stands for the recording's forms, for any other value."""
    kinds = [export_type] if isinstance(export_type, str) else export_type
    if kinds is None:
        return None
    if isinstance(kinds, list) and all(isinstance(kind, str) and kind in EXPORTS for kind in kinds):
        return [EXPORTS[kind] for kind in kinds] or None
    print_warning(f"Invalid parameter export_type: {export_type}, reset it to None.")
    return None


def _processes(number: object) -> int:
    limit = os.cpu_count() or 1
    if number is not None and not (isinstance(number, int) and number > 0):
        print_warning("Invalid max_process_number, reset it to default!")
        number = None
    if isinstance(number, int) and number > limit:
        print_warning("max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!")
    return min(number, limit) if isinstance(number, int) else max(limit // 2, 1)


def _reported(parse: functools.partial[None], path: Path) -> None:
    try:
        parse(path, simplify=False)
    except DrynpuError as error:
        print_error(f"{path}: {error}")


def _in_process(path: Path, *, simplify: bool, mode: str, forms: Collection[ExportType] | None) -> None:
    """Parse in a new interpreter. Raises `OutputError` with the error that it printed."""
    from drynpu.products import deliver_in_process

    with _progress(path, mode) as toolkit_done:
        deliver_in_process(path, simplify=simplify, forms=forms, on_part=lambda _: toolkit_done())


@contextmanager
def _progress(path: Path, mode: str) -> Iterator[functools.partial[None]]:
    """Print the vendor's lines around parsing, and yield the function to call when the toolkit's part is done."""
    start_s = time.monotonic()

    def done(what: str) -> None:
        print_info(f"{what} profiling data parsed in a total time of {timedelta(seconds=time.monotonic() - start_s)}")

    print_info(f"Start parsing profiling data in {mode} mode at: {path}")
    for activity, kind in _missing(path):
        print_error(f"ProfilerActivity.{activity} is set in activities, but {kind} Profiling data does not exist.")
    yield functools.partial(done, "CANN")
    done("All")


def _missing(path: Path) -> list[tuple[str, str]]:
    """Return the activities whose data is missing, as after a kill, each with the vendor's name of that data."""
    try:
        text = next(path.glob(PROFILER_INFO_PATTERN)).read_text(encoding="utf-8")
        activities = json.loads(text)["config"]["common_config"]["activities"]
    except (StopIteration, OSError, ValueError, KeyError, TypeError):
        return []
    sides = (("CPU", "FWK", "FRAMEWORK"), ("NPU", "CANN", "PROF_*"))
    return [
        (activity, kind)
        for activity, kind, pattern in sides
        if f"ProfilerActivity.{activity}" in activities and not any(path.glob(pattern))
    ]


def _in_daemon() -> bool:
    """Return whether this is a daemonic process, and print that it cannot parse: it may not start processes."""
    if not multiprocessing.current_process().daemon:
        return False
    print_error(_IN_DAEMON)
    return True


@never_raises
def tensorboard_trace_handler(
    dir_name: Any = None, worker_name: Any = None, analyse_flag: Any = True, async_mode: Any = False
) -> Callable[[Any], None]:
    """
    Return a handler that writes deliverables, and set directory and worker of the process at once.

    Parameters, messages and that side effect follow torch_npu_profiler.md 1.7.
    """
    values, notices = normalise_handler(dir_name, worker_name, analyse_flag, async_mode)
    show(notices)
    PROCESS.configure(values.dir_name, values.worker_name)

    @never_raises
    def handler_fn(prof: Any) -> None:
        if values.analyse_flag:
            prof.prof_if.analyse(async_mode=values.async_mode)

    return handler_fn


def _announce(path: Path) -> None:
    """Add a result directory to the summary at the end of the process."""
    _FINISHED.append(path)


@functools.cache
def summarise_at_exit() -> None:
    """Show the summary when the process ends; later calls change nothing."""
    atexit.register(_show_summary)


def _show_summary() -> None:
    if _FINISHED:
        from drynpu.views import show_finished

        show_finished(_FINISHED, print_error, rank_variable="RANK")
