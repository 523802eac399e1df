"""Operators of npu_bridge are the same by each of their names, and those that need a device refuse by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def found(scripts: Any, request: pytest.FixtureRequest) -> dict[str, Any]:
    run = scripts(request.path.with_name("same_operators.py"), environment={"DRYNPU_QUIET": "1"})
    document: dict[str, Any] = run.printed("found")
    return document


def close(value: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.array(value), np.array(expected), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["gelu", "gelu_grad", "fast_gelu", "p_relu", "lars", "lars_v2", "lstm"])
def test_both_names_compute_the_same(found: dict[str, Any], name: str) -> None:
    one, other = found[name]
    close(one, other)


def test_activations_are_their_formulas(found: dict[str, Any]) -> None:
    x = np.array(found["x"])
    close(found["gelu"][0], 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
    close(found["fast_gelu"][0], x / (1 + np.exp(-1.702 * x)))
    close(found["p_relu"][0], np.where(x > 0, x, 0.25 * x))


def test_masks_drop_what_they_say(found: dict[str, Any]) -> None:
    mask, kept = map(np.array, found["masked"])
    assert 0 < mask.mean() < 1
    close(kept, 2 * mask)
    share, largest = found["dropped"]
    assert 0.4 < share < 0.6
    assert largest == 2.0
    assert found["keras"]


def test_a_step_of_adam_without_decay(found: dict[str, Any]) -> None:
    x, dy = np.array(found["x"]), np.array(found["dy"])
    second = 0.99 * np.abs(dy) + 0.01 * dy**2
    close(found["adam"], x - 0.01 * dy / (np.sqrt(second) + 1e-6))
    assert found["same"]


def test_what_opens_and_closes_a_system_does_nothing(found: dict[str, Any]) -> None:
    assert found["nothing"] == [None] * 4
    assert not np.any(found["status"])


def test_memory_of_other_devices_is_refused_by_name(found: dict[str, Any]) -> None:
    names = ("remote_read", "remote_ref_read", "remote_write", "remote_scatter_write", "gather_all_to_all_v")
    for name, (kind, text) in zip(names, found["refused"], strict=True):
        assert kind == "UnimplementedError"
        assert text.startswith(f"hccl_ops.{name} reads or writes the memory of another device")
