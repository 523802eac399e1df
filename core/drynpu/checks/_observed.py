"""What one process of a checked script did, as the adapter noted it and a file hands it on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import cattrs
import orjson
from attrs import field, frozen


@frozen(order=True)
class Place:
    """A line of the user's script."""

    file: str
    line: int

    def __str__(self) -> str:
        """Return ``file:line``, below the working directory where the file is."""
        try:
            return f"{Path(self.file).relative_to(Path.cwd())}:{self.line}"
        except ValueError:
            return f"{self.file}:{self.line}"


@frozen(kw_only=True)
class ObservedProfiler:
    """
    A profiler of the script, which records nothing while the script is checked.

    Attributes
    ----------
    request:
        What it asks for, as a mapping of the neutral model.
    schedule:
        The numbers of its schedule; ``None`` where it has none or a function.
    has_schedule, handler:
        Whether there is a schedule of any kind; ``tensorboard``, ``function`` or "" without ``on_trace_ready``.
    steps:
        How often its ``step`` was called.
    optimizer_steps:
        Steps of the first optimizer while it was started.
    """

    place: Place | None
    request: dict[str, Any]
    schedule: dict[str, int] | None
    has_schedule: bool
    handler: str
    started: bool = False
    steps: int = 0
    optimizer_steps: int = 0
    ended: bool = True
    """Whether the script has ended it, where its kind has to be ended."""


@frozen(kw_only=True)
class ObservedOutput:
    """A path that results go to: ``directory`` of a handler, or a ``file`` that is exported."""

    kind: str
    path: str
    place: Place | None
    worker: str = ""


@frozen(kw_only=True)
class ObservedMessage:
    """What the profiler said, of which option; ``severity`` is ``INFO``, ``WARNING`` or ``ERROR``."""

    severity: str
    text: str
    place: Place | None
    option: str = ""


@frozen(kw_only=True)
class ObservedFailure:
    """The error that ended a script, and the innermost line of the script that it passed."""

    text: str
    place: Place | None


@frozen(kw_only=True)
class ObservedWait:
    """
    A line that waits for the device.

    ``index`` is in the name of its ranges in the recording; where there are none, ``times`` says how often it waited
    while the check recorded.
    """

    index: int
    call: str
    place: Place
    times: int = 0


@frozen(kw_only=True)
class ObservedOperator:
    """Calls of one operator on the npu from one line, in one step; the set-up counts with the first step."""

    name: str
    place: Place
    calls: int
    double_calls: int
    """Calls with a result of FLOAT64."""


@frozen(kw_only=True)
class ObservedCall:
    """Calls of a library from one line that returned one code of an error; ``reason`` is its name."""

    name: str
    code: int
    reason: str
    place: Place
    times: int = 1


@frozen(kw_only=True)
class Observation:
    """
    What one process did.

    Attributes
    ----------
    optimizer_steps, profiler_steps:
        Steps that were made until the process ended.
    limited:
        Whether it was ended at the limit of steps; else it came to its own end.
    calls:
        Calls that failed, of a library whose functions return codes.
    peak_allocated_bytes, peak_reserved_bytes:
        Device memory; ``None`` if nothing was there to ask.
    operators:
        Of the step before the recorded ones, or of the whole script where it makes no steps.
    """

    pid: int
    framework: str = "torch"
    rank: str = ""
    served_by: str = ""
    optimizer_steps: int = 0
    profiler_steps: int = 0
    limited: bool = False
    failure: ObservedFailure | None = None
    peak_allocated_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    profilers: tuple[ObservedProfiler, ...] = ()
    outputs: tuple[ObservedOutput, ...] = ()
    messages: tuple[ObservedMessage, ...] = ()
    waits: tuple[ObservedWait, ...] = ()
    calls: tuple[ObservedCall, ...] = ()
    operators: tuple[ObservedOperator, ...] = field(default=(), repr=False)

    @property
    def steps(self) -> int:
        """Steps that were made, by the optimizer where there is one."""
        return self.optimizer_steps or self.profiler_steps

    def write(self, folder: Path) -> None:
        """Leave it in *folder* for `read_observations`, whole or not at all."""
        path = folder / f"{self.pid}.json"
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(orjson.dumps(attrs.asdict(self)))
        unfinished.replace(path)


WAIT_RANGE = "drynpu-check:wait:"
"""Beginning of the names of ranges around waits; the index follows."""


def read_observations(folder: Path) -> list[Observation]:
    """Return what the processes left in *folder*, by process id; empty where no framework was imported."""
    converter = cattrs.Converter()
    return [
        converter.structure(orjson.loads(path.read_bytes()), Observation)
        for path in sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    ]
