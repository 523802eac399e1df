"""
What shapes say of an attention, with numbers of its own for all: B sequences, N heads, S queries, T keys, D wide.

Pairs are B * N * S * T, half of them and the diagonal where a mask can be causal and queries are as many as keys.
"""

from __future__ import annotations

import pytest

from drynpu.kernels import TensorDesc
from drynpu.kernels._attention_shapes import Pairs, attention_pairs

B, N, S, T, D = 3, 5, 24, 70, 48


def tensor(*shape: int, dtype: str = "FLOAT16") -> TensorDesc:
    return TensorDesc(shape, dtype)


def pairs(*inputs: TensorDesc, outputs: tuple[TensorDesc, ...] = ()) -> Pairs:
    return attention_pairs(inputs, outputs)


def whole(*shape: int, dtype: str = "INT32") -> TensorDesc:
    return tensor(*shape, dtype=dtype)


def statistics(*shape: int) -> TensorDesc:
    return tensor(*shape, 8, dtype="FLOAT")


@pytest.mark.parametrize(("query", "key", "computed", "width"), [
    ((B, N, S, D), (B, N, T, D), B * N * S * T, D),  # BNSD
    ((B, S, N, D), (B, T, N, D), B * N * S * T, D),  # BSND: the heads are what both share
    ((B, 2 * N, S, D), (B, N, T, D), B * 2 * N * S * T, D),  # two heads of queries for one of keys
    ((B, S, 2 * N, D), (B, T, N, D), B * 2 * N * S * T, D),
    ((B, 32, S, D), (B, 32, T, D), B * 32 * S * T, D),  # more heads than queries
    ((B, S, 32, D), (B, T, 32, D), B * 32 * S * T, D),
    ((B, 80, S, D), (B, 80, T, D), B * 80 * S * T, D),  # more heads than keys
    ((B, 12, 12, D), (B, 4, 12, D), B * 12 * 12 * 12, D),  # as many heads as queries: heads come first
    ((B, N, 1, D), (B, N, T, D), B * N * T, D),  # decoding
    ((B, N, S, D), (B, N, S, D), B * N * S * S, D),
    ((B, S, N, D), (B, S, N, D), B * N * S * S, D),  # fewer heads than queries
    ((B, S, 4 * 128), (B, T, 4 * 128), B * 4 * S * T, 128),  # BSH: heads are 128 wide where nothing says it
    ((S, B, 4 * 128), (T, B, 4 * 128), B * 4 * S * T, 128),  # SBH
    ((B, S, 4 * 128), (B, S, 4 * 128), B * 4 * S * S, 128),  # more queries than sequences
    ((S, B, 4 * 128), (S, B, 4 * 128), B * 4 * S * S, 128),
    ((40, S, 4 * 128), (40, T, 4 * 128), 40 * 4 * S * T, 128),  # more sequences than queries
    ((S, 40, 4 * 128), (T, 40, 4 * 128), 40 * 4 * S * T, 128),
    ((S, 4 * 128), (T, 4 * 128), 4 * S * T, 128),
    ((S, 100), (T, 100), S * T, 100),
    ((S, N, D), (T, N, D), N * S * T, D),  # one packed sequence
    ((S, N, 256), (T, N, 256), N * S * T, 256),  # of heads as wide as they get
])  # fmt: skip
def test_layouts(query: tuple[int, ...], key: tuple[int, ...], computed: int, width: int) -> None:
    found = pairs(tensor(*query), tensor(*key), tensor(*key))
    assert (found.computed, found.width, found.value_width) == (computed, width, width)
    assert (found.paged, found.key_bytes) == (False, 0)


def test_statistics_say_what_the_layout_leaves_open() -> None:
    """They are [B, N, S, 8]; a query of B x S x H and of S x B x H then has heads of any width."""
    for query, key in (((B, S, N * D), (B, T, N * D)), ((S, B, N * D), (T, B, N * D))):
        found = pairs(tensor(*query), tensor(*key), tensor(*key), outputs=(statistics(B, N, S), tensor(*query)))
        assert (found.computed, found.width) == (B * N * S * T, D)
    other = statistics(B, N + 2, S)  # of something else: it does not divide the query
    assert pairs(tensor(B, S, 512), tensor(B, T, 512), other).computed == B * 4 * S * T


@pytest.mark.parametrize(("mask", "is_causal"), [
    (tensor(S, S, dtype="BOOL"), True), (tensor(B, 1, S, S, dtype="UINT8"), False),
    (tensor(2048, 2048, dtype="INT8"), True),
    (tensor(S, T, dtype="BOOL"), False), (tensor(T, T, dtype="BOOL"), False), (tensor(S, S), False),
    (tensor(S, dtype="BOOL"), False),
])  # fmt: skip
def test_a_square_mask_of_bytes_can_be_causal(mask: TensorDesc, *, is_causal: bool) -> None:
    x = tensor(B, N, S, D)
    assert pairs(x, x, x, mask).computed == B * N * (S * (S + 1) / 2 if is_causal else S * S)
    one, keys = tensor(B, N, 1, D), tensor(B, N, T, D)
    assert pairs(one, keys, keys, mask).computed == B * N * T, "one query sees all"


def test_square_operands_of_bytes_are_no_mask() -> None:
    x = tensor(B, N, 64, 64, dtype="INT8")
    assert pairs(x, x, x).computed == B * N * 64 * 64


