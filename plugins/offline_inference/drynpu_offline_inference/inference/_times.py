"""
How long runs and copies take on the device: the calls of all sessions, put on the same simulated device as a recording.

The vendor's module reads the host's clock around each call. Here the CPU computes inside the call, so that reading
would be the CPU's time. The calls are kept instead, and simulated when somebody asks for their times; on the clock
``wall`` they stay as they were measured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from attrs import define, field, frozen

from drynpu import say_once
from drynpu.options import Clock
from drynpu.recorder import Planner
from drynpu.simulate import simulate
from drynpu_acl.prof import AclSettings
from drynpu_acl.recording import ApiCall, CapturedCalls, CopyCall, ModelExecution, assemble, graph_plans

Sink = Callable[[int, int], None]
"""Takes over when a call began and returned on the modelled timeline, Unix ns."""
_MOST_RUNS = 256
"""Runs that are kept before their times are worked out unasked."""


@frozen(eq=False)
class _TimedCall:
    owner: object
    call: ApiCall
    sink: Sink


@define
class DeviceTimes:
    """
    The calls whose times nobody asked for yet.

    ``plan`` maps the nodes of models to kernels.
    """

    settings: AclSettings
    plan: Planner
    _captured: CapturedCalls = field(factory=CapturedCalls)
    _waiting: list[_TimedCall] = field(factory=list)
    _lock: threading.RLock = field(factory=threading.RLock)

    @property
    def modelled(self) -> bool:
        """Whether times come from the simulated device; else they are measured on this CPU."""
        return self.settings.shared.clock is not Clock.WALL

    def add_run(self, owner: object, execution: ModelExecution, call: ApiCall, sink: Sink) -> None:
        """Keep a run of a model and the call that made it."""
        with self._lock:
            self._captured.executions.append(execution)
            self._captured.calls.append(call)
            self._waiting.append(_TimedCall(owner, call, sink))
            if len(self._captured.executions) >= _MOST_RUNS:
                self.settle()

    def add_copy(self, owner: object, copy: CopyCall, call: ApiCall, sink: Sink) -> None:
        """Keep a copy and the call that made it."""
        with self._lock:
            self._captured.copies.append(copy)
            self._captured.calls.append(call)
            self._waiting.append(_TimedCall(owner, call, sink))

    def forget(self, owner: object) -> None:
        """Tell nobody the times of an owner's calls that are still kept; they stay on the timeline."""
        with self._lock:
            self._waiting = [each for each in self._waiting if each.owner is not owner]

    def name_source(self) -> None:
        """Say once what the times are that a script asks for."""
        if self.modelled:
            say_once(f"aclruntime: times of runs and copies are modelled ({self.settings.chip.name}), not measured")
        else:
            say_once("aclruntime: times of runs and copies are measured on this CPU (DRYNPU_CLOCK=wall)")

    def settle(self) -> None:
        """Work out the times of all kept calls and hand them to their sinks, in the order of the calls."""
        with self._lock:
            captured, self._captured = self._captured, CapturedCalls()
            waiting, self._waiting = self._waiting, []
            if not waiting:
                return
            shown: dict[int, tuple[int, int]] = {}
            devices = sorted({each.call.device_id for each in waiting})
            for device_id, part in captured.by_device(devices).items():
                shown.update(self._simulate(part, device_id))
            for each in waiting:
                each.sink(*shown[id(each.call)])

    def _simulate(self, captured: CapturedCalls, device_id: int) -> dict[int, tuple[int, int]]:
        """Return for each call when it begins and returns beside the device."""
        calls = captured.calls
        if not calls:
            return {}
        start_ns = np.array([call.start_ns for call in calls], np.int64)
        end_ns = np.array([call.end_ns for call in calls], np.int64)
        begin_ns, plan = int(start_ns.min()), graph_plans(self.plan)
        simulation = simulate(
            assemble(captured, device_id, plan, begin_ns=begin_ns, end_ns=int(end_ns.max())),
            plan=plan,
            chip=self.settings.chip,
            clock=self.settings.shared.clock,
            seed=self.settings.shared.seed,
            base_ns=begin_ns,
        )
        begun, returned = simulation.time_map(start_ns).tolist(), simulation.time_map.ends(end_ns).tolist()
        return {id(call): each for call, each in zip(calls, zip(begun, returned, strict=True), strict=True)}
