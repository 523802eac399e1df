"""What takes over what the runtime does: a recording."""

from __future__ import annotations

from typing import Protocol

from drynpu.kernels import Operators


class Listener(Protocol):
    """Takes over what happens, on the thread that called. Times are Unix ns."""

    def executed(self, model_id: int, stream: int, operators: Operators, start_ns: int, end_ns: int) -> None:
        """
        Take over one run of a model.

        Parameters
        ----------
        stream:
            Number of the stream: 0 the context's default stream, others as they were created from 1 on.
        operators:
            One row per operator of the compiled graph, between *start_ns* and *end_ns*, on the calling thread.
            Signatures come from :mod:`drynpu_acl.kernels`; runs of equal shapes share the tuple.
        """

    def memcpy(self, kind: int, size: int, start_ns: int, end_ns: int) -> None:
        """Take over a copy of *size* bytes: kind 0 host to host, 1 host to device, 2 back, 3 within the device."""

    def api(self, name: str, start_ns: int, end_ns: int, arguments: tuple[object, ...], waited: int) -> None:
        """Take over one call of the vendor's library, as `drynpu_acl.binding` tells it."""


class Lifecycle(Protocol):
    """Takes part in the beginning and the end of the library."""

    def initialize(self, config_path: str | None) -> int:
        """Begin what the configuration file of ``acl.init`` asks for and return 0, or the code of what is wrong."""

    def finalize(self) -> None:
        """End it."""


class EventTimer(Protocol):
    """Knows when the simulated device reaches events, which are given by their handles."""

    def on_record(self, event: int) -> None:
        """Note that an event is about to be recorded."""

    def times_ns(self, *events: int) -> tuple[int, ...] | None:
        """Return when the device reaches the last records of events; ``None`` where that is not known of one."""

    def forget(self, event: int) -> None:
        """Forget an event that is no more."""
