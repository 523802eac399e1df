from __future__ import annotations

import numpy as np
import pytest

from drynpu.kernels import KernelSpec, TaskType, draw_quantiles, jitter, occurrences

LONG, SHORT = 50_000.0, 1_500.0
PINNED = ["0x3ff051e68aee38a5", "0x3fef9c11cb236e2c"]


def kernels(*names: str) -> tuple[KernelSpec, ...]:
    return tuple(KernelSpec(name=n, op_type="T", task_type=TaskType.AI_VECTOR_CORE) for n in names)


def series(duration_ns: float, count: int, seed: int = 1) -> np.ndarray:
    return jitter(np.zeros(count, np.int32), np.arange(count), np.array([duration_ns]), seed)


def test_same_seed_same_bits() -> None:
    assert series(LONG, 1000, 5).tobytes() == series(LONG, 1000, 5).tobytes()


def test_values_do_not_change_between_machines_and_releases() -> None:
    bits = jitter(np.array([0, 1]), np.array([0, 3]), np.array([LONG, SHORT]), 42, kernels("a", "b")).view(np.uint64)
    assert [hex(b) for b in bits] == PINNED


def test_another_seed_is_other_noise() -> None:
    assert abs(np.corrcoef(series(LONG, 5000, 1), series(LONG, 5000, 2))[0, 1]) < 0.05


@pytest.mark.parametrize("seed", [-1, 0, 2**63, 2**70])
def test_any_integer_is_a_seed(seed: int) -> None:
    assert np.isfinite(series(LONG, 10, seed)).all()


@pytest.mark.parametrize(("duration_ns", "sigma"), [(LONG, 0.04), (3_000.0, 0.04), (2_999.0, 0.12), (SHORT, 0.12)])
def test_spread(duration_ns: float, sigma: float) -> None:
    log = np.log(series(duration_ns, 100_000))
    assert log.std() == pytest.approx(sigma, rel=0.02)
    assert abs(log.mean()) < 0.02 * sigma
    # log-normal: kurtosis of the logarithm near 3, symmetric
    z = (log - log.mean()) / log.std()
    assert (z**3).mean() == pytest.approx(0, abs=0.05)
    assert 2.7 < (z**4).mean() < 3.1


def test_launches_are_independent() -> None:
    log = np.log(series(LONG, 50_000))
    assert abs(np.corrcoef(log[:-1], log[1:])[0, 1]) < 0.02


def test_noise_follows_the_kernel_and_not_its_index() -> None:
    durations = np.full(3, LONG)
    a = jitter(np.array([0, 1, 2]), np.zeros(3, int), durations, 9, kernels("x", "y", "z"))
    b = jitter(np.array([0, 1, 2]), np.zeros(3, int), durations, 9, kernels("z", "x", "y"))
    assert a.tolist() == b[[1, 2, 0]].tolist()
    assert len(set(a.tolist())) == 3


def test_nothing_to_shake() -> None:
    assert jitter(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0), 1).shape == (0,)


def test_occurrences_count_earlier_launches_of_the_same_kernel() -> None:
    assert occurrences(np.array([3, 1, 3, 3, 1, 0], np.int32)).tolist() == [0, 0, 1, 2, 1, 0]
    assert occurrences(np.empty(0, np.int64)).shape == (0,)


def test_draws_have_the_distribution_of_their_quantiles() -> None:
    quantiles = (87.0, 88.0, 95.0)  # half of them lie below 88
    index = np.zeros(20_000, np.int64)
    values = draw_quantiles(quantiles, index, np.arange(20_000), 3, kernels("a"))
    assert np.quantile(values, [0.25, 0.5, 0.75]) == pytest.approx([87.5, 88.0, 91.5], abs=0.1)
    assert 87.0 <= values.min() < values.max() <= 95.0
    again = draw_quantiles(quantiles, index, np.arange(20_000), 3, kernels("a"))
    assert values.tobytes() == again.tobytes()
    noise = jitter(index, np.arange(20_000), np.array([LONG]), 3, kernels("a"))
    assert abs(np.corrcoef(values, noise)[0, 1]) < 0.03


def test_draws_follow_the_kernel_and_not_its_index() -> None:
    first = draw_quantiles((0.0, 1.0), np.array([0, 1]), np.zeros(2, int), 9, kernels("x", "y"))
    second = draw_quantiles((0.0, 1.0), np.array([0, 1]), np.zeros(2, int), 9, kernels("y", "x"))
    assert first.tolist() == second[::-1].tolist()
    assert len(set(first.tolist())) == 2
    assert draw_quantiles((0.0, 1.0), np.empty(0, np.int64), np.empty(0, np.int64), 9, ()).tolist() == []
