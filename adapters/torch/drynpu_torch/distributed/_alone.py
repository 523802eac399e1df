"""
Process groups without peers, for ranks that ``drynpu run --world`` starts without the others.

The operators of ``c10d`` get kernels that return assumed values, so that whatever leads to them goes on at once:
DistributedDataParallel, FSDP, functional collectives, pipelines. Groups have gloo's backend of one process, which is
never asked.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

import torch
import torch.distributed as dist
from attrs import define, field

from drynpu.options import Settings
from drynpu.platforms import Chip
from drynpu.recorder import SymmetricPeers, WorldCommand, load_chosen_chip
from drynpu_torch.distributed._assumed_values import RULES, Place
from drynpu_torch.distributed._lone_objects import OBJECT_FUNCTIONS

_KEYS = ("CPU", "PrivateUse1")
_finished_work: Any = getattr(torch._C._distributed_c10d, "_create_work_from_future", None)


class LoneStore(dist.Store):
    """A store that one process alone writes to: what others would have written is not there."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, bytes] = {}

    def set(self, key: str, value: str | bytes) -> None:
        """Put a text under *key*."""
        self._texts[key] = value.encode() if isinstance(value, str) else value

    def get(self, key: str) -> bytes:
        """Return the text under *key*. Raises ``RuntimeError`` if this process did not write it."""
        if key not in self._texts:
            raise RuntimeError(f"store: {key!r} would come from another rank, which does not run (drynpu run --world)")
        return self._texts[key]

    def add(self, key: str, amount: int) -> int:
        """Add to the number under *key* and return the sum."""
        total = int(self._texts.get(key, b"0")) + amount
        self._texts[key] = str(total).encode()
        return total

    def compare_set(self, key: str, expected: str, value: str) -> bytes:
        """Put a text under *key* if *expected* stands there, or if nothing does and nothing is expected."""
        there = self._texts.get(key)
        if there == expected.encode() or (there is None and not expected):
            self.set(key, value)
        return self._texts.get(key, expected.encode())

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether this process wrote all keys."""
        return all(key in self._texts for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Return at once: the others would have come."""

    def delete_key(self, key: str) -> bool:
        """Remove a key and return whether it was there."""
        return self._texts.pop(key, None) is not None

    def num_keys(self) -> int:
        """Return the number of keys."""
        return len(self._texts)


@define(eq=False)
class LoneRank:
    """A process as one rank of a job that runs without the others; it counts the calls with assumed values."""

    command: WorldCommand
    stand_in: float
    seed: int
    chip: Chip | None = None
    """The chip with the links of the cluster, where they are stated."""
    assumed: Counter[str] = field(factory=Counter)

    def notes(self) -> tuple[str, ...]:
        """Return what a profile has to say of the values that no other rank computed."""
        alone = f"rank {os.environ.get('RANK', '?')} of {self.command.size} ran without the others"
        if not self.assumed:
            return (f"{alone}; nothing that they would have sent was used",)
        counts = ", ".join(f"{name.strip('_')} {count}" for name, count in sorted(self.assumed.items()))
        what = f"what follows if all ranks hold its values, messages {self.stand_in:g}"
        return (f"{alone}: {self.assumed.total()} calls returned {what} ({counts})",)

    def peers(self) -> SymmetricPeers:
        """Return the ranks that do not run, for one recording."""
        return SymmetricPeers(
            size=self.command.size,
            rank=dist.get_rank(),
            jitter=self.command.jitter,
            straggler=self.command.straggler,
            seed=self.seed,
            chip=self.chip,
        )

    def kernel(self, name: str) -> Callable[..., Any]:
        """Return the kernel of one operator of ``c10d``."""
        schema = getattr(torch.ops.c10d, name).default._schema
        arguments = [argument.name for argument in schema.arguments]
        rule = RULES[name]

        def run(*args: object, **kwargs: object) -> Any:
            call = dict(zip(arguments, args, strict=False)) | kwargs
            group = dist.ProcessGroup.unbox(call["process_group"])
            place = Place(group.rank(), group.size(), self.stand_in)
            # As a backend does: no gradient is recorded, and no version of a tensor counted.
            with torch._C._AutoDispatchBelowAutograd():
                assumed = rule(call, place)
            if assumed and place.size > 1:
                self.assumed[name] += 1
            future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
            future.set_result(list(_tensors(args[0])))
            work = _finished_work(future).boxed()
            return work if len(schema.returns) == 1 else (args[0], work)

        return run


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
        return
    for part in value:
        yield from _tensors(part)


@functools.cache
def lone_rank() -> LoneRank | None:
    """Return this process as a rank without peers, None where it has its peers. Raises `OptionError`."""
    command = WorldCommand.from_environ(os.environ)
    settings = Settings.from_environ(os.environ)
    if command is None:
        return None
    chip = load_chosen_chip(settings) if settings.topology else None
    return LoneRank(command, settings.values, settings.seed, chip)


def lone_notes() -> tuple[str, ...]:
    """Return what a profile says of a rank without peers; nothing of others."""
    rank = lone_rank()
    return () if rank is None or not dist.is_available() or not dist.is_initialized() else rank.notes()


@functools.cache
def install_lone(rank: LoneRank) -> torch.library.Library:
    """Let groups of this process do without their peers; the library keeps the kernels."""
    library = torch.library.Library("c10d", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch tells of kernels that are replaced, as these are on purpose
        for key in _KEYS:
            for name in RULES:
                library.impl(name, rank.kernel(name), key)  # type: ignore[no-untyped-call]
            library.impl("monitored_barrier_", lambda *_, **__: None, key)  # type: ignore[no-untyped-call]
    module: Any = dist.distributed_c10d
    module.rendezvous = _rendezvous
    module._store_based_barrier = lambda *_, **__: None
    holders: tuple[Any, ...] = (dist, module)
    for holder in holders:
        holder.ProcessGroupGloo = LoneGloo
        holder.TCPStore = lambda *_, **__: LoneStore()
        for name, function in OBJECT_FUNCTIONS.items():
            setattr(holder, name, function)
    return library


class LoneGloo(dist.ProcessGroupGloo):
    """Gloo's backend of one process under the place of a rank in a group; it is never asked to move anything."""

    def __init__(self, store: dist.Store, rank: int, size: int, timeout: timedelta) -> None:  # noqa: ARG002 - gloo's
        super().__init__(dist.HashStore(), 0, 1, timeout=timeout)


def _rendezvous(url: str, rank: int = -1, world_size: int = -1, **_: object) -> Iterator[tuple[dist.Store, int, int]]:
    """Give a store without peers, as the handlers of PyTorch give theirs."""
    query = parse_qs(urlparse(url).query)

    def number(argument: int, name: str) -> int:
        return argument if argument >= 0 else int(query.get(name.lower(), [os.environ.get(name, "-1")])[0])

    yield LoneStore(), number(rank, "RANK"), number(world_size, "WORLD_SIZE")
