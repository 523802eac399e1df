"""Recordings of killed processes, made of the journals that they left."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from drynpu._errors import DrynpuError, OutputError, RawFormatError
from drynpu.kernels import KernelPlan, Signature
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.options import Clock, ProfilingRequest, from_mapping
from drynpu.platforms import load_chip
from drynpu.plugins import Plugins, from_plugins
from drynpu.raw import write_document
from drynpu.recorder._end_info import with_end_info
from drynpu.recorder._joining import join_recordings
from drynpu.recorder._journal import FORMAT, HEAD_FILE, JOURNAL_PREFIX, process_start_s
from drynpu.recorder._packing import unpack
from drynpu.recorder._recording import Outcome, Setup, write_devices
from drynpu.simulate import Destination, Recording
from drynpu.tables import STEP_PREFIX

_SAME_START_S = 2.0
"""Two readings of when a process started differ by less."""


@frozen
class Recovered:
    """A recording that was made of a journal: its directory, how many steps and operators it has, and a line on it."""

    path: Path
    steps: int
    operators: int
    text: str


def find_journals(path: Path) -> list[Path]:
    """Return the journals in *path* and in the directories in it, sorted by name; none where it cannot be read."""
    journals: list[Path] = []
    try:
        folders = (
            [path, *(each for each in path.iterdir() if each.is_dir() and not each.is_symlink())]
            if path.is_dir()
            else []
        )
        for folder in folders:
            journals.extend(each for each in folder.glob(f"{JOURNAL_PREFIX}*") if (each / HEAD_FILE).is_file())
    except OSError:
        pass
    return sorted(journals)


def recover(path: Path, tell: Callable[[str], object], output: Path | None = None) -> list[Recovered]:
    """
    Write the recordings whose journals lie in *path* or in a directory in it, as their processes would have.

    A journal is removed once its recording stands. One whose process still runs is left alone. *tell* gets a line for
    each, also for those that cannot be recovered.

    Parameters
    ----------
    output:
        Write below this directory instead, and leave *path* as it is.
    """
    recovered = []
    for journal in find_journals(path):
        try:
            outcome = _recover(journal, output)
        except (DrynpuError, OSError) as error:
            tell(f"{journal.parent}: a recording that was cut could not be recovered: {error}")
            continue
        tell(f"{journal.parent.name}: {outcome if isinstance(outcome, str) else outcome.text}")
        if isinstance(outcome, Recovered):
            recovered.append(outcome)
    return recovered


def _recover(journal: Path, output: Path | None) -> Recovered | str:
    """Return what was made of a journal, or why nothing was."""
    head = unpack((journal / HEAD_FILE).read_bytes())
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise RawFormatError("its journal is of another version of drynpu")
    if _is_running(head):
        return f"process {head['destination'].pid} is still recording; it is summarised when it has ended"
    home = journal.parent
    place = home if output is None else output / home.name
    parts, damaged = _read_parts(journal)
    if not parts:
        return "the recording was cut before a step of it was saved; there is nothing to recover"
    documents = parts[-1]["documents"]
    recordings = _joined(parts)
    first = next(iter(recordings.values()))
    if output is None and _is_complete(home, documents, first):
        _remove(journal)
        return "the recording is complete"
    for path in _unfinished(home, documents, first) if output is None else ():
        shutil.rmtree(path)
    steps = sum(map(_count_steps, recordings.values()))
    operators = sum(len(recording.operators) for recording in recordings.values())
    text = _describe(steps, operators, max(each.end_ns for each in recordings.values()), damaged)
    outcome = _write(place, head, recordings, _planner(parts), documents, text)
    if output is None:
        _remove(journal)
    alone = None if documents else outcome.prof_path
    return Recovered(place if alone is None else alone, steps, operators, text)


def _describe(steps: int, operators: int, end_ns: int, damaged: int) -> str:
    """Return the line that is printed and noted."""
    until = f"{datetime.fromtimestamp(end_ns / 1e9):%H:%M:%S}"
    lost = f"; {damaged} damaged parts of it are missing" if damaged else ""
    return (
        f"the process ended while it was recording. Recovered: {steps} steps with {operators} operators, up to {until}"
        f"{lost}. What came later was not saved yet."
    )


def _is_running(head: Mapping[str, Any]) -> bool:
    if head["host"] != socket.gethostname():
        return False
    began_s = process_start_s(head["destination"].pid)
    return bool(began_s) and abs(began_s - head["process_start_s"]) < _SAME_START_S


def _read_parts(journal: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the parts in order, and how many cannot be read."""
    parts, damaged = [], 0
    for path in sorted(journal.glob("part-*.npz")):
        try:
            parts.append(unpack(path.read_bytes()))
        except (RawFormatError, OSError):
            damaged += 1
    return parts, damaged


