"""
Who this process is among the ranks of its job, as launch scripts say it.

``RANK_SIZE`` and ``RANK_ID`` come first; a table of ranks (``RANK_TABLE_FILE``) says how many there are where they do
not, and so do the variables of the cluster manager (``CM_WORKER_SIZE``, ``CM_CHIEF_IP``, ``CM_CHIEF_PORT``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

_LOCAL: Final = "127.0.0.1"
_BASE_PORT: Final = 60_000
"""HCCL's first port on the host (HCCL_IF_BASE_PORT)."""
_CONNECT_S, _ANSWER_S = 120, 1836
"""HCCL's patience while ranks connect (HCCL_CONNECT_TIMEOUT), and in a collective (HCCL_EXEC_TIMEOUT)."""


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    return int(text) if text.isdecimal() else None


def rank_count(environ: Mapping[str, str]) -> int:
    """Return how many ranks the job has, 1 where nothing says it."""
    said = (_number(environ, name) for name in ("RANK_SIZE", "CM_WORKER_SIZE"))
    count = next((number for number in said if number is not None), None)
    return count or _count_table(environ.get("RANK_TABLE_FILE", "")) or 1


def rank_number(environ: Mapping[str, str]) -> int:
    """Return the rank of this process: ``RANK_ID``, under the cluster manager else its device's number."""
    rank = _number(environ, "RANK_ID")
    if rank is None and "CM_CHIEF_IP" in environ:
        rank = _number(environ, "ASCEND_DEVICE_ID")
    return rank or 0


def _count_table(path: str) -> int:
    """Return the number of devices in a table of ranks of either generation, 0 for none that can be read."""
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return 0
    servers = [server.get("device", ()) for server in table.get("server_list", ())]
    groups = [
        instance.get("devices", ()) for group in table.get("group_list", ()) for instance in group["instance_list"]
    ]
    return sum(len(devices) for devices in servers or groups)


@frozen(kw_only=True)
class Job:
    """What the ranks of a job have in common, and how long they wait for each other, in seconds."""

    rank: int
    size: int
    name: str
    host: str
    port: int
    connect_s: float
    answer_s: float

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Job:
        """Read the job of a process. All ranks are on this machine, whatever the table of ranks says."""
        ports = (_number(environ, name) for name in ("CM_CHIEF_PORT", "HCCL_IF_BASE_PORT"))
        return cls(
            rank=rank_number(environ),
            size=rank_count(environ),
            name=environ.get("JOB_ID", ""),
            host=_LOCAL,
            port=next((port for port in ports if port), _BASE_PORT),
            connect_s=_number(environ, "HCCL_CONNECT_TIMEOUT") or _CONNECT_S,
            answer_s=_number(environ, "HCCL_EXEC_TIMEOUT") or _ANSWER_S,
        )
