"""What happens to streams, events and memory of the npu, told to functions that registered for it."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field


@define(eq=False)
class Callbacks:
    """
    Functions that are called, with ids, whenever one kind of thing happens.

    Attributes
    ----------
    functions:
        By a name that the caller chose; a second function of the same name replaces the first.
    """

    functions: dict[str, Callable[..., object]] = field(factory=dict)

    def register(self, callback: Callable[..., object], name: str) -> None:
        """Let *callback* be called from now on."""
        self.functions[name] = callback

    def fire(self, *ids: int) -> None:
        """Call the functions in the order of their registration."""
        for function in tuple(self.functions.values()):
            function(*ids)


@define(eq=False)
class DeviceTrace:
    """
    The functions to call, by what happens.

    Events and streams are given by their ids, storages by their addresses. Recording an event, and waiting for it,
    gives ``(event, stream)``; keeping memory for a stream gives ``(address, stream)``.
    """

    event_creation: Callbacks = field(factory=Callbacks)
    event_deletion: Callbacks = field(factory=Callbacks)
    event_record: Callbacks = field(factory=Callbacks)
    event_wait: Callbacks = field(factory=Callbacks)
    event_synchronization: Callbacks = field(factory=Callbacks)
    memory_allocation: Callbacks = field(factory=Callbacks)
    memory_deallocation: Callbacks = field(factory=Callbacks)
    stream_creation: Callbacks = field(factory=Callbacks)
    stream_synchronization: Callbacks = field(factory=Callbacks)
    device_synchronization: Callbacks = field(factory=Callbacks)
    record_stream: Callbacks = field(factory=Callbacks)
    erase_stream: Callbacks = field(factory=Callbacks)
