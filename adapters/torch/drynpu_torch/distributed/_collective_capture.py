"""Capture of the calls of ``torch.distributed``: who issued each, when, and what waits for it."""

from __future__ import annotations

import contextlib
import enum
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from attrs import define, field

from drynpu.device.collectives import MESSAGES
from drynpu_torch.device import DeviceListener, state
from drynpu_torch.distributed._exchange import announce_recording
from drynpu_torch.distributed._groups import Group, find_group
from drynpu_torch.distributed._interception import interception
from drynpu_torch.distributed._issued import Communication, Issued, one_batch
from drynpu_torch.distributed._payloads import CALLS, Payload

_CPU = torch.device("cpu")


class _Caller(enum.Enum):
    """The code that issues a collective, on which it depends who waits for the collective."""

    PYTHON = enum.auto()
    """A function of torch.distributed: it or its caller waits on the Work."""
    REDUCER = enum.auto()
    """DistributedDataParallel in the backward pass: it waits at its end, in C++."""
    HELPER = enum.auto()
    """DistributedDataParallel outside: it waits before it returns, in C++."""
    OTHER = enum.auto()
    """Any other code (functional collectives): later work of the stream waits."""


_CALLERS = {
    "torch.distributed.distributed_c10d": _Caller.PYTHON,
    "torch.autograd.graph": _Caller.REDUCER,
    "torch.nn.parallel.distributed": _Caller.HELPER,
    "torch.distributed.utils": _Caller.HELPER,
}


class WaitListener(DeviceListener, Protocol):
    """A listener of the device that receives times to leave out as well."""

    def pause(self, begin_ns: int, end_ns: int) -> None:
        """Note a time in which the host did the work of a device."""


