"""A short slice of ``make soak``: a long training keeps its descriptors, and what grows is counted."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

SOAK = Path(__file__).parents[2] / "soak" / "soak.py"


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    specification = importlib.util.spec_from_file_location("soak", SOAK)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_training_of_many_steps_and_some_recordings_keeps_what_it_opened(soak: ModuleType) -> None:
    samples = soak.run(400, 80, 10)
    assert [each.step for each in samples] == list(range(40, 401, 40))
    recorded = [each for each in samples if each.step > 160]
    assert len({each.descriptors for each in recorded}) == 1
    assert len({each.threads for each in recorded}) == 1


def test_steps_without_recordings_need_no_memory(soak: ModuleType) -> None:
    found = soak.growth(soak.run(600, 5000, 12))
    assert found.memory_bytes < 2**20
    assert (found.descriptors, found.threads) == (0, 0)


def test_growth_is_that_of_the_line_after_the_first_fifth(soak: ModuleType) -> None:
    samples = [
        soak.Sample(step, (900 if step < 20 else 100 + 3 * step) << 10, 5 + step // 50, 9) for step in range(101)
    ]
    found = soak.growth(samples)
    assert found.memory_bytes == pytest.approx(3 * 80 * 1024)
    assert (found.descriptors, found.threads) == (2, 0)
