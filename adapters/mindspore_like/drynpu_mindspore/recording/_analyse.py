"""Analysis of run directories: right after a recording, beside the training, or offline on many ranks."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from drynpu import DrynpuError, OutputError
from drynpu.layouts.result_files import RANKED_INFO_PATTERN
from drynpu_mindspore.recording._directory import run_log
from drynpu_mindspore.recording._progress import Bar, begin, parsers


def analyse(path: Path, *, simplify: bool, steps: Sequence[int] = ()) -> None:
    """
    Write ``mindstudio_profiler_output`` and ``ASCEND_PROFILER_OUTPUT`` of one run directory, and say so.

    *steps* are the steps that are wanted, counted from 1; none given: all.

    Raises
    ------
    OutputError
        If the directory holds no profile or cannot be written.
    """
    # Here, not above: importing mindspore.profiler must not wait for the table engine.
    from drynpu.products import deliver

    with _print_progress(path, "sync") as advance:
        deliver(path, simplify=simplify, steps=steps, on_part=lambda _: advance())


def analyse_beside(path: Path, *, simplify: bool, steps: Sequence[int] = ()) -> Future[None]:
    """Analyse in a process beside this one, which waits for it at its end; a process that is ending does it itself."""
    from drynpu.products import deliver_beside

    beside = functools.partial(_logged, path, simplify=simplify, steps=steps)
    return deliver_beside(beside, functools.partial(analyse, path, simplify=simplify, steps=steps))


def analyse_offline(
    runs: Sequence[Path], *, simplify: bool, processes: int, steps: Sequence[int] = ()
) -> dict[Path, str]:
    """Parse run directories in at most *processes* processes; return the failed ones with the reason."""
    from drynpu.products import deliver_many

    apart = functools.partial(_in_process, simplify=simplify, steps=steps, mode="sync")
    here = functools.partial(analyse, simplify=simplify, steps=steps)
    reasons = deliver_many(
        runs, processes, here=functools.partial(_reason, here), apart=functools.partial(_reason, apart)
    )
    return {run: reason for run, reason in zip(runs, reasons, strict=True) if reason is not None}


def _reason(parse: Callable[[Path], None], path: Path) -> str | None:
    try:
        _info(path)
        parse(path)
    except (DrynpuError, OSError, ValueError) as error:
        return str(error)
    return None


def _in_process(path: Path, *, simplify: bool, steps: Sequence[int], mode: str) -> None:
    from drynpu.products import deliver_in_process

    with _print_progress(path, mode) as advance:
        deliver_in_process(path, simplify=simplify, steps=steps, on_part=lambda _: advance())


def _logged(path: Path, *, simplify: bool, steps: Sequence[int]) -> None:
    """Parse beside the script; failures go to the log of the run, because no caller waits for them."""
    with suppress(DrynpuError, OSError), run_log(path):
        _in_process(path, simplify=simplify, steps=steps, mode="async")


@contextmanager
def _print_progress(path: Path, mode: str) -> Iterator[Callable[[], None]]:
    """Print the vendor's lines around parsing; gives what is to be called when the toolkit's part is done."""
    parameters = _parameters(path)
    activities = parameters.get("activities", ["CPU"])
    device = "NPU" in activities and any(path.glob("PROF_*"))
    # On Ascend, whatever is recorded of it: only there are parameters written.
    begin(path, device=bool(parameters), mode=mode)
    names = parsers(
        host="CPU" in activities,
        device=device,
        shapes=bool(parameters.get("record_shapes")),
        text="text" in parameters.get("export_type", ["text"]),
    )
    bar = Bar(names)
    bar.show()
    yield bar.advance
    bar.finish()


def _info(path: Path) -> Path:
    """Return profiler_info_<rank>.json. Raises `OutputError` in the vendor's words if there is none."""
    paths = sorted(path.glob(RANKED_INFO_PATTERN))
    if not paths:
        raise OutputError(f"Cannot find profiler_info.json in the {path}")
    return paths[0]


def _parameters(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(_info(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, OutputError):
        return {}
    parameters = document.get("profiler_parameters") if isinstance(document, dict) else None
    return parameters if isinstance(parameters, dict) else {}
