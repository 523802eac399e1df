"""Exchanges between the ranks of a group that an operator names by its communicator."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from attrs import frozen
from torch import Tensor

from drynpu_torch.distributed import find_group
from drynpu_torch_operators.operators import errors


@frozen
class Communicator:
    """A group of ranks; its exchanges are collectives of PyTorch, so that a recording shows them."""

    group: dist.ProcessGroup

    @classmethod
    def from_name(cls, name: str, size: int | None = None) -> Communicator:
        """Return the communicator *name*. Raises RuntimeError for a name without group, and one of another *size*."""
        known = {}
        if dist.is_available() and dist.is_initialized():
            for group in dist.distributed_c10d._world.pg_map:
                communicator = find_group(group)
                if communicator is not None:
                    known[communicator.name] = group
        names = ", ".join(sorted(known)) or "none; create one with init_process_group('hccl')"
        text = f"hcom {name!r} is no communicator of this process; there are: {names}"
        errors.require(name in known, text)
        ranks = dist.get_world_size(known[name])
        text = f"the group of hcom {name!r} has {ranks} ranks, but the operator was given {size}"
        errors.require(size in (None, ranks), text)
        return cls(known[name])

    @property
    def size(self) -> int:
        """Number of ranks."""
        return dist.get_world_size(self.group)

    @property
    def rank(self) -> int:
        """Rank of this process in the group."""
        return dist.get_rank(self.group)

    def gathered(self, rows: Tensor) -> Tensor:
        """Return the rows of all ranks, one rank behind the other."""
        whole = rows.new_empty(rows.shape[0] * self.size, *rows.shape[1:])
        dist.all_gather_single(whole, rows.contiguous(), group=self.group)
        return whole

    def summed(self, tensor: Tensor) -> Tensor:
        """Return the sum of a tensor over all ranks."""
        total = tensor.contiguous().clone()
        dist.all_reduce(total, group=self.group)
        return total

    def summed_share(self, rows: Tensor) -> Tensor:
        """Return this rank's part of the rows of the sum over all ranks."""
        share = rows.new_empty(rows.shape[0] // self.size, *rows.shape[1:])
        dist.reduce_scatter_single(share, rows.contiguous(), group=self.group)
        return share

    def exchanged(self, rows: Tensor, sent: Sequence[int], received: Sequence[int]) -> Tensor:
        """Return the rows that this rank receives, in order of their senders; *sent* counts rows for each receiver."""
        arrived = rows.new_empty(sum(received), *rows.shape[1:])
        dist.all_to_all_single(arrived, rows.contiguous(), list(received), list(sent), group=self.group)
        return arrived

    def exchanged_counts(self, counts: Tensor) -> Tensor:
        """Return the row of each rank that is meant for this one, of counts [ranks, ..]."""
        arrived = torch.empty_like(counts)
        dist.all_to_all_single(arrived, counts.contiguous(), group=self.group)
        return arrived
