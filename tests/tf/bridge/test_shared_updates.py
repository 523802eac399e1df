"""Updates of weights that two ranks share out: the weights of one process with all data, and a device's kernels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drynpu_tf.bridge.shared_updates import fair_division

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "shared_updates.py"
STEPS = 3


@pytest.mark.parametrize("kind", ["resource", "reference"])
def test_ranks_that_update_a_part_each_train_as_one(kind: str, scripts: Any) -> None:
    alone = scripts(SCRIPT, kind, "alone")
    ranks = scripts.ranks(SCRIPT, kind, "shared")
    np.testing.assert_allclose(
        np.mean([run.printed("losses") for run in ranks], axis=0), alone.printed("losses"), rtol=2e-6
    )
    for run in ranks:
        assert run.printed("owners") == run.printed("by_gradient") == [0, 0, 1, 1, 1]
        assert run.printed("turned") == [1, 1, 0, 0, 0]
        assert run.printed("bytes") == [384, 64, 320, 256, 16]
        assert run.printed("steps") == STEPS
        for found, wanted in zip(run.printed("weights"), alone.printed("weights"), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)
    assert ranks[0].printed("weights") == ranks[1].printed("weights")
    # Each rank has the moments of its own variables, beside the two powers of beta.
    assert [run.printed("slots") for run in (alone, *ranks)] == [10, 4, 6]
    # The two ranks write into one folder. Nothing assigns what came from another rank.
    kinds = Counter(kind for prof in ranks[0].profs() for kind in prof.column("op_summary", "OP Type"))
    in_a_step = {"hcom_reduce_": 4, "hcom_allGather_": 4, "hcom_broadcast_": 10, "ApplyAdamD": 4}
    assert {name: kinds[name] for name in in_a_step} == {name: STEPS * count for name, count in in_a_step.items()}
    initial, moments_of_words, powers_of_beta = 12 + 14, 2, 4
    assert kinds["Assign"] == initial + STEPS * (moments_of_words + powers_of_beta)


class Item:
    """Something with a size that is to get a rank."""

    root_rank_id = -1

    def __init__(self, size: int) -> None:
        self.size = size


# What the vendor's fair_division (tf_adapter's npu_bridge/estimator/npu/util.py) answers for the same sizes.
@pytest.mark.parametrize(
    ("sizes", "number", "ranks"),
    [
        ([4, 4, 4, 4], 2, [0, 0, 1, 1]),
        ([384, 64, 320, 256, 16], 2, [0, 0, 1, 1, 1]),
        ([100, 1, 1, 1], 3, [0, 1, 2, 2]),
        ([1, 2, 3], 3, [0, 1, 2]),
        ([5], 1, [0]),
    ],
)
def test_items_are_divided_as_the_vendor_does(sizes: list[int], number: int, ranks: list[int]) -> None:
    assert [item.root_rank_id for item in fair_division([Item(size) for size in sizes], number)] == ranks


@pytest.mark.parametrize("number", [3, -1])
def test_more_ranks_than_items_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="'number' is greater than the number of inputs"):
        fair_division([Item(1), Item(2)], number)
