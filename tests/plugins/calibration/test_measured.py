"""Measured kernels of a profile against the model: which count, and how far off it is, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attrs import fields
from tests.core.analysis.conftest import make_profile

from drynpu import CommandError
from drynpu.kernels import Calibration, Estimate, TaskType, TensorDesc, bundled_calibration
from drynpu.platforms import load_chip
from drynpu.tables import Profile
from drynpu_calibration import Kernels, Measured, _measured, described_kernel, measured_kernels, validate_kernels
from drynpu_calibration._measured import _errors, _halves, known_kernels, recalibrate

CHIP = load_chip("910B2")


def row(op_type: str, shape: str, duration_ns: int, core: str = "AI_VECTOR_CORE", **more: object) -> dict[str, object]:
    dtypes = "FLOAT" if shape else ""
    sides = {f"{side}_shapes": shape for side in ("input", "output")}
    sides |= {f"{side}_dtypes": dtypes for side in ("input", "output")}
    return {"name": "k", "op_type": op_type, "task_type": core, "duration_ns": duration_ns, **sides, **more}


def measured(*rows: dict[str, object]) -> Kernels:
    profile: Profile = make_profile(kernels=list(rows))
    return measured_kernels(profile, CHIP, "here")


def test_equal_kernels_are_one_with_the_median_of_their_times() -> None:
    found = measured(
        row("Add", "2,3", 3_000),
        row("Add", "2,3", 9_000),
        row("Mul", '"5"', 700),
        row("Add", "2,3", 4_000),
        row("Add", "2,3", 0),
        row("Add", "4,3", 8_000),
    )
    assert [(each.spec.op_type, each.duration_us, count) for each, count in found.kernels] == [
        ("Add", 4.0, 3), ("Mul", 0.7, 1), ("Add", 8.0, 1),
    ]  # fmt: skip
    first = found.kernels[0][0]
    assert (first.spec.inputs, first.spec.task_type) == ((TensorDesc((2, 3), "FLOAT"),), TaskType.AI_VECTOR_CORE)
    assert (first.chip, first.source, found.left_out) == (CHIP, "here", {})


def test_what_is_not_fitted_and_what_has_no_shapes_is_counted() -> None:
    one_side = {**row("Fill", "", 10), "output_shapes": "7", "output_dtypes": "FLOAT"}
    found = measured(
        row("Unique", "2", 10, "AI_CPU"),
        row("Unique", "2", 20, "AI_CPU"),
        row("Odd", "2", 10, ""),
        row("Add", "", 10),
        one_side,
        row("MatMul", "2,2;2,2", 10, "MIX_AIC"),
    )
    assert [each.spec.op_type for each, _ in found.kernels] == ["Fill", "MatMul"]
    assert found.left_out == {
        "tasks of AI_CPU, whose times are not fitted": 2,
        "tasks of an unknown engine, whose times are not fitted": 1,
        "kernels without shapes": 1,
    }
    both = found.with_others(measured(row("Sub", "3", 5), row("Add", "", 10), row("Add", "", 10)))
    assert [each.spec.op_type for each, _ in both.kernels] == ["Fill", "MatMul", "Sub"]
    assert both.left_out["kernels without shapes"] == 3
    assert both.left_out["tasks of an unknown engine, whose times are not fitted"] == 1


def kernel(op_type: str, shape: tuple[int, ...], duration_us: float) -> Measured:
    tensor = TensorDesc(shape, "FLOAT")
    spec = described_kernel(op_type, TaskType.AI_VECTOR_CORE, (tensor,), (tensor,))
    return Measured(spec=spec, chip=CHIP, source="here", duration_us=duration_us)


def test_errors_are_of_predictions_against_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model says 10 us, 8 to 12, for all: 12, 8 and 10 / 1.25 are just inside, 12.5 and 7.9 are not."""

    def ten(spec: Any, chip: Any, tuning: Any) -> Estimate:
        family = "moving" if spec.op_type == "Slice" else "adding"
        return estimate_of(family=family, us=10.0, low_us=8.0, high_us=12.0)

    monkeypatch.setattr(_measured, "estimate", ten)
    kernels = [("Add", 12.0, 3), ("Add", 8.0, 1), ("Mul", 12.5, 2), ("Slice", 20.0, 5), ("Slice", 7.9, 1)]
    given = Kernels(kernels=tuple((kernel(name, (n + 1,), us), count) for n, (name, us, count) in enumerate(kernels)))
    usual = Calibration(name="none", digest="")
    found = validate_kernels(given, usual).to_dicts()
    assert [(each["family"], each["types"], each["kernels"], each["launches"]) for each in found] == [
        ("moving", 1, 2, 6), ("adding", 2, 3, 6),
    ]  # fmt: skip
    moving, adding = found
    assert (moving["measured_ms"], moving["predicted_ms"]) == pytest.approx((0.1079, 0.06))
    assert (adding["measured_ms"], adding["predicted_ms"]) == pytest.approx((0.069, 0.06))
    assert (adding["total"], moving["total"]) == pytest.approx((60 / 69 - 1, 60 / 107.9 - 1))
    # Off by 1/6, 1/4 and 1/5.
    assert (adding["median"], adding["within_25"], adding["inside_80"]) == pytest.approx((0.2, 1.0, 2 / 3))
    assert (moving["within_25"], moving["inside_80"]) == (0.0, 0.0)
    by_type = validate_kernels(given, usual, by="type")
    assert by_type.select("type", "kernels", "launches").rows() == [("Slice", 2, 6), ("Add", 2, 4), ("Mul", 1, 2)]
    with pytest.raises(CommandError, match="no kernel has shapes and a time"):
        validate_kernels(Kernels(), usual)


