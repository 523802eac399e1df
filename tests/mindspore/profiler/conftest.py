"""A host and a backend that write down what the surface does with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from drynpu_mindspore.profiler import Analysis, Generation, RunRequest, Surface, build_surface

Event = tuple[Any, ...]


@define
class RecordingLog:
    """Keeps (level, text)."""

    events: list[Event]

    def info(self, msg: str, *args: object) -> None:
        self.events.append(("info", msg % args))

    def warning(self, msg: str, *args: object) -> None:
        self.events.append(("warning", msg % args))

    def error(self, msg: str, *args: object) -> None:
        self.events.append(("error", msg % args))


class Callback:
    """What callbacks derive from."""


class Stream:
    """What marks take."""


@define
class FakeHost:
    log: RecordingLog
    target: str = "Ascend"
    waits: int = 0
    callback_base: type = Callback
    stream_class: type = Stream
    version: str = "2.7.2"
    number: int = 0
    fails: list[Exception] = field(factory=list)

    def device_target(self) -> str:
        return self.target

    def device_id(self) -> int:
        return self.number

    def jit_level(self) -> str:
        return "O0"

    def synchronize(self) -> None:
        self.waits += 1
        if self.fails:
            raise self.fails.pop()


@define
class LikeHost:
    """The host that mindspore_like is, with its waits counted."""

    genuine: Any
    waits: int = 0
    fails: list[Exception] = field(factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.genuine, name)

    @property
    def number(self) -> int:
        return self.genuine.context.device_id

    @number.setter
    def number(self, value: int) -> None:
        self.genuine.context.device_id = value

    @property
    def target(self) -> str:
        return self.genuine.context.device_target

    @target.setter
    def target(self, value: str) -> None:
        self.genuine.context.device_target = value

    def synchronize(self) -> None:
        self.waits += 1
        self.genuine.synchronize()
        if self.fails:
            raise self.fails.pop()


def like_host(log: RecordingLog) -> LikeHost:
    from mindspore_like._context import Context
    from mindspore_like._runtime import LikeHost as Genuine

    return LikeHost(Genuine(Context(kept={"jit_level": "O0"}), log))


HOSTS: dict[str, Callable[[RecordingLog], Any]] = {"any": FakeHost, "mindspore_like": like_host}


@define
class RecordingBackend:
    """Keeps the calls in order; *fails* names methods that raise."""

    events: list[Event]
    requests: list[RunRequest] = field(factory=list)
    analyses: list[Analysis] = field(factory=list)
    metadata: list[tuple[dict[str, Any], int | None]] = field(factory=list)
    fails: set[str] = field(factory=set)
    failed_runs: dict[Path, str] = field(factory=dict)

    def _note(self, name: str, *facts: Any) -> None:
        self.events.append((name, *facts))
        if name in self.fails:
            raise ValueError(f"no {name} today")

    def prepare(self) -> None:
        """Constructing a profiler is no event."""

    def configured(self, request: RunRequest) -> None:
        """What it would record is none either."""

    def trained(self) -> None:
        """A step of a training is none."""

    def init(self, request: RunRequest) -> Path:
        self.requests.append(request)
        self._note("init")
        return request.folder / f"{request.worker_name or 'host'}_1_{len(self.requests)}_ascend_ms"

    def start(self) -> None:
        self._note("start")

    def stop(self) -> None:
        self._note("stop")

    def finalize(self) -> None:
        self._note("finalize")

    def write_metadata(self, metadata: Mapping[str, Any], indent: int | None) -> None:
        self.metadata.append((dict(metadata), indent))
        self._note("write_metadata")

    def trace_ready(self) -> None:
        self._note("trace_ready")

    def clear(self) -> None:
        self._note("clear")

    def exchange(self, held: object) -> object:
        return held

    def delete_dir(self) -> None:
        self._note("delete_dir")

    def save(self, settle: object, metadata: object) -> None:
        """Accept a step boundary."""

    def open_step(self, number: int) -> None:
        self._note("open_step", number)

    def close_step(self) -> None:
        self._note("close_step")

    def analyse(self, how: Analysis) -> None:
        self.analyses.append(how)
        self._note("analyse")

    def analyse_offline(self, runs: Sequence[Path], how: Analysis, processes: int) -> Mapping[Path, str]:
        self.analyses.append(how)
        self._note("analyse_offline", [run.name for run in runs], processes)
        return self.failed_runs

    def mark(self, message: str, domain: str, stream: object | None) -> None:
        self._note("mark", message, domain, stream)

    def range_start(self, message: str, domain: str, stream: object | None) -> int:
        self._note("range_start", message, domain, stream)
        return len(self.events)

    def range_end(self, range_id: int, domain: str) -> None:
        self._note("range_end", range_id, domain)


@define
class Bench:
    """A surface, and what it did."""

    events: list[Event]
    host: Any
    backend: RecordingBackend
    surface: Surface

    def take(self) -> list[Event]:
        """Return what happened since the last call, without notes of transitions."""
        taken = [event for event in self.events if event[0] != "info"]
        self.events.clear()
        return taken

    def calls(self) -> list[str]:
        """Return the backend's calls since the last call, by name."""
        return [event[0] for event in self.take() if event[0] not in ("warning", "error")]

    def texts(self) -> list[Event]:
        """Return the warnings and errors since the last call."""
        return [event for event in self.take() if event[0] in ("warning", "error")]


def make_bench(generation: Generation = Generation.V27, host_of: Callable[[RecordingLog], Any] = FakeHost) -> Bench:
    events: list[Event] = []
    host, backend = host_of(RecordingLog(events)), RecordingBackend(events)
    return Bench(events, host, backend, build_surface(host, backend, generation))


@pytest.fixture(params=HOSTS)
def bench_of(request: pytest.FixtureRequest) -> Callable[[Generation], Bench]:
    """Every test runs with a host that has only what the surface asks for, and with mindspore_like's."""
    return functools.partial(make_bench, host_of=HOSTS[request.param])


@pytest.fixture
def bench(bench_of: Callable[[Generation], Bench]) -> Bench:
    return bench_of(Generation.V27)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name in ("RANK_ID", "DEVICE_ID", "PROFILING_MODE", "MS_PROFILER_OPTIONS", "MSMONITOR_USE_DAEMON"):
        monkeypatch.delenv(name, raising=False)
    return
