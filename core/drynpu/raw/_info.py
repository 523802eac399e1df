"""What info.json says about the host and about a device (cann_msprof.md 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation, Overflow
from typing import Any, TypeVar

from attrs import NOTHING, AttrsInstance, fields, frozen

from drynpu._errors import RawFormatError
from drynpu.platforms import Chip

_T = TypeVar("_T", bound=AttrsInstance)

HOST_DEVICES = "64"
"""What stands for the host where a device id is expected."""


@frozen(kw_only=True)
class CpuInfo:
    """One entry of ``CPU``."""

    id: int = 0
    name: str = ""
    frequency: str = ""
    """MHz of the counter that host times are ticks of; empty: host times are nanoseconds."""
    logical_cpu_count: int = 0
    type: str = ""


@frozen(kw_only=True)
class NetCard:
    """One entry of ``netCard``."""

    name: str = ""
    speed: int = 0
    """Mbit/s."""


@frozen(kw_only=True)
class HostInfo:
    """
    The part of info.json that host and devices share.

    Everything has the neutral value of its kind as default, except what the parser needs to know.
    """

    platform_version: str
    """Chip numbering of cann_msprof.md 1.9, e.g. ``"5"``."""
    pid: int
    pid_name: str = ""
    version: str = "1.0"
    job_info: str = "NA"
    os: str = ""
    hostname: str = ""
    hw_type: str = ""
    platform: str = ""
    up_time: str = ""
    """``<up> <idle>`` in seconds."""
    memory_total_kb: int = 0
    cpu_nums: int = 0
    sys_clock_freq: int = 0
    cpu_cores: int = 0
    rank_id: int = -1
    drv_version: int = 0
    cann_version: str = ""
    cpus: tuple[CpuInfo, ...] = (CpuInfo(),)
    net_cards: tuple[NetCard, ...] = ()

    @property
    def host_hz(self) -> int:
        """Rate of the host counter, 0 when host times are nanoseconds (``CPU[0].Frequency`` empty)."""
        return mhz_to_hz(self.cpus[0].frequency) if self.cpus else 0

    @classmethod
    def from_json(cls, document: Mapping[str, object], notes: list[str]) -> HostInfo:
        """
        Read it from the content of an info.json.

        Missing keys take their defaults, unknown ones are ignored; a number that is none takes its default and is
        noted.

        Raises
        ------
        RawFormatError
            If ``platform_version`` or ``pid`` is missing.
        """
        cpus = tuple(_structure(CpuInfo, _CPU_KEYS, entry, "CPU", notes) for entry in _objects(document, "CPU", notes))
        cards = tuple(
            _structure(NetCard, _CARD_KEYS, entry, "netCard", notes) for entry in _objects(document, "netCard", notes)
        )
        return _structure(cls, _HOST_KEYS, document, "info.json", notes, cpus=cpus, net_cards=cards)


@frozen(kw_only=True)
class DeviceInfo:
    """The one entry of ``DeviceInfo`` in a device's info.json. Field names are the keys."""

    id: int
    env_type: int = 0
    ctrl_cpu_core_num: int = 0
    ctrl_cpu_endian_little: int = 1
    ts_cpu_core_num: int = 0
    ai_cpu_core_num: int = 0
    ai_core_num: int = 0
    ai_cpu_core_id: int = 0
    ai_core_id: int = 0
    aicpu_occupy_bitmap: int = 0
    aiv_num: int = 0
    ctrl_cpu_id: str = ""
    ctrl_cpu: str = ""
    ai_cpu: str = ""
    hwts_frequency: str
    """MHz of the time stamp counter, e.g. ``"50.000000"``."""
    aic_frequency: str = ""
    """MHz as integer text, e.g. ``"1800"``."""
    aiv_frequency: str = ""

    @property
    def hwts_hz(self) -> int:
        """Rate of the device counter; 0 if the text is no frequency."""
        return mhz_to_hz(self.hwts_frequency)

    @classmethod
    def of_chip(cls, chip: Chip, device_id: int) -> DeviceInfo:
        """
        Describe a device that is this chip.

        A unified chip has no vector cores of its own unless it has more of them than AI cores. CPU cores are numbered
        control cores first, which the references leave open.
        """
        extra_vector_cores = max(0, chip.vector_cores - chip.cube_cores)
        ai_cpu_ids = range(chip.ctrl_cpu_cores, chip.ctrl_cpu_cores + chip.aicpu_cores)
        return cls(
            id=device_id,
            ctrl_cpu_core_num=chip.ctrl_cpu_cores,
            ai_cpu_core_num=chip.aicpu_cores,
            ai_core_num=chip.cube_cores,
            ai_cpu_core_id=chip.ctrl_cpu_cores,
            aicpu_occupy_bitmap=sum(1 << core for core in ai_cpu_ids),
            aiv_num=chip.vector_cores if chip.split else extra_vector_cores,
            ctrl_cpu=",".join(map(str, range(chip.ctrl_cpu_cores))),
            ai_cpu=",".join(map(str, ai_cpu_ids)),
            hwts_frequency=f"{chip.hwts_mhz:.6f}",
            aic_frequency=str(chip.aic_mhz),
            aiv_frequency=str(chip.aiv_mhz),
        )

    @classmethod
    def from_json(cls, document: Mapping[str, object], notes: list[str]) -> DeviceInfo:
        """
        Read it from the content of a device's info.json; tolerant as `HostInfo.from_json`.

        Raises
        ------
        RawFormatError
            If ``DeviceInfo`` is empty or lacks the id or the counter frequency.
        """
        entries = _objects(document, "DeviceInfo", notes)
        if not entries:
            message = "info.json of a device has no DeviceInfo entry: it holds the device's clock and core numbers"
            raise RawFormatError(message)
        keys = {entry.name: entry.name for entry in fields(cls)}
        return _structure(cls, keys, entries[0], "DeviceInfo", notes)