def _joined(parts: list[dict[str, Any]]) -> dict[int, Recording]:
    devices = sorted({device for part in parts for device in part["recordings"]})
    return {
        device: join_recordings([part["recordings"][device] for part in parts if device in part["recordings"]])
        for device in devices
    }


def _planner(parts: list[dict[str, Any]]) -> Callable[[Signature], KernelPlan]:
    """Return the plans as they were when the operators were captured."""
    plans: dict[object, KernelPlan] = {}
    for part in parts:
        for device, recording in part["recordings"].items():
            keys = (signature.key for signature in recording.operators.signatures)
            plans.update(zip(keys, part["plans"][device], strict=True))
    return lambda signature: plans[signature.key]


def _count_steps(recording: Recording) -> int:
    """Return the number of steps that the script marked; without any, of the iterations of its graphs."""
    operators = recording.operators
    numbers = [number for number, name in enumerate(operators.names) if name.startswith(STEP_PREFIX)]
    marked = len({number for number in operators.name.tolist() if number in numbers}) if numbers else 0
    return marked or sum(len(graph.iterations) for graph in recording.graphs)


def _is_complete(home: Path, documents: Mapping[str, object], recording: Recording) -> bool:
    """Whether the process came to write its last document after all."""
    if not documents:
        return any((path / METADATA_FILE).is_file() for path in _prof_directories(home, recording))
    if not all((home / name).is_file() for name in documents):
        return False
    return METADATA_FILE not in documents or "drynpu" in json.loads((home / METADATA_FILE).read_bytes())


def _unfinished(home: Path, documents: Mapping[str, object], recording: Recording) -> list[Path]:
    """Return what the process wrote of the result before it ended: it lacks the rest."""
    if documents:  # the directory belongs to this recording alone
        return [path for path in home.iterdir() if path.is_dir() and path.name.startswith(("PROF_", "FRAMEWORK"))]
    return [path for path in _prof_directories(home, recording) if not (path / METADATA_FILE).exists()]


def _prof_directories(home: Path, recording: Recording) -> list[Path]:
    """Return the PROF directories whose names say that they began with the recording."""
    stamp = datetime.fromtimestamp(recording.begin_ns / 1e9)
    return list(home.glob(f"PROF_*_{stamp:%Y%m%d%H%M%S}{stamp.microsecond // 1000:03d}_*"))


def _write(
    place: Path,
    head: Mapping[str, Any],
    recordings: dict[int, Recording],
    plan: Callable[[Signature], KernelPlan],
    documents: Mapping[str, Mapping[str, object]],
    note: str,
) -> Outcome:
    destination: Destination = evolve(head["destination"], directory=place, device_id=next(iter(recordings)))
    interconnect, pcie_gbs = head["links"]
    chip = load_chip(head["chip"], extra_files=from_plugins(Plugins.chip_files))
    setup = Setup(
        request=_with_marks(from_mapping(head["request"]), recordings),
        chip=evolve(chip, interconnect=interconnect, pcie_gbs=pcie_gbs),
        clock=Clock(head["clock"]),
        seed=head["seed"],
        anchors=head["anchors"],
        plan=plan,
        topology=head["topology"],
    )
    try:
        place.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create {place}: {error.strerror}") from error
    outcome = write_devices(recordings, destination, setup)
    outcome = evolve(outcome, notes=(note, *outcome.notes))
    if not documents and outcome.prof_path is not None:
        write_document(outcome.prof_path / METADATA_FILE, json.dumps({"drynpu": outcome.describe()}))
    # The metadata come last: with them the recording is complete.
    for name, document in sorted(documents.items(), key=lambda item: item[0] == METADATA_FILE):
        write_document(place / name, json.dumps(_completed(name, document, outcome, setup), indent=4))
    return outcome


def _with_marks(request: ProfilingRequest, recordings: Mapping[int, Recording]) -> ProfilingRequest:
    """Return *request* with marks where the script set some: what was captured of them is to be written."""
    if not any(recording.marks for recording in recordings.values()):
        return request
    return evolve(request, switches=evolve(request.switches, tx=True))


def _completed(name: str, document: Mapping[str, object], outcome: Outcome, setup: Setup) -> dict[str, object]:
    """Return a document of the run with what its end adds to it."""
    if name == METADATA_FILE:
        return {**document, "drynpu": outcome.describe()}
    return with_end_info(document, outcome.end_ns, setup.anchors) if "start_info" in document else dict(document)


def _remove(journal: Path) -> None:
    (journal / HEAD_FILE).unlink(missing_ok=True)
    shutil.rmtree(journal, ignore_errors=True)
