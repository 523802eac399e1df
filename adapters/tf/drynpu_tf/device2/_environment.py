"""What ``npu_device.open`` reads off the environment, with the vendor's messages (tf_adapters.md 2)."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["check_cluster", "device_of", "worker_of", "workers_of"]


def device_of(environ: Mapping[str, str]) -> int:
    """Return the device of the process."""
    return int(environ.get("ASCEND_DEVICE_ID", "0"))


def workers_of(environ: Mapping[str, str]) -> int:
    """Return the number of workers; ``ValueError`` if two variables say it."""
    if "CM_WORKER_SIZE" in environ and "RANK_SIZE" in environ:
        raise ValueError("RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time")
    return int(environ.get("RANK_SIZE", environ.get("CM_WORKER_SIZE", "1")))


def worker_of(environ: Mapping[str, str]) -> int:
    """Return the number of this worker."""
    text = environ.get("RANK_ID", "0")
    return int(text) if text.isdecimal() else 0


def check_cluster(environ: Mapping[str, str]) -> None:
    """Check what more than one worker needs; ``RuntimeError`` names what is missing."""
    chief, table = environ.get("CM_CHIEF_IP"), environ.get("RANK_TABLE_FILE")
    if chief is not None and table is not None:
        raise RuntimeError("CM_CHIEF_IP and RANK_TABLE_FILE cannot be configured at the same time.")
    if chief is None and table is None:
        raise RuntimeError("CM_CHIEF_IP and RANK_TABLE_FILE are all not be configured.")
    needed = {"port": "CM_CHIEF_PORT", "device": "CM_CHIEF_DEVICE", "ip": "CM_CHIEF_IP"}
    if table is not None:
        if not environ.get("RANK_ID"):
            raise RuntimeError("You must specify rank id by set env RANK_ID in distribution mode")
        return
    for what, name in needed.items():
        if not environ.get(name):
            raise RuntimeError(f"You must specify cm chief {what} by set env {name} in distribution mode")
