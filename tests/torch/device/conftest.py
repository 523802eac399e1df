"""One process with the device installed; every test starts on device 0, default stream, nothing recording."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("torch")

for _name in ("DRYNPU_DEVICES", "DRYNPU_CHIP", "ASCEND_RT_VISIBLE_DEVICES"):
    os.environ.pop(_name, None)

from drynpu_torch.device import DeviceState, Stream  # noqa: E402
from drynpu_torch.install import install  # noqa: E402


@pytest.fixture(autouse=True)
def npu() -> Iterator[DeviceState]:
    """Return the device's state, as at the start of a process, and leave it so."""
    state = install()
    yield state
    state.recorder = None
    for index in range(state.device_count):
        state.select_stream(Stream(index, stream_id=0))
    state.select_device(0)
    state.options.clear()


class RecordedCalls:
    """A recorder that keeps what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def on_stream(self, stream_id: int) -> None:
        """Keep."""
        self.calls.append(("stream", stream_id))

    def on_synchronize(self, stream_id: int | None) -> None:
        """Keep."""
        self.calls.append(("synchronize", stream_id))

    def on_event(self, event_id: int, stream_id: int, action: str) -> None:
        """Keep."""
        self.calls.append((action, event_id, stream_id))


@pytest.fixture
def recorded(npu: DeviceState) -> RecordedCalls:
    """Set a recorder and return it."""
    recorder = RecordedCalls()
    npu.recorder = recorder
    return recorder


Tree = tuple[str, tuple["Tree", ...]]


@pytest.fixture
def traced() -> Callable[[Callable[[], object]], tuple[Tree, ...]]:
    """Return a function that runs another under Kineto and gives the calls as nested (name, children)."""
    from torch.autograd.profiler import profile

    def shape(event: object) -> Tree:
        return event.name, tuple(map(shape, event.children))

    def run(work: Callable[[], object]) -> tuple[Tree, ...]:
        with profile(use_kineto=True) as profiler:
            work()
        return tuple(map(shape, profiler.kineto_results.experimental_event_tree()))

    return run
