"""Which option leaves which deliverable, per class of chips (cann_msprof.md 3), from the option table."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from drynpu.options._conditions import Condition
from drynpu.options._request import ProfilingRequest
from drynpu.options._table import LazyTable, OptionRow, option_rows, reasons_not_simulated
from drynpu.options._values import ExportType
from drynpu.options.profiling_options import series_among
from drynpu.platforms import resolve_series


class DeliverableKind(enum.Enum):
    """What a deliverable is."""

    CSV = "csv"
    JSON = "json"
    DB = "db"
    TEXT = "txt"
    LAYER = "layer"
    """A process of ``msprof_*.json``; Step Trace is threads of Ascend Hardware there."""
    ROWS = "rows"
    """Rows of a file that other options leave, too."""
    COLUMNS = "columns"
    """Columns of such a file."""


class Needs(enum.Enum):
    """What must happen in a run for a deliverable to have data; the value is a readable condition."""

    NOTHING = ""
    KERNELS = "kernels run on the device"
    COLLECTIVES = "collective communication runs"
    GRAPH = "a compiled graph with fused operators runs"
    STATIC_GRAPH = "a static graph is loaded"
    ITERATIONS = "iterations of a graph run"
    MARKS = "the application sets marks"
    AICPU = "operators run on the AI CPU"
    PREPROCESSING = "TensorFlow's data preprocessing is sunk to the device"
    DATA_QUEUE = "data is sunk to the device through a queue"
    OPERATOR_MEMORY = "the graph engine allocates memory for operators"
    FUSION_TASKS = "fusion tasks run"
    DYNAMIC_SHAPES = "operators of dynamic shape are scheduled"
    APPLICATION = "an application runs"


@frozen(kw_only=True)
class Deliverable:
    """
    One deliverable of one option.

    Attributes
    ----------
    option:
        Path of the neutral option.
    kind, name:
        What it is and its name: the stem of a file, or the title of a layer as the timeline has it (cann_msprof.md
        4.5; the application's by what it is).
    detail:
        For rows and columns: which.
    chips:
        Where it exists.
    needs:
        What must happen in the run; a file without data is not written.
    condition:
        Which requests ask for it; ``None`` where any request that leaves data does (for the timeline: any layer).
    """

    option: str
    kind: DeliverableKind
    name: str
    detail: str = ""
    chips: frozenset[str]
    needs: Needs = Needs.NOTHING
    condition: Condition | None = None

    def when(self, request: ProfilingRequest) -> bool:
        """Whether *request* asks for it."""
        if self.condition is not None:
            return self.condition.holds(request)
        layers = self.kind is DeliverableKind.JSON
        rows = (row for row in _option_deliverables() if not layers or row.kind is DeliverableKind.LAYER)
        return any(row.when(request) for row in rows)

    @property
    def file(self) -> str:
        """The file it is, or is part of, as a pattern: ``nic_*.csv``."""
        if self.kind is DeliverableKind.LAYER:
            return "msprof_*.json"
        if self.kind is DeliverableKind.TEXT:
            return f"{self.name}.txt"
        suffix = "csv" if self.kind in (DeliverableKind.ROWS, DeliverableKind.COLUMNS) else self.kind.value
        return f"{self.name}_*.{suffix}"

    @property
    def title(self) -> str:
        """As it is shown in a table: the file, or the named part of it."""
        part = self.name if self.kind is DeliverableKind.LAYER else self.detail
        return f"{self.file} ({part})" if part else self.file


# Either form of export leaves the database (cann_msprof.md 6.2); text brings the timeline and the list of files.
_COMMON = (
    (DeliverableKind.JSON, "msprof"),
    (DeliverableKind.DB, "msprof"),
    (DeliverableKind.TEXT, "README"),
)
_FILES = {"json": DeliverableKind.JSON, "csv": DeliverableKind.CSV, "layers": DeliverableKind.LAYER}
_PARTS = {"rows": DeliverableKind.ROWS, "columns": DeliverableKind.COLUMNS}


@functools.cache
def _option_deliverables() -> tuple[Deliverable, ...]:
    return tuple(
        deliverable for row in option_rows().values() for entry in row.leaves for deliverable in _entry(row, entry)
    )


def _entry(row: OptionRow, entry: Mapping[str, Any]) -> Iterator[Deliverable]:
    """Yield the deliverables of one entry of a row."""
    common: dict[str, Any] = {
        "option": row.path,
        "chips": series_among(entry.get("platforms"), entry.get("not_platforms")),
        "needs": Needs[entry.get("needs", "nothing").upper()],
        "condition": Condition.of_entry(row, entry),
    }
    for word, kind in _FILES.items():
        names = entry.get(word, ())
        for name in (names,) if isinstance(names, str) else names:
            yield Deliverable(kind=kind, name=name, **common)
    for word, kind in _PARTS.items():
        for name, detail in entry.get(word, {}).items():
            yield Deliverable(kind=kind, name=name, detail=detail, **common)


@functools.cache
def known_deliverables() -> tuple[Deliverable, ...]:
    """Return every deliverable of every option, in the order of the option table; what always comes along is last."""
    common = (Deliverable(option="output.export", kind=kind, name=name, chips=series_among()) for kind, name in _COMMON)
    return (*_option_deliverables(), *common)


NOT_SIMULATED: Mapping[str, str] = LazyTable(reasons_not_simulated)
"""
Names of deliverables that an option asks for by name, with why drynpu writes no records of them.

What comes along with every recording of tasks, and what lacks tools on the host, is in
``drynpu.deliverables.records.UNMODELLED``.
"""


def deliverables(request: ProfilingRequest, chip: str) -> tuple[Deliverable, ...]:
    """
    Return what *request* leaves in ``mindstudio_profiler_output`` and beside it (cann_msprof.md 3).

    *chip* is a platform version, series or SoC name; what it lacks is not among them. Each comes with what must happen
    in the run for it to have data, so one that is missing from a real run must have an unmet need. A file that several
    options leave appears for each of them.

    Raises
    ------
    OptionError
        For an unknown chip.
    """
    here = resolve_series(chip)
    return tuple(row for row in known_deliverables() if _is_left(row, request, here))


def _is_left(row: Deliverable, request: ProfilingRequest, here: str | None) -> bool:
    """Whether *request* leaves a deliverable on a class of chips; ``None`` is any."""
    written = ExportType.TEXT in request.output.export or row.kind is DeliverableKind.DB
    return written and (here is None or here in row.chips) and row.when(request)


def _of_option(request: ProfilingRequest, path: str, chip: str | None) -> list[Deliverable]:
    here = None if chip is None else resolve_series(chip)
    return [row for row in known_deliverables() if row.option == path and _is_left(row, request, here)]


def files_of_option(request: ProfilingRequest, path: str, *, torch: bool, chip: str | None = None) -> tuple[str, ...]:
    """
    Return the files that the option at *path* leaves with its effective value; empty when it leaves none.

    *torch* picks ``ASCEND_PROFILER_OUTPUT`` (torch_npu_profiler.md 3.6) over ``mindstudio_profiler_output``
    (cann_msprof.md 3). A file named for several options needs only one of them; none is written empty. Without *chip*
    the files of all chips are named. An option that leaves no file of its own has its part of the timeline.
    """
    if torch:
        return tuple(dict.fromkeys(_torch_files(request, path)))
    rows = _of_option(request, path, chip)
    files = [row.title for row in rows if row.kind is not DeliverableKind.LAYER]
    return tuple(dict.fromkeys(files or (row.title for row in rows)))


_DATABASES = {"database": "ascend_pytorch_profiler*.db", "analysis": "analysis.db"}


def _torch_files(request: ProfilingRequest, path: str) -> Iterator[str]:
    row = option_rows().get(path)
    entries = [] if row is None else [e for e in row.torch_files if Condition.of_entry(row, e).holds(request)]
    for entry in entries:
        if ExportType.TEXT in request.output.export:
            yield from entry.get("text", ())
        if ExportType.DB in request.output.export:
            for word, file in _DATABASES.items():
                if word in entry:
                    yield f"{file} ({entry[word]})" if entry[word] else file


def unsimulated_of_option(
    request: ProfilingRequest, path: str, *, torch: bool, chip: str | None = None
) -> dict[str, str]:
    """
    Return the files and layers that the option at *path* leaves on a real device only, with the reason.

    They are among the results of `files_of_option`, to which the arguments belong; layers are named beside files.

    Raises
    ------
    OptionError
        For an unknown chip.
    """
    if torch:
        files = files_of_option(request, path, torch=True)
        return {file: NOT_SIMULATED[stem] for file in files if (stem := file.split(".")[0]) in NOT_SIMULATED}
    rows = _of_option(request, path, chip)
    return {row.title: NOT_SIMULATED[row.name] for row in rows if row.name in NOT_SIMULATED}
