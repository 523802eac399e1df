"""``ProcessGroupHCCL``: the options of a communicator, and its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from attrs import define, field
from attrs.validators import instance_of

from drynpu_torch.distributed._groups import communicator_name

_TIMEOUT = timedelta(minutes=30)


@define
class Options:
    """
    What ``pg_options`` may hold (torch_npu's guide, "pg_options").

    ``hccl_config`` is for HCCL (``hccl_buffer_size``, ``hccl_algo``, ...). Nothing of it is about what the simulated
    links do, so it changes nothing here. The rest is filled in when the group is made.
    """

    hccl_config: Mapping[str, Any] = field(factory=dict, validator=instance_of(Mapping))  # type: ignore[type-abstract]
    is_high_priority_stream: bool = False
    global_ranks_in_group: Sequence[int] = ()
    group_id: str = ""
    _timeout: timedelta = _TIMEOUT


_Options = Options


class ProcessGroupHCCL:
    """
    The backend ``hccl`` under the vendor's name: calling it makes one, which is gloo's.

    ``options`` is what ``pg_options`` was given, or a timeout.
    """

    Options = Options

    def __new__(  # type: ignore[misc]
        cls, store: dist.Store, rank: int, size: int, options: _Options | timedelta | None = None
    ) -> dist.ProcessGroupGloo:
        timeout = options._timeout if isinstance(options, _Options) else options or _TIMEOUT
        return dist.ProcessGroupGloo(store, rank, size, timeout=timeout)

    def get_hccl_comm_name(self: Any, rankid: int, init_comm: bool = True) -> str:
        """
        Return the name of the communicator, under which profiles know the group.

        It is made with the group, so ``init_comm`` changes nothing. Raises ``ValueError`` for a negative rank and for
        a group that is not the device's.
        """
        del init_comm
        if rankid < 0:
            raise ValueError(f"rankid {rankid} is no rank; give the global rank of this process, 0 or more")
        name: str = self.options.group_name
        if not name.startswith(communicator_name("")):
            raise ValueError(f"group {name!r} has the backend {self.name()}; only groups of hccl have a communicator")
        return name


def make_backend(asked: Any, options: Any) -> dist.ProcessGroupGloo:
    """Make what stands behind a group, from what PyTorch tells of it and its ``pg_options``; others are ignored."""
    if isinstance(options, Options):
        options.global_ranks_in_group, options.group_id = tuple(asked.global_ranks_in_group), asked.group_id
        options._timeout = asked.timeout
    backend = ProcessGroupHCCL(asked.store, asked.group_rank, asked.group_size, asked.timeout)
    # Kept where PyTorch keeps it: a Python object around a backend is made anew by everyone who asks for it.
    backend.options.group_name = communicator_name(asked.group_id)  # type: ignore[assignment]
    return backend


def name_communicators() -> None:
    """Let the backend of a group tell the name of its communicator, and PyTorch know the class."""
    kind: Any = dist.ProcessGroupGloo
    kind.get_hccl_comm_name = ProcessGroupHCCL.get_hccl_comm_name
    for module in (dist, dist.distributed_c10d):
        module.ProcessGroupHCCL = ProcessGroupHCCL  # type: ignore[attr-defined]