@pytest.mark.parametrize(("queries", "keys", "cached"), [(S, T, True), (S, S, False), (T, S, False)])
def test_more_keys_than_queries_were_made_before(queries: int, keys: int, *, cached: bool) -> None:
    found = pairs(tensor(B, N, queries, D), tensor(B, N, keys, D), tensor(B, N, keys, D))
    assert found.cached is cached


def test_packed_tokens_are_as_many_sequences_as_there_are_lengths() -> None:
    query, key = tensor(B * S, N, D), tensor(B * T, N, D)
    lengths = whole(B, dtype="INT64")
    found = pairs(query, key, key, lengths)
    assert found.computed == pytest.approx(B * N * S * T)
    assert pairs(query, key, key, whole(B * S + 1)).computed == pytest.approx(N * B * S * B * T), "too many lengths"
    assert pairs(query, key, key, whole(B * S)).computed == pytest.approx(N * B * S * (B * T / (B * S)))

    assert pairs(query, key, key, whole(0), lengths) == found, "an empty list says nothing"


def test_one_packed_query_for_each_row_of_a_table_has_its_share_of_packed_keys() -> None:
    key = tensor(B * T, N, D)
    assert pairs(tensor(B, N, D), key, key, whole(B, 4)).computed == pytest.approx(B * N * T)


def test_packed_queries_see_the_keys_of_their_sequence() -> None:
    key = tensor(B, T, N, D)
    assert pairs(tensor(B, N, D), key, key, whole(B)).computed == B * N * T


def test_a_single_whole_number_is_no_table() -> None:
    cache = tensor(40, 16, N * D)
    assert not pairs(tensor(B, N, D), cache, cache, whole(1, 1)).paged


@pytest.mark.parametrize(("cache", "row"), [
    ((40, 16, N * D), N * D), ((40, 16, N, D), N * D), ((40, N, 16, D), N * D), ((40, 512, N * D), N * D),
])  # fmt: skip
def test_sequences_reach_the_root_of_the_pages_that_a_table_names(cache: tuple[int, ...], row: int) -> None:
    """Three sequences with nine pages in the table: three each, of keys and of values."""
    page, pages = (16 if 16 in cache[1:3] else 512), 9
    found = pairs(tensor(B, N, D), tensor(*cache), tensor(*cache), whole(B, 9))
    assert found.paged
    assert found.cached
    assert found.key_bytes == pages * page * 2 * row * 2
    assert found.computed == pytest.approx(N * pages * page)
    few = pairs(tensor(B, N, D), tensor(7, *cache[1:]), tensor(7, *cache[1:]), whole(B, 9))
    assert few.computed == pytest.approx(N * 7 * page), "no more than there are"


@pytest.mark.parametrize("query", [(24, 3, 512), (3, 24, 512)])
def test_a_table_has_a_row_for_each_sequence_even_of_few_queries(query: tuple[int, ...]) -> None:
    """24 sequences of 3 queries in 4 heads of 128, whichever stands first; 3 of 9 pages are in use."""
    cache = tensor(400, 16, 4, 128)
    found = pairs(tensor(*query), cache, cache, whole(24, 9))
    assert found.computed == pytest.approx(24 * 4 * 3 * 3 * 16)


@pytest.mark.parametrize("query", [(96, 48, 512), (48, 96, 512)])
def test_a_table_tells_sequences_from_queries_where_these_are_fewer(query: tuple[int, ...]) -> None:
    """3 of 9 pages of 16 are 48 keys for each of 96 sequences, as many as its queries: a mask can be causal."""
    cache, mask = tensor(500, 16, 4, 128), tensor(48, 48, dtype="BOOL")
    found = pairs(tensor(*query), cache, cache, whole(96, 9), mask)
    assert found.computed == pytest.approx(96 * 4 * 48 * 49 / 2)


@pytest.mark.parametrize(("queries", "keys", "values", "width", "value_width"), [
    (192, 192, 128, 192, 128), (192, 192, 192, 192, 192), (48, 48, 96, 48, 48),
])  # fmt: skip
def test_values_may_be_narrower(queries: int, keys: int, values: int, width: int, value_width: int) -> None:
    found = pairs(tensor(B, N, S, queries), tensor(B, N, T, keys), tensor(B, N, T, values))
    assert (found.width, found.value_width) == (width, value_width)


def test_rotated_parts_widen_the_scores_alone() -> None:
    query, key = tensor(B, N, S, 256), tensor(B, N, T, 256)
    rotated = tensor(B, N, S, 64), tensor(B, N, T, 64)
    found = pairs(query, key, key, *rotated)
    assert (found.computed, found.width, found.value_width) == (B * N * S * T, 256 + 64, 256)
    narrow = tensor(B, N, S, 128), tensor(B, N, T, 128)
    assert pairs(*narrow, narrow[1], *rotated).width == 128, "beside heads that are wider than usual"
    other = tensor(B, N, 33, 64)
    assert pairs(query, key, key, other).width == 256, "they have the rows of what they stand beside"
    flat = tensor(S, 256), tensor(T, 256)
    assert pairs(*flat, flat[1], tensor(S, 64)).width == 128, "and heads of their own"
    table, cache = whole(B, 9), tensor(40, 1, 16, 256)
    latent = pairs(tensor(B, N, 1, 256), cache, table, tensor(B, N, 1, 64), tensor(40, 1, 16, 64))
    assert latent.key_bytes == 9 * 16 * (256 + 64) * 2, "keys and values are one tensor"


def test_one_tensor_alone_is_no_attention() -> None:
    assert pairs(tensor(B, N, S, D)) == Pairs(0.0, 1, 1)
    assert pairs(tensor(B, N, S, D), whole(T, D)) == Pairs(0.0, 1, 1)
