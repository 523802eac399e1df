"""Routing of tokens: the example of MindSpore's own documentation, and what is dropped."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu_mindspore_kernels.compositions import COMPOSITIONS


def test_routing_with_a_capacity_is_that_of_the_documentation() -> None:
    # mindspore.ops.moe_init_routing_v2 of 2.7.2, "Examples"
    x = np.array([[0.1, 0.2, 0.3], [0.2, 0.7, 0.8], [0.3, 0.3, 0.5]], np.float32)
    experts = np.array([[0, 1, 1], [2, 1, 1], [0, 0, 0]], np.int32)
    rows, places, counts, before = COMPOSITIONS["MoeInitRoutingV2"](x, experts, 3, 2, 3, 1, 0, False)
    np.testing.assert_array_equal(rows, [x[[0, 2]], x[[0, 0]], [x[1], [0, 0, 0]]])
    np.testing.assert_array_equal(places, [0, 2, 3, 4, -1, -1, 1, -1, -1])
    assert counts is None
    assert before is None


def test_quantising_saturates_as_in_the_documentation() -> None:
    # QuantV2 of 2.7.2, "Examples"
    arrays = (np.array(values, np.float32) for values in ([100, 150], [80, 40], [0, 2]))
    np.testing.assert_array_equal(COMPOSITIONS["QuantV2"](*arrays), [127, 127])


@pytest.mark.parametrize(("drops", "tokens", "places"), [(0, [1, 1], [1, 2]), (1, [1, 2], [1, 0])])
def test_an_expert_that_is_full_drops_tokens_or_choices(drops: int, tokens: list[int], places: list[int]) -> None:
    """Two tokens choose expert 1; the first one chooses it twice, and it has room for two."""
    chosen = np.array([[[1, 1], [1, 0]]])
    found, combined = COMPOSITIONS["TopKRouter"](chosen, 2, 2, drops)
    np.testing.assert_array_equal(found[0, 1], tokens)
    # An expert has the places 0, for what is dropped, to 2.
    np.testing.assert_array_equal(combined[0, 0] % 3, places)
    assert combined[0, 0, 0] == 4


def test_padded_routing_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="padded_mode is not supported"):
        COMPOSITIONS["MoeTokenPermute"](np.ones((2, 3)), np.zeros((2, 1), int), None, True)
