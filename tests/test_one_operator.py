"""One operator is one kernel of one time in PyTorch, TensorFlow, MindSpore and ONNX, unless the vendor differs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

SCRIPT = Path(__file__).with_name("one_operator.py")
TABLE: dict[str, Any] = yaml.safe_load(SCRIPT.with_suffix(".yaml").read_text())
DIFFERS: list[dict[str, Any]] = TABLE.pop("differs")
FRAMEWORKS = ("torch", "tf", "mindspore", "onnx")
TYPES = ("FLOAT", "FLOAT16")
TOLERANCE = 0.02
"""Half of the deviation that the jitter gives the times of launches."""
CONSTANT = "D"
"""At the end of a type: the graph engine compiled the axes or sizes in."""
CLEARING = "MemSet"
"""Memory that single operators clear by a kernel of its own, and graphs before they run."""
CASES = [
    pytest.param(f"{kind}/{number}/{dtype}", id=f"{kind}-{'-'.join(name or '' for name in names)}-{dtype}")
    for kind, rows in TABLE.items()
    for number, names in enumerate(rows)
    for dtype in TYPES
]


@pytest.fixture(scope="module")
def kernels() -> dict[str, dict[str, Any]]:
    """Return what the rules of each framework give, from a process of its own."""
    found = {}
    for framework in FRAMEWORKS:
        command = [sys.executable, "-W", "ignore", str(SCRIPT), framework]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found[framework] = json.loads(done.stdout)
    return found


def answers(kernels: dict[str, dict[str, Any]], case: str) -> list[list[Any]]:
    """Return the kernels of the frameworks that have the operator: type without what is the graph's alone, core, ns."""
    return [
        [[kind.removesuffix(CONSTANT), core, ns] for kind, core, ns in found[case] if kind != CLEARING]
        for found in kernels.values()
        if case in found
    ]


def reason(found: list[list[Any]]) -> dict[str, Any]:
    """Return the entry for kernels that may differ."""
    types = {kernel[0] for answer in found for kernel in answer}
    return next((entry for entry in DIFFERS if types <= set(entry["kernels"])), {})


def test_the_table_has_two_hundred_operators_of_two_frameworks_or_more() -> None:
    rows = [names for rows in TABLE.values() for names in rows]
    assert len(rows) >= 200
    assert all(len(names) == len(FRAMEWORKS) and sum(name is not None for name in names) > 1 for names in rows)


@pytest.mark.parametrize("case", CASES)
def test_an_operator_is_the_same_kernel_in_every_framework(case: str, kernels: dict[str, dict[str, Any]]) -> None:
    found = answers(kernels, case)
    entry = reason(found)
    assert all(len(answer) == 1 for answer in found), found
    (types, cores, times) = (list(each) for each in zip(*(answer[0] for answer in found), strict=True))
    assert len(set(types)) == 1 or entry, found
    assert len(set(cores)) == 1 or not entry.get("cores", True), found
    assert min(times) > 0
    assert max(times) <= min(times) * (1 + TOLERANCE) or not entry.get("time", True), found


@pytest.mark.parametrize("entry", DIFFERS, ids=lambda entry: "-".join(entry["kernels"]))
def test_every_exception_is_still_one(entry: dict[str, Any], kernels: dict[str, dict[str, Any]]) -> None:
    seen = [found for case in CASES if reason(found := answers(kernels, str(case.values[0]))) is entry]
    assert any(len({json.dumps(answer) for answer in found}) > 1 for found in seen), entry["why"]
