"""The monitors (Ascend/mspti mspti/monitor, docs/en/python_api)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from typing import ClassVar, TypeAlias

from drynpu_mspti._listening import Listening
from drynpu_mspti._records import Record
from drynpu_mspti.constants import MOST_BUFFER_MB, MsptiActivityFlag, MsptiResult
from drynpu_mspti.data import CommunicationData, HcclData, KernelData, MarkerData, RangeMarkerData

LISTENING = Listening()
"""The recording of this process."""
_NO_RECORDING = "nothing is recorded: PyTorch is not installed, or a profiler records in this process already"
_INSTANTS = (
    MsptiActivityFlag.MSPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS,
    MsptiActivityFlag.MSPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS_WITH_DEVICE,
)
_STARTS = (
    MsptiActivityFlag.MSPTI_ACTIVITY_FLAG_MARKER_START,
    MsptiActivityFlag.MSPTI_ACTIVITY_FLAG_MARKER_START_WITH_DEVICE,
)
OfMark: TypeAlias = "Callable[[MarkerData], object]"
OfRange: TypeAlias = "Callable[[RangeMarkerData], object]"


def print_error_msg(message: str) -> None:
    """Print a line in the vendor's form."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    sys.stdout.write(f"{now} [ERROR] [MSPTI] [{os.getpid()}]: {message}\n")


class BaseMonitor:
    """What all monitors share: one recording of the process."""

    _NAME: ClassVar[str] = ""
    _TITLE: ClassVar[str] = ""

    def __init__(self) -> None:
        self.user_cb: Callable[..., object] | None = None

    @classmethod
    def flush_all(cls) -> MsptiResult:
        """Hand over what was recorded so far, to all monitors."""
        LISTENING.flush()
        return MsptiResult.MSPTI_SUCCESS

    @classmethod
    def flush_period(cls, time_ms: int) -> MsptiResult:
        """Take how often records would be handed over; here they come when a monitor stops or is flushed."""
        valid = isinstance(time_ms, int) and time_ms >= 0
        return MsptiResult.MSPTI_SUCCESS if valid else MsptiResult.MSPTI_ERROR_INVALID_PARAMETER

    @classmethod
    def set_buffer_size(cls, size: int) -> MsptiResult:
        """Take the size of the buffer, MB; nothing is ever lost here."""
        if not isinstance(size, int) or size <= 0:
            print_error_msg(f"Invalid buffer size {size}")
        elif size > MOST_BUFFER_MB:
            print_error_msg(f"Buffer size {size} exceed the upper limit: {MOST_BUFFER_MB}")
        else:
            return MsptiResult.MSPTI_SUCCESS
        return MsptiResult.MSPTI_ERROR_INVALID_PARAMETER

    def start(self, cb: object) -> MsptiResult:
        """Record from now on; *cb* gets the records."""
        if not callable(cb):
            print_error_msg(f"{self._TITLE} callback is invalid")
            return MsptiResult.MSPTI_ERROR_INVALID_PARAMETER
        self.user_cb = cb
        return self._listen()

    def _listen(self) -> MsptiResult:
        if LISTENING.start(self._NAME, self._deliver):
            return MsptiResult.MSPTI_SUCCESS
        print_error_msg(_NO_RECORDING)
        return MsptiResult.MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

    def stop(self) -> MsptiResult:
        """Hand over what was recorded, and record no more for this monitor."""
        LISTENING.stop(self._NAME)
        self.user_cb = None
        return MsptiResult.MSPTI_SUCCESS

    def _deliver(self, origin_data: Record) -> None:
        # What the script does with a record costs neither the others nor the training.
        try:
            self.callback(origin_data)
        except Exception as error:  # noqa: BLE001 - a callback of the script may raise anything
            print_error_msg(f"Call {self._TITLE.lower()} callback failed. Exception: {error}")

    def callback(self, origin_data: Record) -> None:
        """Hand one record over."""
        raise NotImplementedError


class KernelMonitor(BaseMonitor):
    """Hands over kernels as `KernelData`."""

    _NAME, _TITLE = "kernel", "Kernel"

    def callback(self, origin_data: Record) -> None:
        """Hand one kernel over."""
        if self.user_cb is not None:
            self.user_cb(KernelData(origin_data))


class HcclMonitor(BaseMonitor):
    """Hands over collectives with their rates as `HcclData`."""

    _NAME, _TITLE = "hccl", "Hccl"

    def callback(self, origin_data: Record) -> None:
        """Hand one collective over."""
        if self.user_cb is not None:
            self.user_cb(HcclData(origin_data))


class CommunicationMonitor(BaseMonitor):
    """Hands over collectives with what they move as `CommunicationData`."""

    _NAME, _TITLE = "communication", "Communication"

    def callback(self, origin_data: Record) -> None:
        """Hand one collective over."""
        if self.user_cb is not None:
            self.user_cb(CommunicationData(origin_data))


def _ignore(record: object) -> None:
    del record


class MstxMonitor(BaseMonitor):
    """Hands over marks as `MarkerData` and ranges as `RangeMarkerData`; all domains unless some are switched off."""

    _NAME, _TITLE = "mstx", "Mstx"

    def __init__(self) -> None:
        super().__init__()
        self.mark_user_cb: OfMark = _ignore
        self.range_user_cb: OfRange = _ignore
        self._open: dict[tuple[int, object], MarkerData] = {}
        self._disabled: set[str] = set()

    def start(self, mark_cb: object = _ignore, range_cb: object = _ignore) -> MsptiResult:
        """Record from now on; the callbacks get marks and ranges."""
        if not callable(mark_cb) and not callable(range_cb):
            print_error_msg("Mstx callback is invalid")
            return MsptiResult.MSPTI_ERROR_INVALID_PARAMETER
        self.mark_user_cb = mark_cb if callable(mark_cb) else _ignore
        self.range_user_cb = range_cb if callable(range_cb) else _ignore
        return self._listen()

    def enable_domain(self, domain_name: str) -> MsptiResult:
        """Record the marks of a domain."""
        return self._set_domain(domain_name, self._disabled.discard)

    def disable_domain(self, domain_name: str) -> MsptiResult:
        """Record no marks of a domain."""
        return self._set_domain(domain_name, self._disabled.add)

    def _set_domain(self, domain_name: object, change: Callable[[str], None]) -> MsptiResult:
        if not isinstance(domain_name, str) or not domain_name:
            print_error_msg("domain_name must be a string")
            return MsptiResult.MSPTI_ERROR_INVALID_PARAMETER
        # A choice holds from now on: what lies behind it is handed over with the choice before.
        LISTENING.flush()
        change(domain_name)
        return MsptiResult.MSPTI_SUCCESS

    def callback(self, origin_data: Record) -> None:
        """Hand one mark over, or a range when its end comes."""
        if origin_data["domain"] in self._disabled:
            return
        marker = MarkerData(origin_data)
        key = marker.id, marker.source_kind
        if marker.flag in _INSTANTS:
            self.mark_user_cb(marker)
        elif marker.flag in _STARTS:
            self._open[key] = marker
        elif (begun := self._open.pop(key, None)) is not None:
            self.range_user_cb(_range(begun, marker))


def _range(begun: MarkerData, ended: MarkerData) -> RangeMarkerData:
    whole = RangeMarkerData()
    whole.source_kind, whole.id, whole.object_id = begun.source_kind, begun.id, begun.object_id
    whole.name, whole.domain = begun.name, begun.domain
    whole.start, whole.end = begun.timestamp, ended.timestamp
    return whole
