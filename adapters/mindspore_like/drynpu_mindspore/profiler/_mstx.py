"""``mstx``: marks and ranges of the user's (mindspore_profiler.md 9)."""

from __future__ import annotations

from typing import ClassVar

from drynpu_mindspore.profiler._session import Session


class Mstx:
    """Marks and ranges, while a profiler with ``mstx=True`` records; nothing otherwise."""

    _session: ClassVar[Session]

    @classmethod
    def _takes(cls, function: str, message: object, domain: object, stream: object) -> bool:
        if not isinstance(message, str) or not message:
            cls._refuse(f"Invalid message for mstx.{function} func. Please input valid message string.")
            return False
        return cls._takes_domain(function, domain) and cls._takes_stream(function, stream)

    @classmethod
    def _takes_domain(cls, function: str, domain: object) -> bool:
        fits = isinstance(domain, str) and bool(domain)
        if not fits:
            cls._refuse(f"Invalid domain name for mstx.{function} func. Please input str and can not be empty.")
        return fits

    @classmethod
    def _takes_stream(cls, function: str, stream: object) -> bool:
        fits = not stream or isinstance(stream, cls._session.host.stream_class)
        if not fits:
            cls._refuse(
                f"Invalid stream for mstx.{function} func. Expected mindspore.runtime.Stream but got {type(stream)}."
            )
        return fits

    @classmethod
    def _refuse(cls, text: str) -> None:
        cls._session.user_log.warning(text)

    @classmethod
    def mark(cls, message: str, stream: object = None, domain: str = "default") -> None:
        """Record a point in time; with *stream* also on the device."""
        if cls._session.collects_marks and cls._takes("mark", message, domain, stream):
            cls._session.backend.mark(message, domain, stream)

    @classmethod
    def range_start(cls, message: str, stream: object = None, domain: str = "default") -> int:
        """Begin a range and return its id; 0 where none was begun."""
        if cls._session.collects_marks and cls._takes("range_start", message, domain, stream):
            return cls._session.backend.range_start(message, domain, stream)
        return 0

    @classmethod
    def range_end(cls, range_id: int, domain: str = "default") -> None:
        """End the range with that id; 0 is no range."""
        if not cls._session.collects_marks:
            return
        if not isinstance(range_id, int) or range_id < 0:
            cls._refuse("Invalid range_id for mstx.range_end func. Please input return value from mstx.range_start.")
            return
        if range_id and cls._takes_domain("range_end", domain):
            cls._session.backend.range_end(range_id, domain)
