"""
Several ranks: the communication of the CPU build, ``mccl``, in place of ``hccl``.

``msrun`` starts a scheduler beside the ranks and tells all of them where it is. Ranks that were started in another way
say who they are in ``RANK_ID`` and ``RANK_SIZE``, or with names of Open MPI; the first of them starts the scheduler.
"""

from __future__ import annotations

import functools
import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from drynpu.device.collectives import HCCL, WORLD_GROUP
from drynpu_mindspore.inside import replace_everywhere
from drynpu_mindspore.patching._device import SimulatedDevice
from drynpu_mindspore.recording import JobRanks

MCCL = "mccl"
_ROLE, _WORKER, _SCHEDULER = "MS_ROLE", "MS_WORKER", "MS_SCHED"
_HOST, _PORT, _RANKS, _NODE = "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_WORKER_NUM", "MS_NODE_ID"
_LOCAL_HOST, _SHARED_PORT = "127.0.0.1", 8118
"""Where ``msrun`` has its scheduler if nothing else is said."""
_RANK_NAMES: Final = ("RANK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_SIZE_NAMES: Final = ("RANK_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
# It ends when the ranks have said that they are done, and with its parent if they cannot.
_RUN_SCHEDULER = (
    "from drynpu.host import end_with_parent; end_with_parent(); from mindspore.communication import init; init('mccl')"
)


def find_rank(environment: MutableMapping[str, str]) -> tuple[int, int]:
    """Return the rank and how many there are, 0 and 1 where *environment* says nothing."""
    rank, size = (
        next((int(environment[name]) for name in names if environment.get(name, "").isdigit()), missing)
        for names, missing in ((_RANK_NAMES, 0), (_SIZE_NAMES, 1))
    )
    return rank, size


def join_ranks(environment: MutableMapping[str, str]) -> dict[str, str] | None:
    """
    Say in *environment* what ``msrun`` would say; return the environment of a scheduler that is to be started.

    One rank alone has its scheduler at a port that is free.
    """
    if _ROLE in environment:
        return None
    rank, size = find_rank(environment)
    port = _free_port() if size == 1 else int(environment.get(_PORT, _SHARED_PORT))
    environment.setdefault(_HOST, environment.get("MASTER_ADDR", _LOCAL_HOST))
    environment.update({_PORT: str(port), _RANKS: str(size), _NODE: str(rank), _ROLE: _WORKER})
    return {**environment, _ROLE: _SCHEDULER} if rank == 0 else None


def init_for_ascend(genuine: Callable[..., None], device: SimulatedDevice, ranks: JobRanks) -> Callable[..., None]:
    """Return ``communication.init`` for scripts: on Ascend it joins the ranks by the CPU build's communication."""

    @functools.wraps(genuine)
    def init(backend_name: object = None) -> None:
        if not device.is_ascend or backend_name not in (None, HCCL):
            genuine(backend_name)
            _join(ranks)
            return
        chosen = "DEVICE_ID" in os.environ or device.device_id
        scheduler = join_ranks(os.environ)
        if scheduler is not None:
            quiet = subprocess.DEVNULL
            subprocess.Popen([sys.executable, "-c", _RUN_SCHEDULER], env=scheduler, stdout=quiet, stderr=quiet)
        genuine(MCCL)
        rank, size = _join(ranks)
        _name_world(size)
        if not chosen:
            device.device_id = rank

    return init


def _join(ranks: JobRanks) -> tuple[int, int]:
    """Connect to the other ranks, for the data of collectives on any device; return the rank and how many there are."""
    rank, size = find_rank(os.environ)
    ranks.join(rank, size, os.environ.get(_HOST, _LOCAL_HOST), int(os.environ.get(_PORT, _SHARED_PORT)))
    return rank, size


def _name_world(size: int) -> None:
    """Give the group of all ranks its name on Ascend as well: scripts say it, and defaults of MindSpore's functions."""
    from mindspore._c_expression import CollectiveManager, GroupOptions

    CollectiveManager.get_instance().create_group(WORLD_GROUP, list(range(size)), GroupOptions())


def note_groups(genuine: Callable[..., None], ranks: JobRanks) -> Callable[..., None]:
    """
    Return ``communication.create_group`` for scripts: it also notes the ranks of the group.

    A rank that is not in the group is refused at once: MindSpore ends the process later.
    """

    @functools.wraps(genuine)
    def create_group(group: Any, rank_ids: Any, *arguments: Any, **keywords: Any) -> None:
        rank, _ = find_rank(os.environ)
        if isinstance(rank_ids, list) and rank not in rank_ids:
            raise RuntimeError(
                f"rank {rank} is not among the ranks {rank_ids} of group {group!r}; create a group on its ranks alone"
            )
        genuine(group, rank_ids, *arguments, **keywords)
        ranks.name_group(str(group), rank_ids)

    return create_group


def replace_init(device: SimulatedDevice, ranks: JobRanks) -> None:
    """Replace ``init`` and ``create_group`` in all modules of MindSpore that have them."""
    management: Any = importlib.import_module("mindspore.communication.management")
    init, create_group = management.init, management.create_group
    replace_everywhere("init", init, init_for_ascend(init, device, ranks))
    replace_everywhere("create_group", create_group, note_groups(create_group, ranks))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((_LOCAL_HOST, 0))
        port: int = listener.getsockname()[1]
        return port
