"""The page of ten minutes: its code runs, and the results are the numbers of its text and of its picture."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drynpu.deliverables.tasks import facts
from drynpu_torch.extension import find_build

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "pictures" / "how-it-works.svg").read_text(encoding="utf-8")
SCRIPT, RULE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TICKS_NS = 20


ENVIRONMENT = {"RANK": "0", "DRYNPU_QUIET": "1", "DRYNPU_CHIP": "Ascend910B2", "DRYNPU_SEED": "0"}


@pytest.fixture(scope="module")
def result(scripts: Any) -> Path:
    """The result directory of the script of the page."""
    output: Path = scripts(SCRIPT, environment=ENVIRONMENT).output("out").path
    return output


@pytest.fixture(scope="module")
def kernels(result: Path) -> list[dict[str, str]]:
    with (result / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_rule_and_the_cost_are_printed_as_shown(scripts: Any) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert scripts(RULE, environment=ENVIRONMENT).stdout == shown


def test_the_line_of_the_csv_is_as_shown(kernels: list[dict[str, str]]) -> None:
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if "|" in line]
    titles, _, cells = rows
    (kernel,) = kernels
    assert [kernel[title] for title in titles] == cells
    assert all(text in PICTURE for text in (kernel["Name"], kernel["Duration(us)"], f"{kernel['Block Num']} blocks"))


def test_two_records_lie_the_ticks_of_the_text_apart(result: Path, kernels: list[dict[str, str]]) -> None:
    (file,) = result.glob("PROF_*/device_0/data/stars_soc.data.0.slice_0")
    (stars,) = (kind for kind in facts.KINDS if kind.name == "stars_soc")
    first, last = np.frombuffer(file.read_bytes(), stars.dtype)
    ticks = int(last["tick"]) - int(first["tick"])
    assert stars.dtype.itemsize == 64
    assert f"{ticks} ticks" in " ".join(PAGE.split())
    assert f"{ticks} ticks = {float(kernels[0]['Duration(us)']):.2f} us" in PICTURE
    assert ticks * TICKS_NS == round(float(kernels[0]["Duration(us)"]) * 1000)


def test_the_factor_of_the_text_leads_from_the_cost_to_the_duration(kernels: list[dict[str, str]]) -> None:
    (cost_ns,) = re.findall(r"^(\d+)\n```$", PAGE, re.MULTILINE)
    (factor,) = re.findall(r"It is ([\d.]+) for\s+this launch", PAGE)
    duration_ns = float(kernels[0]["Duration(us)"]) * 1000
    assert abs(int(cost_ns) * float(factor) - duration_ns) <= TICKS_NS


@pytest.mark.skipif(not find_build().done, reason="the sink records by PyTorch's tracer")
def test_a_row_of_the_recorder_has_the_bytes_of_the_text() -> None:
    from drynpu_torch.device._recorded import ROW

    assert f"one row of {ROW.itemsize} bytes" in " ".join(PAGE.split())


def test_the_files_of_the_page_exist() -> None:
    named = set(re.findall(r"`((?:core|adapters|tests)/[\w./-]+)`", PAGE))
    assert len(named) > 8
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
