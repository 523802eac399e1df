"""Kernels of genuine profiles, as ``calibrate`` and ``validate`` read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from drynpu import CommandError, at_part, at_stage
from drynpu.kernels import build_rule_book
from drynpu.plugins import Plugins
from drynpu.views.runs import Rank, Run
from drynpu_calibration._called_kernels import LaunchComparison, compare_launches
from drynpu_calibration._measured import Kernels, measured_kernels
from drynpu_calibration._predictions import chip_like

chip_option = click.option(
    "--chip", required=True, help="Chip that the profile was recorded on: a profile does not say it."
)


def read_genuine(directories: Sequence[Path], chip: str, plugins: Plugins) -> Kernels:
    """
    Return the measured kernels of all ranks of some runs.

    Raises
    ------
    CommandError
        A run was simulated by drynpu: its times are the model's own.
    """
    where = chip_like(chip, plugins.chip_files())
    kernels = Kernels()
    for source, rank in _genuine_ranks(directories):
        kernels = kernels.with_others(measured_kernels(rank.profile, where, source))
    return kernels


def read_launches(directory: Path, plugins: Plugins) -> LaunchComparison | None:
    """
    Return how what the operators of the first rank launched compares with the rules, None where that is not known.

    Profiles say nothing of their framework; only PyTorch's operators have such names.
    """
    calls = plugins.recorded_calls("torch")
    if calls is None:
        return None
    book = build_rule_book(plugins.kernel_rules("torch"), fallbacks=calls.fallbacks)
    _, rank = next(_genuine_ranks([directory]))
    at_stage("Comparing launches")
    return compare_launches(rank.profile, calls.read, book.plan)


def _genuine_ranks(directories: Sequence[Path]) -> Iterator[tuple[str, Rank]]:
    """Give every rank of the runs, with the name of its run."""
    for directory in directories:
        run = Run.from_path(directory)
        for rank in run.ranks:
            with at_part(rank.path.name):
                if rank.modelled:
                    raise CommandError(f"{rank.path} was simulated by drynpu: its times come from the model")
                yield run.name or directory.name, rank
