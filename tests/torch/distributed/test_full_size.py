"""Steps of named configurations at full size (``examples/full_size``), here with tiny sizes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[3] / "examples" / "full_size"
DECODER = {
    "kind": "decoder",
    "world": 4,
    "width": 64,
    "layers": 2,
    "heads": 4,
    "groups": 2,
    "size": 16,
    "inner": 96,
    "words": 128,
    "tokens": 32,
    "batch": 1,
}
TINY = {
    "shared": {**DECODER, "tp": 2, "micro_batches": 2, "head_norm": True},
    "whole": {**DECODER, "recompute": True, "bias": True},
    "mixture": {**DECODER, "ep": 2, "experts": 4, "chosen": 2},
    "images": {"kind": "encoder", "world": 2, "width": 32, "layers": 1, "heads": 2, "image": 32, "patch": 16}
    | {"classes": 10, "batch": 2},
    "texts": {
        "kind": "encoder",
        "world": 2,
        "width": 32,
        "layers": 1,
        "heads": 2,
        "words": 50,
        "tokens": 16,
        "batch": 2,
    },
    "residual": {"kind": "resnet", "world": 2, "stages": [1, 1], "width": 16, "image": 32, "classes": 10, "batch": 2},
}


def table(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script that prints the table, on the tiny configurations."""
    configurations = folder / "tiny.json"
    configurations.write_text(json.dumps(TINY))
    command = [sys.executable, str(FOLDER / "table.py"), "--configurations", str(configurations), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a table in Markdown."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]


OFTEN = ("shared", "mixture", "residual")
"""The configurations that `make test-all` runs by themselves; it runs the images for two chips."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.exhaustive) for name in TINY]
)
def test_every_kind_has_its_row(name: str, tmp_path: Path) -> None:
    done = table(tmp_path, name)
    assert done.returncode == 0, done.stderr
    (row,) = rows(done.stdout)
    assert row["name"] == name
    assert row["a second and chip"].endswith("images" if TINY[name].get("image") else "tokens")
    low, high = map(float, row["80 %"].split(" to "))
    assert low - 1 <= float(row["step ms"]) <= high + 1
    if name == "mixture":
        assert "GroupedMatmul" in row["kernels unmeasured"], "nobody has measured mixtures of experts"


def test_rates_stand_beside_published_ones_for_each_chip(tmp_path: Path) -> None:
    published = tmp_path / "published.json"
    published.write_text(json.dumps({"images": 500.0}))
    done = table(tmp_path, "images", "--chips", "910B1,910B4", "--published", str(published))
    assert done.returncode == 0, done.stderr
    both = rows(done.stdout)
    assert [row["chip"] for row in both] == ["910B1", "910B4"]
    for row in both:
        rate = float(row["a second and chip"].split()[0])
        assert float(row["of published"]) == pytest.approx(rate / 500, abs=0.01)


def test_operations_are_counted_as_by_hand(tmp_path: Path) -> None:
    """Two ranks share each of two micro-batches; an operation of the forward pass has two of the backward pass."""
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    command = [sys.executable, "-m", "drynpu", "run", "-q", "--no-compute", "--world", "4", str(FOLDER / "train.py")]
    arguments = ["shared", "--configurations", "tiny.json", "--output", "out"]
    subprocess.run([*command, *arguments], cwd=tmp_path, check=True, capture_output=True)
    document = json.loads((tmp_path / "out" / "step.json").read_text())
    assert document["count"] == 32 * 2 * 2, "tokens, micro-batches, data-parallel ranks"
    weights = 2 * (64 * (4 + 2 + 2) * 16 + 4 * 16 * 64 + 3 * 64 * 96) + 64 * 128
    scores = 2 * (2 * 2 * 4 * 16 * 32 // 2)
    assert document["flops"] == 3 * (2 * weights + scores) * 128 // 4


def test_an_unknown_name_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    done = table(tmp_path, "llama")
    assert done.returncode == 2
    assert "no configuration 'llama'" in done.stderr
    assert "mixture" in done.stderr
