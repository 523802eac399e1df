"""Kernels of genuine profiles, as ``calibrate`` and ``validate`` read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from drynpu import CommandError
from drynpu.analysis import Kernels, chip_like, measured_kernels
from drynpu.plugins import Plugins
from drynpu.views.runs import Run

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
    found = Kernels()
    for directory in directories:
        run = Run.from_path(directory)
        for rank in run.ranks:
            if rank.modelled:
                raise CommandError(f"{rank.path} was simulated by drynpu: its times are those of the model")
            found = found.with_others(measured_kernels(rank.profile, where, run.name or directory.name))
    return found
