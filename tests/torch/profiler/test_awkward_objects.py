"""Objects of the script that raise when they are looked at: every option records beside each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("awkward_objects.py")


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT)


def kernels(folder: Path) -> list[str]:
    (table,) = folder.glob("*/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    return [line.split(",")[0] for line in table.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_each_recording_has_the_kernels_of_the_training(run: Any) -> None:
    *_, said = [line for line in run.stdout.splitlines() if line.startswith("all recorded")]
    names = said.split()[2:]
    assert len(names) >= 12 + 5 + 7
    # The first backward pass sets the gradients, all later ones add to them.
    expected = kernels(run.folder / names[0])
    assert len(expected) > len(kernels(run.folder / "alone")) > 1
    silent = "Level_none"
    assert list(run.folder.glob(f"{silent}/*_ascend_pt")) != []
    names.remove(silent)
    assert {name: len(kernels(run.folder / name)) for name in names} == dict.fromkeys(names, len(expected))


def test_nothing_was_lost(run: Any) -> None:
    assert not run.said("ERROR")
    assert "cannot be recorded" not in run.stdout
