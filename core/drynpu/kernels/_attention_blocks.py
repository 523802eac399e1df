"""
How an attention is dealt out to the cores of a split chip.

A block is some queries of one head beside all keys that they look at. Backwards it is some keys beside all queries.
While a sequence is decoded, the few queries of all heads that share keys are one block, and long keys are split among
idle cores. A core is busy with its blocks one after the other, so the time follows the core that has most of them.
"""

from __future__ import annotations

import math
from typing import Final

from attrs import frozen

from drynpu.kernels._attention_shapes import Pairs

BLOCK_ROWS: Final = 128
"""Queries (backwards: keys) of a block; a block of fewer is padded to whole rows of the cube's tiles."""
_TILE_ROWS: Final = 16
SOFTMAX_OPS: Final = 4
"""Element operations for each pair of a query and a key: scale, mask, exponent, sum."""
SOFTMAX_GRADIENT_OPS: Final = 8
_LEAST_KEYS: Final = 1024
"""Keys that are not split among cores: 4 x 2 heads of 1024 keys ran on 8 cores, of 4096 keys on all 24."""


@frozen
class Blocks:
    """The blocks of an attention: cores in use, and the share of all work that the busiest core has."""

    cores: int
    share: float
    """At least 1 / cores; more than 1 where most of a tile is padding."""
    key_share: float
    """Share of all keys and values that the busiest core reads."""


def is_gradient(op_type: str) -> bool:
    """Return whether an attention is a backward pass."""
    return "grad" in op_type.lower()


def attention_blocks(pairs: Pairs, computed: float, cores: int, *, gradient: bool) -> Blocks:
    """
    Return the blocks of an attention on *cores* cube cores.

    *computed* pairs of a query and a key are left by the mask, over batch and heads. The work of the busiest core never
    falls when a dim grows.

    >>> pairs = Pairs(8 * 128 * 256, 64, 64, heads=8, key_heads=8, queries=128, keys=256)
    >>> attention_blocks(pairs, pairs.computed, 24, gradient=False)
    Blocks(cores=8, share=0.125, key_share=0.125)
    """
    rows, others, stacks = pairs.queries, pairs.keys, pairs.heads
    group = max(pairs.heads // max(pairs.key_heads, 1), 1)
    if gradient:
        rows, others = math.ceil(pairs.keys), float(pairs.queries)
    decodes = not gradient and rows <= _TILE_ROWS
    if decodes:
        rows, stacks = rows * group, pairs.key_heads
    tall = min(BLOCK_ROWS, -(-rows // _TILE_ROWS) * _TILE_ROWS)
    blocks = max(stacks * math.ceil(rows / tall), 1)
    waves, used = math.ceil(blocks / cores), min(blocks, cores)
    length = others
    if decodes and blocks < cores:
        length = max(others * blocks / cores, min(others, _LEAST_KEYS))
        used = min(math.ceil(blocks * others / length), cores)
    kept = min(computed / max(pairs.heads * pairs.queries * pairs.keys, 1.0), 1.0)
    busiest = waves * tall * length * kept
    reads = waves * length / max(others, 1.0) if decodes else math.ceil(pairs.key_heads / cores)
    return Blocks(used, busiest / max(computed, 1.0), reads / max(pairs.key_heads, 1))
