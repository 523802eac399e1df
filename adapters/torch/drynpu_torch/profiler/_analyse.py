"""Raw data to deliverables: right after a recording, beside the training, or offline on any number of directories."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from drynpu import DrynpuError, OutputError
from drynpu.options import ExportType
from drynpu.options.experimental_config import EXPORTS
from drynpu_torch.capture import without_collections
from drynpu_torch.profiler import _summary
from drynpu_torch.profiler._messages import never_raises, print_error, print_info, print_warning

_IN_DAEMON = (
    "The profiling data cannot be parsed during the daemon process, it is recommended that you use an offline parsing "
    "interface to parse the collected data. \nFor example: \nfrom torch_npu.profiler.profiler import analyse\n"
    'analyse("profiling_data_path")'
)


def analyse_result(
    path: Path, *, simplify: bool, announce: bool = True, forms: Collection[ExportType] | None = None
) -> None:
    """
    Write ``mindstudio_profiler_output`` and ``ASCEND_PROFILER_OUTPUT`` of one result directory.

    *forms* is text, databases or both; default what the recording was asked for. The toolkit's part is text alone:
    its database becomes that of ``ASCEND_PROFILER_OUTPUT``.

    Raises
    ------
    OutputError
        If the directory holds no profile or cannot be written.
    """
    # Here, not above: importing torch_npu must not wait for the table engine.
    from drynpu.products import deliver

    if _in_daemon():
        return
    with _progress(path, "sync") as toolkit_done, without_collections():
        deliver(path, simplify=simplify, forms=forms, on_part=lambda _: toolkit_done())
    if announce:
        _summary.announce(path)


def analyse_beside(path: Path, *, simplify: bool, forms: Collection[ExportType] | None = None) -> None:
    """Do the same in a process beside this one, which ends after it; at the end of this process, do it at once."""
    if _in_daemon():
        return

    @never_raises
    def analyse() -> None:
        _in_process(path, simplify=simplify, mode="async", forms=forms)
        _summary.announce(path)

    from drynpu.products import deliver_beside

    deliver_beside(analyse, lambda: analyse_result(path, simplify=simplify, forms=forms))


@never_raises
def analyse(profiler_path: str, max_process_number: int | None = None, export_type: object = None) -> None:
    """
    Parse one result directory, or every one directly below *profiler_path*.

    Several directories are parsed in up to ``max_process_number`` processes, by default half as many as there are
    CPUs. One that cannot be parsed is reported, and the others are parsed all the same.
    """
    from drynpu.products import deliver_many, find_profiles

    if _in_daemon():
        return
    root = Path(os.path.realpath(Path(profiler_path).expanduser()))
    if not root.exists():
        raise OutputError(f"The path does not exist: {profiler_path}")
    processes = _processes(max_process_number)
    forms = _forms(export_type)
    paths = find_profiles(root)
    deliver_many(
        paths,
        processes,
        here=functools.partial(_reported, functools.partial(analyse_result, announce=False, forms=forms)),
        apart=functools.partial(_reported, functools.partial(_in_process, mode="sync", forms=forms)),
    )


def _forms(export_type: object) -> list[ExportType] | None:
    """Return what ``analyse`` is asked for; ``None``, which leaves it to the recording, for anything it is not."""
    kinds = [export_type] if isinstance(export_type, str) else export_type
    if kinds is None:
        return None
    if isinstance(kinds, list) and all(isinstance(kind, str) and kind in EXPORTS for kind in kinds):
        return [EXPORTS[kind] for kind in kinds] or None
    print_warning(f"Invalid parameter export_type: {export_type}, reset it to None.")
    return None


def _processes(asked: object) -> int:
    limit = os.cpu_count() or 1
    if asked is not None and not (isinstance(asked, int) and asked > 0):
        print_warning("Invalid max_process_number, reset it to default!")
        asked = None
    if isinstance(asked, int) and asked > limit:
        print_warning("max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!")
    return min(asked, limit) if isinstance(asked, int) else max(limit // 2, 1)


def _reported(parse: functools.partial[None], path: Path) -> None:
    try:
        parse(path, simplify=False)
    except DrynpuError as error:
        print_error(f"{path}: {error}")


def _in_process(path: Path, *, simplify: bool, mode: str, forms: Collection[ExportType] | None) -> None:
    """Parse in a new interpreter. Raises `OutputError` with what it said if it fails."""
    from drynpu.products import deliver_in_process

    with _progress(path, mode) as toolkit_done:
        deliver_in_process(path, simplify=simplify, forms=forms, on_part=lambda _: toolkit_done())


@contextmanager
def _progress(path: Path, mode: str) -> Iterator[functools.partial[None]]:
    """Print the vendor's lines around parsing; gives what is to be called when the toolkit's part is done."""
    begun = time.monotonic()

    def done(what: str) -> None:
        print_info(f"{what} profiling data parsed in a total time of {timedelta(seconds=time.monotonic() - begun)}")

    print_info(f"Start parsing profiling data in {mode} mode at: {path}")
    for activity, kind in _missing(path):
        print_error(f"ProfilerActivity.{activity} is set in activities, but {kind} Profiling data does not exist.")
    yield functools.partial(done, "CANN")
    done("All")


def _missing(path: Path) -> list[tuple[str, str]]:
    """Return what was asked for and is not there, as after a kill: the activity, and the vendor's name of its data."""
    try:
        text = next(path.glob("profiler_info*.json")).read_text(encoding="utf-8")
        asked = json.loads(text)["config"]["common_config"]["activities"]
    except (StopIteration, OSError, ValueError, KeyError, TypeError):
        return []
    sides = (("CPU", "FWK", "FRAMEWORK"), ("NPU", "CANN", "PROF_*"))
    return [
        (activity, kind)
        for activity, kind, pattern in sides
        if f"ProfilerActivity.{activity}" in asked and not any(path.glob(pattern))
    ]


def _in_daemon() -> bool:
    """Refuse to parse in a daemonic process, as the vendor does: there it may have no processes of its own."""
    if not multiprocessing.current_process().daemon:
        return False
    print_error(_IN_DAEMON)
    return True
