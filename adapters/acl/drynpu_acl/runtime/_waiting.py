"""Waiting for streams, and the callbacks that they may hold."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from drynpu_acl.constants import ReturnCode
from drynpu_acl.runtime._devices import Callback, Devices, Stream

_FOREVER_MS = -1


class Waiting:
    """Synchronisation of the streams of *devices*."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._changed = threading.Condition()
        self._closed = 0

    def synchronize_stream(self, handle: int, timeout_ms: int = _FOREVER_MS) -> int:
        """Wait until a stream has drained; the code comes from a run that failed on it."""
        if timeout_ms < _FOREVER_MS:
            return ReturnCode.INVALID_PARAM
        code, stream = self._devices.stream(handle)
        return code if stream is None else self._drained([stream], timeout_ms)

    def synchronize_device(self) -> int:
        """Wait for all streams of this thread's context."""
        context = self._devices.current
        if context is None:
            return ReturnCode.CONTEXT_NULL
        return self._drained(self._devices.streams_of(context), _FOREVER_MS)

    def _drained(self, streams: list[Stream], timeout_ms: int) -> int:
        round_before = self._closed
        with self._changed:
            done = self._changed.wait_for(
                lambda: self._closed != round_before or not any(s.unfinished for s in streams), _seconds(timeout_ms)
            )
        if not done:
            return ReturnCode.STREAM_SYNC_TIMEOUT
        codes = [stream.error for stream in streams if stream.error]
        for stream in streams:
            stream.error = ReturnCode.SUCCESS
        return codes[0] if codes else ReturnCode.SUCCESS

    def subscribe(self, thread: int, handle: int) -> int:
        """Let a thread run the callbacks of a stream."""
        code, stream = self._devices.stream(handle)
        if stream is None:
            return code
        with self._changed:
            if stream.subscriber is not None:
                return ReturnCode.STREAM_SUBSCRIBE
            stream.subscriber = thread
        return ReturnCode.SUCCESS

    def unsubscribe(self, thread: int, handle: int) -> int:
        """Let the thread run no more callbacks of the stream; those that still wait are dropped."""
        code, stream = self._devices.stream(handle)
        if stream is None:
            return code
        with self._changed:
            if stream.subscriber is None:
                return ReturnCode.STREAM_SUBSCRIBE
            if stream.subscriber != thread:
                return ReturnCode.THREAD_SUBSCRIBE
            stream.subscriber = None
            stream.callbacks.clear()
            stream.unfinished = 0
            self._changed.notify_all()
        return ReturnCode.SUCCESS

    def launch(self, function: Callable[[Any], object], argument: object, blocks: int, handle: int) -> int:
        """
        Put a callback on a stream; with *blocks* 1 who waits for the stream waits for it.

        Raises
        ------
        TypeError
            The first argument cannot be called.
        """
        if not callable(function):
            raise TypeError("parameter must be callable")
        if blocks not in (0, 1):
            return ReturnCode.INVALID_PARAM
        code, stream = self._devices.stream(handle)
        if stream is None:
            return code
        with self._changed:
            if stream.subscriber is None:
                return ReturnCode.STREAM_NO_CALLBACK
            stream.callbacks.append(Callback(function, argument, bool(blocks)))
            stream.unfinished += blocks
            self._changed.notify_all()
        return ReturnCode.SUCCESS

    def process(self, timeout_ms: int) -> int:
        """
        Run one callback of the streams that this thread is subscribed to; wait for one if there is none.

        What the callback raises is raised.
        """
        if timeout_ms < _FOREVER_MS:
            return ReturnCode.INVALID_PARAM
        mine, round_before = threading.get_ident(), self._closed
        limit = _seconds(timeout_ms)
        until = None if limit is None else time.monotonic() + limit
        with self._changed:
            while True:
                if self._closed != round_before:
                    return ReturnCode.REPORT_TIMEOUT
                streams = [s for s in self._all_streams() if s.subscriber == mine]
                if not streams:
                    return ReturnCode.THREAD_SUBSCRIBE
                ready = next((s for s in streams if s.callbacks), None)
                if ready is not None:
                    callback = ready.callbacks.popleft()
                    break
                rest = None if until is None else until - time.monotonic()
                if rest is not None and rest <= 0:
                    return ReturnCode.REPORT_TIMEOUT
                self._changed.wait(rest)
        try:
            callback.function(callback.argument)
        finally:
            with self._changed:
                ready.unfinished = max(ready.unfinished - callback.blocks, 0)
                self._changed.notify_all()
        return ReturnCode.SUCCESS

    def _all_streams(self) -> Iterable[Stream]:
        for context in self._devices.contexts.values():
            yield context.default_stream
        yield from self._devices.streams.values()

    def close(self) -> None:
        """Wake all threads that wait: the library ends."""
        with self._changed:
            self._closed += 1
            self._changed.notify_all()


def _seconds(timeout_ms: int) -> float | None:
    return None if timeout_ms == _FOREVER_MS else timeout_ms / 1000