def info_json(host: HostInfo, device: DeviceInfo | None) -> dict[str, object]:
    """Return the content of info.json for the host (``device`` None) or for a device."""
    document: dict[str, object] = {
        key: getattr(host, name) for name, key in _HOST_KEYS.items() if name not in {"cpus", "net_cards"}
    }
    document["pid"] = str(host.pid)
    document["devices"] = HOST_DEVICES if device is None else str(device.id)
    document["netCardNums"] = len(host.net_cards)
    document["CPU"] = [{key: getattr(cpu, name) for name, key in _CPU_KEYS.items()} for cpu in host.cpus]
    document["netCard"] = [{key: getattr(card, name) for name, key in _CARD_KEYS.items()} for card in host.net_cards]
    names = [entry.name for entry in fields(DeviceInfo)]
    document["DeviceInfo"] = [] if device is None else [{name: getattr(device, name) for name in names}]
    return document


def mhz_to_hz(text: str) -> int:
    """Return a frequency text in MHz as whole Hz; 0 for what is no positive number."""
    try:
        hz = Decimal(text.strip()) * 1_000_000
        return round(hz) if 0 < hz < _NO_FREQUENCY else 0
    except (InvalidOperation, Overflow):
        return 0


_NO_FREQUENCY = 10**15
"""Hz that no counter has."""
_CPU_KEYS = {
    "id": "Id",
    "name": "Name",
    "frequency": "Frequency",
    "logical_cpu_count": "Logical_CPU_Count",
    "type": "Type",
}
_CARD_KEYS = {"name": "netCardName", "speed": "speed"}
_HOST_KEYS = {
    "version": "version",
    "job_info": "jobInfo",
    "os": "OS",
    "hostname": "hostname",
    "hw_type": "hwtype",
    "platform": "platform",
    "platform_version": "platform_version",
    "pid": "pid",
    "pid_name": "pid_name",
    "up_time": "upTime",
    "memory_total_kb": "memoryTotal",
    "cpu_nums": "cpuNums",
    "sys_clock_freq": "sysClockFreq",
    "cpu_cores": "cpuCores",
    "rank_id": "rank_id",
    "drv_version": "drvVersion",
    "cann_version": "cannVersion",
}


def _objects(document: Mapping[str, object], key: str, notes: list[str]) -> list[Mapping[str, Any]]:
    """Return the JSON objects in a list; anything else in their place is noted."""
    value = document.get(key)
    entries = value if isinstance(value, list) else []
    objects: list[Mapping[str, Any]] = [entry for entry in entries if isinstance(entry, dict)]
    if len(objects) < len(entries) or not isinstance(value, (list, type(None))):
        notes.append(f"info.json: {key} is no list of objects; what is none was left out")
    return objects


def _structure(
    cls: type[_T],
    keys: Mapping[str, str],
    entry: Mapping[str, object],
    where: str,
    notes: list[str],
    **known: object,
) -> _T:
    """Build an instance from the keys of a JSON object, numbers and texts converted as the fields are typed."""
    values: dict[str, Any] = dict(known)
    for attribute in fields(cls):
        key = keys.get(attribute.name)
        if key is None:
            continue
        raw = entry.get(key)
        value = _integer(raw) if attribute.type == "int" else None if raw is None else str(raw)
        if value is not None:
            values[attribute.name] = value
        elif attribute.default is NOTHING:
            message = f"{where} has no usable {key!r} (it holds {raw!r}): the profile cannot be understood without it."
            raise RawFormatError(message)
        elif raw not in (None, ""):
            notes.append(f"{where}: {key} is {raw!r}, which is no whole number; {attribute.default!r} was taken")
    return cls(**values)


def _integer(raw: object) -> int | None:
    try:
        return int(str(raw))
    except ValueError:
        return None
