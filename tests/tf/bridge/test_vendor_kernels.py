"""The vendor's operators are one kernel each, forward and backward, in sessions and in functions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("vendor_kernels.py")


@pytest.fixture(scope="module")
def session(scripts: Any) -> Any:
    return scripts(SCRIPT, "session")


@pytest.fixture(scope="module")
def function(scripts: Any) -> Any:
    return scripts(SCRIPT, "function")


def shapes(rows: list[dict[str, str]], kind: str) -> tuple[str, str]:
    """Return the shapes of the first kernel of a type, inputs and outputs."""
    row = next(row for row in rows if row["OP Type"] == kind)
    return row["Input Shapes"].strip('"'), row["Output Shapes"].strip('"')


def test_each_operator_of_a_session_is_one_kernel(session: Any) -> None:
    rows = [row for row in session.prof().rows("op_summary") if row["OP Type"] != "Assign"]
    assert len(rows) == 2 * 27
    kinds = Counter(row["OP Type"] for row in rows)
    once = ("DropOutGenMask", "DropOutGenMaskV3", "Gelu", "FastGelu", "PRelu", "Centralization", "GeluGrad")
    once += ("FastGeluGrad", "PReluGrad", "SquareSumAll", "LarsV2Update", "AdamApplyOneWithDecayAssign")
    assert {kind: kinds[kind] for kind in once} == dict.fromkeys(once, 2)
    # A mask is applied forward and backward.
    assert kinds["DropOutDoMask"] == kinds["DropOutDoMaskV3"] == 4
    assert not {"RandomUniform", "Tanh", "SelectV2", "GreaterEqual", "Less", "Sqrt", "Cast"} & set(kinds)
    assert not [row for row in rows if "Unmapped" in row["Op Name"]]


def test_kernels_have_the_shapes_of_the_operators(session: Any) -> None:
    rows = session.prof().rows("op_summary")
    assert shapes(rows, "DropOutGenMask") == ("N/A", "16")  # 20 bits in groups of 128
    assert shapes(rows, "DropOutDoMask") == ("4,5;16", "4,5")
    assert shapes(rows, "GeluGrad") == ("4,5;4,5;4,5", "4,5")
    assert shapes(rows, "PRelu") == ("4,5;5", "4,5")
    assert shapes(rows, "PReluGrad") == ("4,5;4,5;5", "4,5")  # nobody takes the gradient of the weights
    assert shapes(rows, "SquareSumAll") == ("6,5;6,5", ";")
    inputs, outputs = shapes(rows, "AdamApplyOneWithDecayAssign")
    assert inputs.startswith("6,5;6,5;6,5;6,5;")
    assert outputs == "6,5;6,5;6,5"
    named = {row["Op Name"]: row["OP Type"] for row in rows}
    assert (named["dropped"], named["dropped_1"]) == ("DropOutGenMask", "DropOutDoMask")


def test_the_engine_fused_nothing(session: Any) -> None:
    assert not any(stem.startswith("fusion_op") for stem in session.prof().stems)


def test_copies_of_a_function_are_kernels_of_their_own(function: Any) -> None:
    rows = [row for row in function.prof().rows("op_summary") if row["Op Name"] != "Assign"]
    kinds = Counter(row["OP Type"] for row in rows)
    # Two layers, two steps; a mask is applied forward and backward.
    assert (kinds["DropOutGenMask"], kinds["DropOutDoMask"], kinds["Gelu"], kinds["GeluGrad"]) == (4, 8, 4, 4)
    assert {shapes([row], "DropOutDoMask") for row in rows if row["OP Type"] == "DropOutDoMask"} == {("4,6;16", "4,6")}
    calls = {row["Op Name"].partition("/")[0] for row in rows if row["OP Type"] == "Gelu"}
    assert len(calls) == 2
    assert not [row for row in rows if "Unmapped" in row["Op Name"]]
    assert len(rows) == 2 * 15


def test_training_by_the_operators_makes_the_loss_smaller(session: Any, function: Any) -> None:
    first, second = session.printed("losses")
    assert 0 < second < first
    assert np.isfinite(function.printed("losses")).all()