def test_a_type_of_which_nothing_is_known_has_no_error_and_the_nearest_types_are_named() -> None:
    usual = bundled_calibration()
    kernels = measured(row("Softplos", "2,3", 3_000), row("Softplos", "4,3", 4_000), row("Add", "2,3", 1_000))
    timed = known_kernels(kernels, usual)
    assert [each.spec.op_type for each, _ in timed.kernels] == ["Add"]
    ((text, count),) = timed.left_out.items()
    assert (count, text.startswith("'Softplos' has no time"), "'Softplus" in text) == (2, True, True)
    assert validate_kernels(timed, usual)["kernels"].sum() == 1


def test_a_fit_gives_a_type_without_a_time_one_but_no_error() -> None:
    rows = [row(name, f"{n},3", 2_000 + 10 * n) for n in range(1, 31) for name in ("Add", "Softplos")]
    fitted = recalibrate(measured(*rows), bundled_calibration())
    assert (fitted.before.kernels, fitted.after.kernels) == (30, 30)
    assert list(fitted.left_out.values()) == [30]
    assert "Softplos" in fitted.text


def estimate_of(**values: Any) -> Estimate:
    """Return an estimate of which the fields that nobody looks at are empty."""
    return Estimate(**{field.name: values.get(field.name, "") for field in fields(Estimate) if field.init})


def test_shapes_of_a_type_alternate_between_the_halves_by_size() -> None:
    given = [kernel("Add", (size,), 1.0) for size in (50, 10, 30, 10, 70)] + [kernel("Mul", (40,), 1.0)]
    assert _halves(given).tolist() == [0, 0, 1, 0, 1, 0]


def test_totals_count_every_launch_and_the_rest_each_kernel_once() -> None:
    found = _errors(np.array([10.0, 20.0, 40.0]), np.array([12.5, 20.0, 20.0]), np.array([4.0, 1.0, 1.0]))
    assert (found.kernels, found.median, found.within_quarter) == (3, 0.25, pytest.approx(2 / 3))
    assert found.total == pytest.approx((50 + 20 + 20) / (40 + 20 + 40) - 1)
