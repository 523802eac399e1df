"""How raw host times, device ticks and Unix time belong together (cann_msprof.md 2.5), in exact integers."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
from attrs import Attribute, field, frozen

from drynpu._errors import RawFormatError
from drynpu.arrays import I64, Array
from drynpu.host import raw_monotonic_ns

NS_PER_S = 1_000_000_000
# (counter mod hz) * 1e9 must fit in 63 bits.
_FASTEST_HZ = 4 * NS_PER_S
# Sums of readings must fit in 63 bits.
_LARGEST = {
    "collection_begin_us": 2**62 // 1000,
    "monotonic_raw_ns": 2**60,
    "host_cntvct": 2**62,
    "device_cntvct": 2**62,
    "host_counter_ns": 2**60,
    "device_counter_ns": 2**60,
}


def _check_device_hz(_: object, __: Attribute[int], value: int) -> None:
    if not 1 <= value <= _FASTEST_HZ:
        message = f"device_hz is {value}: the device counter runs at 1 to {_FASTEST_HZ} Hz"
        raise RawFormatError(message)


def _check_host_hz(_: object, __: Attribute[int], value: int) -> None:
    if not 0 <= value <= _FASTEST_HZ:
        message = f"host_hz is {value}: allowed are 0 (raw host times are nanoseconds) to {_FASTEST_HZ} Hz"
        raise RawFormatError(message)


def _check_reading(_: object, attribute: Attribute[int], value: int) -> None:
    most = _LARGEST[attribute.name]
    if not -most <= value <= most:
        message = f"{attribute.name} is {value}: no clock reads more than {most}"
        raise RawFormatError(message)


@frozen
class ClockAnchors:
    """
    One instant on every clock of a profile, and the rates of the counters.

    Conversions take and give integers or integer arrays and return int64. A time that falls between two ticks
    becomes the next tick and a tick becomes the nanosecond it falls in, so a time never comes back earlier than it
    was, less than one tick later, and a tick comes back as itself on counters up to 1 GHz. Order is always kept.
    """

    collection_begin_us: int = field(validator=_check_reading)
    """``collectionTimeBegin`` of start_info: Unix microseconds when the monotonic clock stood at the next field."""
    monotonic_raw_ns: int = field(validator=_check_reading)
    """``clockMonotonicRaw`` of start_info."""
    host_cntvct: int = field(validator=_check_reading)
    """Host counter at ``host_counter_ns``."""
    device_cntvct: int = field(validator=_check_reading)
    """Device counter at ``device_counter_ns``."""
    device_hz: int = field(validator=_check_device_hz)
    host_hz: int = field(default=0, validator=_check_host_hz)
    """Rate of the host counter when raw host times are its ticks; 0: raw host times are monotonic nanoseconds."""
    host_counter_ns: int = field(validator=_check_reading)
    """Monotonic time of ``host_cntvct`` (host_start.log, ``cntvct_diff`` included); by default ``monotonic_raw_ns``."""
    device_counter_ns: int = field(validator=_check_reading)
    """Monotonic time of ``device_cntvct`` (host_start.log.<id>); by default ``monotonic_raw_ns``."""

    @host_counter_ns.default
    def _default_host_counter_ns(self) -> int:
        return self.monotonic_raw_ns

    @device_counter_ns.default
    def _default_device_counter_ns(self) -> int:
        return self.monotonic_raw_ns

    @classmethod
    def now(cls, device_hz: int) -> ClockAnchors:
        """
        Read this machine's clocks: raw host times are nanoseconds of the raw monotonic clock.

        The device counter is the one that would have started with that clock.
        """
        unix_ns = time.time_ns()
        raw_ns = raw_monotonic_ns()
        # The toolkit's parser takes the offset between the two as a 64-bit float of microseconds since 1970, whose
        # steps are a quarter of a microsecond: only between whole microseconds does it come out exact.
        raw_ns -= raw_ns % 1000
        return cls(
            collection_begin_us=unix_ns // 1000,
            monotonic_raw_ns=raw_ns,
            host_cntvct=raw_ns,
            device_cntvct=raw_ns * device_hz // NS_PER_S,
            device_hz=device_hz,
        )

    @property
    def offset_ns(self) -> int:
        """Unix time minus monotonic time."""
        return self.collection_begin_us * 1000 - self.monotonic_raw_ns

    def unix_to_host(self, unix_ns: npt.ArrayLike) -> I64:
        """Raw host times of Unix nanoseconds."""
        monotonic_ns = _integers(unix_ns) - self.offset_ns
        if not self.host_hz:
            return np.asarray(monotonic_ns)
        return _to_ticks(monotonic_ns - self.host_counter_ns, self.host_hz) + self.host_cntvct

    def host_to_unix(self, raw: npt.ArrayLike) -> I64:
        """Unix nanoseconds of raw host times."""
        counts = _integers(raw)
        if not self.host_hz:
            return np.asarray(counts + self.offset_ns)
        return _to_ns(counts - self.host_cntvct, self.host_hz) + (self.host_counter_ns + self.offset_ns)

    def unix_to_tick(self, unix_ns: npt.ArrayLike) -> I64:
        """Device ticks of Unix nanoseconds."""
        elapsed_ns = _integers(unix_ns) - (self.device_counter_ns + self.offset_ns)
        return _to_ticks(elapsed_ns, self.device_hz) + self.device_cntvct

    def tick_to_unix(self, tick: npt.ArrayLike) -> I64:
        """Unix nanoseconds of device ticks."""
        elapsed = _integers(tick) - self.device_cntvct
        return _to_ns(elapsed, self.device_hz) + (self.device_counter_ns + self.offset_ns)


def _integers(values: npt.ArrayLike) -> I64:
    numbers: Array = np.asarray(values)
    if numbers.size and numbers.dtype.kind not in "iu":
        message = f"times must be integers, not {numbers.dtype}: fractions of a nanosecond have no place in a record"
        raise RawFormatError(message)
    return numbers.astype(np.int64)


def _to_ticks(elapsed_ns: I64, hz: int) -> I64:
    # Whole seconds and the rest apart: elapsed_ns * hz would not fit in 64 bits. Rounded up: see ClockAnchors.
    seconds, rest_ns = np.divmod(elapsed_ns, NS_PER_S)
    return np.asarray(seconds * hz - (-rest_ns * hz) // NS_PER_S)


def _to_ns(ticks: I64, hz: int) -> I64:
    seconds, rest = np.divmod(ticks, hz)
    return np.asarray(seconds * NS_PER_S + rest * NS_PER_S // hz)
