"""``drynpu run --world``: chosen ranks of a job, each in a process of its own, without the others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, TypeVar

import click
from attrs import frozen

from drynpu import CommandError
from drynpu.cli.shared import gathered, topology_option
from drynpu.platforms import load_topology

F = TypeVar("F", bound=Callable[..., Any])
_MASTER = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@frozen(kw_only=True)
class WorldFlags:
    """The options of `world_options` as they were written; None where they were not."""

    topology: Path | None = None
    world: int | None = None
    ranks: tuple[int, ...] | None = None
    nproc_per_node: int | None = None
    straggler: tuple[int, float] | None = None
    rank_jitter: float


@frozen(kw_only=True)
class WorldOptions:
    """A job of ``size`` ranks, the ``ranks`` of it that run, and how the others are modelled (`WorldCommand`)."""

    size: int
    ranks: tuple[int, ...]
    node_ranks: int
    jitter: float
    straggler: tuple[int, float] | None

    def environment(self, rank: int) -> dict[str, str]:
        """Return the variables of one rank, which torchrun would set."""
        nodes = -(-self.size // self.node_ranks)
        numbers = {
            "RANK": rank,
            "WORLD_SIZE": self.size,
            "LOCAL_RANK": rank % self.node_ranks,
            "LOCAL_WORLD_SIZE": self.node_ranks,
            "GROUP_RANK": rank // self.node_ranks,
            "GROUP_WORLD_SIZE": nodes,
            "ROLE_RANK": rank,
            "ROLE_WORLD_SIZE": self.size,
            "TORCHELASTIC_RESTART_COUNT": 0,
            "TORCHELASTIC_MAX_RESTARTS": 0,
        }
        return {name: str(number) for name, number in numbers.items()} | _MASTER | {"ROLE_NAME": "default"}


def read_ranks(_: click.Context, option: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Read ``0,17,32-35``."""
    if value is None:
        return None
    ranks: list[int] = []
    for part in value.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise click.BadParameter(f"{part!r} is no rank; write them as 0,17 or 0-3", param=option)
        ranks += range(int(first), int(last or first) + 1)
    return tuple(sorted(set(ranks)))


def read_straggler(_: click.Context, option: click.Parameter, value: str | None) -> tuple[int, float] | None:
    """Read ``5:1.2``."""
    if value is None:
        return None
    rank, _colon, factor = value.partition(":")
    try:
        straggler = int(rank), float(factor)
    except ValueError:
        straggler = -1, 0.0
    if straggler[0] < 0 or not 0.01 <= straggler[1] <= 1000:
        raise click.BadParameter(f"{value!r} is no straggler; write rank and factor as 5:1.2", param=option)
    return straggler


def world_options(function: F) -> F:
    """Add the options of the job (its links, and ranks that do not run), which the command gets as `WorldFlags`."""
    options = (
        topology_option,
        click.option(
            "--world", type=click.IntRange(min=1), help="Run ranks of a job of so many, without the others (PyTorch)."
        ),
        click.option("--ranks", callback=read_ranks, metavar="LIST", help="With --world: 0,17 or 0-3.  [default: 0]"),
        click.option(
            "--nproc-per-node",
            type=click.IntRange(min=1, max=63),
            help="With --world: ranks of a node.  [default: --devices, else 8]",
        ),
        click.option(
            "--straggler",
            callback=read_straggler,
            metavar="RANK:FACTOR",
            help="With --world: a rank that takes longer between collectives.",
        ),
        click.option(
            "--rank-jitter",
            type=click.FloatRange(min=0, max=10),
            default=0.02,
            show_default=True,
            help="With --world: spread of the other ranks' times.",
        ),
    )
    function = gathered("world", WorldFlags)(function)
    for option in reversed(options):
        function = option(function)
    return function


def read_world(flags: WorldFlags, devices: int) -> WorldOptions | None:
    """
    Return the job that *flags* name, None without ``--world``.

    A node has *devices* where neither an option nor a topology says otherwise.

    Raises
    ------
    CommandError
        Options that do not fit.
    """
    size, ranks, straggler, node_ranks = flags.world, flags.ranks, flags.straggler, flags.nproc_per_node
    if size is None:
        if ranks or straggler or node_ranks:
            raise CommandError("--ranks, --straggler and --nproc-per-node go with --world", exit_code=2)
        return None
    if flags.topology is not None:
        topology = load_topology(flags.topology)
        if topology.ranks is not None and size > topology.ranks:
            raise CommandError(
                f"a world of {size} does not fit: {flags.topology} describes {topology.nodes} nodes of "
                f"{topology.devices} devices, {topology.ranks} ranks",
                exit_code=2,
            )
        if node_ranks not in (None, topology.devices):
            raise CommandError(
                f"--nproc-per-node {node_ranks}: the nodes of {flags.topology} have {topology.devices} devices; "
                "leave the option out",
                exit_code=2,
            )
        node_ranks = topology.devices
    numbers = [*(ranks or ()), *(straggler or ())[:1]]
    if max(numbers, default=0) >= size:
        raise CommandError(f"rank {max(numbers)} is not in a world of {size}: ranks count from 0", exit_code=2)
    return WorldOptions(
        size=size,
        ranks=ranks or (0,),
        node_ranks=min(node_ranks or devices, size),
        jitter=flags.rank_jitter,
        straggler=straggler,
    )


def run_world(options: WorldOptions, command: Sequence[str]) -> int:
    """
    Run *command*, arguments of ``drynpu run``, once for each chosen rank, all at once; return the first bad status.

    The options that the command got stand in the environment, which the processes inherit. With several ranks each
    line of their output begins with the rank.
    """
    from drynpu.recorder import WORLD_VARIABLE, WorldCommand

    with tempfile.TemporaryDirectory(prefix="drynpu-world-") as folder:
        order = WorldCommand(
            size=options.size,
            ranks=options.ranks,
            folder=Path(folder),
            jitter=options.jitter,
            straggler=options.straggler,
        )
        shared = {**os.environ, WORLD_VARIABLE: order.to_text(), "DRYNPU_DEVICES": str(options.node_ranks)}
        if len(options.ranks) > 1:
            shared.setdefault("OMP_NUM_THREADS", "1")

        def run(rank: int) -> int:
            environment = {**shared, **options.environment(rank)}
            return _run_rank(rank, command, environment, Path(folder), named=len(options.ranks) > 1)

        with ThreadPoolExecutor(len(options.ranks)) as pool:
            statuses = list(pool.map(run, options.ranks))
    return next((status for status in statuses if status), 0)


def _run_rank(rank: int, command: Sequence[str], environment: Mapping[str, str], folder: Path, *, named: bool) -> int:
    from drynpu.recorder import note_end

    pipe = subprocess.PIPE if named else None
    program = [sys.executable, "-m", "drynpu", "run", *command]
    try:
        with subprocess.Popen(program, env=environment, stdout=pipe, stderr=pipe) as process:
            streams = [(process.stdout, False), (process.stderr, True)]
            threads = [
                threading.Thread(target=_pass_on, args=(stream, rank, to_error))
                for stream, to_error in streams
                if stream is not None
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return process.returncode
    finally:
        note_end(folder, rank)


def _pass_on(stream: IO[bytes], rank: int, to_error: bool) -> None:
    for line in stream:
        click.echo(f"[{rank}] ".encode() + line, nl=False, err=to_error)
