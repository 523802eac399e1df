"""Whether a training fits: names of chips, what fits means, and runs that fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu import CommandError
from drynpu.platforms import known_chips
from drynpu_sweep._cells import Cell, Measures
from drynpu_sweep.fit import _row, chips_named

CHIPS = known_chips()


def names(text: str) -> list[str]:
    return [chip.name for chip in chips_named(text, CHIPS)]


def test_a_family_stands_for_its_chips_and_each_chip_stands_once() -> None:
    assert names("910B2, Ascend310P3") == ["Ascend910B2", "Ascend310P3"]
    assert names("910b") == [chip.name for chip in CHIPS if chip.name.startswith("Ascend910B")]
    assert names("910B4,910B4-1,910B4") == ["Ascend910B4", "Ascend910B4-1"]
    with pytest.raises(CommandError, match="no chip 'H100': there are .*Ascend910B2"):
        names("910B2,H100")


@pytest.mark.parametrize(
    ("allocated", "reserved", "fits"),
    [(30.0, 31.9, "yes"), (30.0, 32.1, "tight"), (32.1, 40.0, "no"), (30.0, None, "yes"), (None, None, None)],
)
def test_what_fits(allocated: float | None, reserved: float | None, fits: str | None) -> None:
    (chip,) = chips_named("910B4", CHIPS)
    measures = Measures(
        step_ms=500.0, low_ms=None, high_ms=None, computing_ms=1.0, communication_ms=0.0, exposed_ms=0.0, free_ms=0.0,
        peak_gib=allocated, steps=3, reserved_gib=reserved,
    )  # fmt: skip
    row = _row(chip, "8", Cell(values={"batch": "8"}, ranks=(0,), measures=measures))
    assert (row["fits"], row["capacity_gib"], row["samples_per_s"]) == (fits, 32.0, 16.0)


@pytest.mark.slow
def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nraise ValueError(f'{sys.argv[1:]} is too much')\n")
    command = [sys.executable, "-m", "drynpu", "fit", str(script), "--chip", "910B2", "--batch", "4,8", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    rows = json.loads(done.stdout)["rows"]
    assert [(row["chip"], row["batch"], row["fits"]) for row in rows] == [
        ("Ascend910B2", size, None) for size in ("4", "8")
    ]
    assert rows[0]["error"] == "ValueError: ['--batch', '4'] is too much"
