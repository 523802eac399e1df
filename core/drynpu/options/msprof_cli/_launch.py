"""What a command line says beside the options: what to run, for how long, on what."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen

from drynpu.options._request import Parsed


class LaunchMode(enum.Enum):
    """What is profiled; the value is the flag that messages name for it."""

    APPLICATION = "application"
    """A command that is run."""
    ATTACH = "pid"
    """Running processes, by hand."""
    DEVICES = "sys-devices"
    """Nothing runs: devices are sampled for a time."""
    HOST_PROCESS = "host-sys"
    """Nothing runs: a process of the host is sampled for a time."""
    HOST = "host-sys-usage"
    """Nothing runs: the host is sampled for a time."""

    @property
    def runs(self) -> bool:
        """Whether there is an application, run or attached to."""
        return self in (LaunchMode.APPLICATION, LaunchMode.ATTACH)


def _frozen_map(values: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(values))


@frozen(kw_only=True)
class Launch:
    """
    The run.

    Attributes
    ----------
    mode:
        What is profiled.
    application:
        The command and its arguments.
    environment:
        Variables for it beside the inherited ones.
    pids:
        Processes to attach to.
    devices:
        Device ids to sample; empty for all.
    period_s:
        How long to sample when nothing runs.
    host_pid:
        The process that ``--host-sys`` samples when nothing runs.
    python_path:
        Interpreter for the parsing afterwards.
    """

    mode: LaunchMode = LaunchMode.APPLICATION
    application: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default={}, converter=_frozen_map)
    pids: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    period_s: int | None = None
    host_pid: int | None = None
    python_path: str | None = None


@frozen(kw_only=True)
class MsprofParsed(Parsed):
    """A command line after reading: the request, and the run around it."""

    launch: Launch = Launch()