@define(eq=False)
class CollectiveCapture:
    """Records the collectives of groups with the backend ``hccl`` between :meth:`start` and :meth:`stop`."""

    listener: WaitListener
    announced: bool = True
    """Whether other ranks record, too, so that recordings are numbered to meet."""
    _issued: list[Issued] = field(factory=list)
    _groups: dict[str, Group | None] = field(factory=dict)
    _events: WeakKeyDictionary[dist.Work, tuple[int, bool]] = field(factory=WeakKeyDictionary)
    _local: threading.local = field(factory=threading.local)
    _number: int | None = None
    _wait: Callable[..., bool] = field(init=False)
    _stack: contextlib.ExitStack = field(factory=contextlib.ExitStack)

    def start(self) -> None:
        """Observe the operators of ``c10d``, and put a wrapper around ``Work.wait``."""
        if not dist.is_available():
            return
        if self.announced and dist.is_initialized():
            self._number = announce_recording()
        self._stack.callback(interception().add(self))
        self._wait = dist.Work.wait
        self._stack.callback(setattr, dist.Work, "wait", self._wait)
        dist.Work.wait = self._waiting()  # type: ignore[method-assign]

    @property
    def issued(self) -> list[Issued]:
        """The calls so far, in the order in which they returned; it grows until its reader clears it."""
        return self._issued

    def stop(self) -> Communication:
        """End both, and return the calls that were issued."""
        self._stack.close()
        return Communication(issued=tuple(self._issued), number=self._number)

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Treat the sends and receives inside as one operator, as HCCL does."""
        parts: list[Any] = []
        self._local.batch = parts
        self._local.batch_event = next(state().event_ids)
        try:
            yield
        finally:
            self._local.batch = None
            if parts:
                self._issued.append(one_batch(parts))

    def on_call(self, name: str, values: Mapping[str, Any], result: Any, begin_ns: int) -> None:
        """Note a call of the operator *name* that began at *begin_ns* (Unix ns), if its group is of the device."""
        process_group = dist.ProcessGroup.unbox(values["process_group"])
        group = self._group(process_group)
        if group is not None:
            boxed = result[-1] if isinstance(result, (tuple, list)) else result
            self._note(name, values, group, process_group, dist.Work.unbox(boxed), begin_ns)

    def _group(self, process_group: dist.ProcessGroup) -> Group | None:
        name = process_group.group_name
        if name not in self._groups:
            self._groups[name] = find_group(process_group)
        if self._number is None and self._groups[name] is not None:
            self._number = announce_recording()
        return self._groups[name]

    def _note(
        self,
        name: str,
        values: Mapping[str, object],
        group: Group,
        process_group: dist.ProcessGroup,
        work: dist.Work,
        begin_ns: int,
    ) -> None:
        payload = CALLS[name](values, len(group.ranks))
        batch = getattr(self._local, "batch", None) if payload.kind in MESSAGES else None
        caller = _caller()
        waits_later = caller in (_Caller.PYTHON, _Caller.REDUCER)
        event = (self._local.batch_event if batch is not None else next(state().event_ids)) if waits_later else None
        if caller is _Caller.HELPER:
            self._wait(work)
        issued = Issued(
            group=group,
            payload=payload,
            sequence=process_group._get_backend(_CPU)._get_sequence_number_for_group(),  # type: ignore[attr-defined]
            begin_ns=begin_ns,
            end_ns=time.time_ns(),
            thread=threading.get_native_id(),
            event=event,
            messages=_messages(payload, group),
        )
        (self._issued if batch is None else batch).append(issued)
        if event is not None:
            self._events[work] = event, name == "barrier"
            # Without this reference the weak key would vanish before torch.distributed holds the Work.
            self._local.work = work
        if caller is _Caller.REDUCER:
            _at_end_of_backward(work)

    def _waiting(self) -> Callable[..., bool]:
        wait, recorder = self._wait, self

        def waiting(work: dist.Work, *args: object, **kwargs: object) -> bool:
            issued = recorder._events.get(work)
            if issued is None:
                return wait(work, *args, **kwargs)
            begin_ns = time.time_ns()
            done = wait(work, *args, **kwargs)
            event, host_waits = issued
            recorder.listener.pause(begin_ns, time.time_ns())
            stream = state().selected_stream(state().current_device)
            recorder.listener.on_event(event, 0 if stream is None else stream.stream_id, "wait")
            if host_waits:
                recorder.listener.on_synchronize(None)
            return done

        return waiting


def _messages(payload: Payload, group: Group) -> tuple[tuple[int, int, int], ...]:
    """Return (sender, receiver, tag) of a send or receive, with global ranks; nothing for other operators."""
    if payload.kind not in MESSAGES or payload.peer is None:
        return ()
    ends = (group.rank, group.ranks[payload.peer])
    sender, receiver = ends if payload.kind == "send" else ends[::-1]
    return ((sender, receiver, payload.tag),)


# N25, docs/tricks.md
def _caller() -> _Caller:
    """Return the caller of the kernel: the innermost Python frame outside this module and the dispatcher."""
    try:
        frame = sys._getframe(4)  # past this function, _note, on_call and the kernel
    except ValueError:  # no Python frame is left: a thread of the autograd engine
        return _Caller.REDUCER
    return _CALLERS.get(frame.f_globals.get("__name__", ""), _Caller.OTHER)


def _at_end_of_backward(work: dist.Work) -> None:
    """
    Wait where DistributedDataParallel waits, just before it does so in C++, where Python sees nothing of it.

    Final callbacks of a backward pass run in order, and the reducer adds its callback after its last bucket.
    """
    with contextlib.suppress(RuntimeError):  # not in a backward pass after all
        torch.autograd.Variable._execution_engine.queue_callback(work.wait)  # type: ignore[arg-type]


def batch_of_device(run: Callable[[], list[dist.Work]]) -> list[dist.Work]:
    """Run a batch of sends and receives, as one operator of the device while a recording runs."""
    recorder = getattr(state().recorder, "communication", None)
    if recorder is None:
        return run()
    with recorder.batch():
        return run()
