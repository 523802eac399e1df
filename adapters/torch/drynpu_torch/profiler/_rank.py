"""The rank of this process, as results name it."""

from __future__ import annotations

import os

import torch


def rank_id() -> str | int | None:
    """Return the rank as the vendor does: RANK, whatever its text is, else the process group's rank, else None."""
    if "RANK" in os.environ:
        return os.environ["RANK"]
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return None
