"""Inputs of the calls in docs/lists/mindspore-calls.yaml and mindspore-ops-calls.yaml; every process gets the same."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(shape: tuple[int, ...], place: int) -> Any:
    """Return what the parameter at a place among a cell's is filled with."""
    return np.cos(np.arange(np.prod(shape)) + place).reshape(shape).astype(np.float32) / 2


def inputs() -> dict[str, Any]:
    """Return arrays of asymmetric shapes; floating point numbers are far from the corners of ``where(x > 0, ...)``."""
    rng = np.random.default_rng(20)

    def normal(*shape: int) -> Any:
        values = rng.normal(size=shape)
        return values + 0.04 * np.sign(values)

    arrays = {name: normal(4, 6) for name in "xyz"} | {name: normal(6) for name in "wbm"}
    arrays |= {"s": 0.5 + rng.random(6), "q": 0.1 + 0.8 * rng.random((4, 6)), "p": 1.1 + rng.random((4, 6))}
    arrays |= {"c": normal(4, 3), "t": normal(6, 3), "sq": normal(4, 4) + 4 * np.eye(4)}
    arrays |= {"cube": normal(2, 4, 6), "cubet": normal(2, 6, 3), "heads": normal(2, 3, 5, 4)}
    arrays |= {"cosines": np.cos(normal(1, 1, 5, 4)), "sines": np.sin(normal(1, 1, 5, 4))}
    arrays |= {"image": normal(2, 3, 5, 4), "filters": normal(4, 3, 3, 2), "offsets": normal(4)}
    arrays |= {"small": normal(2, 4, 3, 3), "lines": normal(2, 3, 8), "taps": normal(4, 3, 3)}
    arrays |= {"volume": normal(1, 2, 4, 5, 3), "blocks": normal(3, 2, 2, 3, 2)}
    arrays |= {"windowed": normal(2, 3, 1, 20), "theta": normal(1, 2, 3)}
    corners = np.sort(rng.integers(0, 40, (5, 2, 2)), axis=1).reshape(5, 4) + np.array([0, 0, 3, 5])
    arrays |= {"boxes": corners, "boxes2": corners[2:] + np.array([1, -2, 4, 1])}
    whole = {"i": rng.integers(0, 4, (4, 6)), "j": rng.integers(0, 9, (4, 6)), "k": np.array([2, 0, 3, 2])}
    whole |= {"u": np.array([2, 0, 3, 1]), "v": rng.permuted(np.tile(np.arange(4), (4, 1)), axis=1)}
    whole |= {"places": rng.integers(0, 3, (2, 5, 4))}
    arrays |= {"shares": 0.1 + rng.random((4, 2)), "tokens": normal(8, 6), "mats": normal(3, 6, 5)}
    arrays |= {"keycache": normal(5, 4, 2, 3), "valuecache": normal(5, 4, 2, 3), "single": normal(2, 1, 6)}
    arrays |= {"values": normal(2, 13, 2, 4), "weighs": rng.random((2, 5, 2, 2, 3))}
    # Places of three points in images of 2 by 3 and 1 by 7, none at the edge of a cell, where slopes jump.
    arrays |= {"points": 0.02 + 0.15 * rng.integers(0, 7, (2, 5, 2, 2, 3, 2)) + 0.02 * rng.random((2, 5, 2, 2, 3, 2))}
    chosen = rng.permuted(np.tile(np.arange(5), (4, 1)), axis=1)[:, :2]
    whole |= {
        "chosen": chosen.astype(np.int32),
        "order": rng.permutation(8).astype(np.int32),
        "ends": np.array([2, 5, 8]),
    }
    whole |= {
        "bytes": rng.integers(-20, 20, (4, 6)).astype(np.int8),
        "bytes2": rng.integers(-20, 20, (6, 3)).astype(np.int8),
    }
    whole |= {"table": np.array([[3, 0], [1, 4]], np.int32), "seen": np.array([6, 3], np.int32)}
    whole |= {"repeated": np.array([5, 2, 9, 2, 5, 5]), "images": np.array([[2, 3], [1, 7]], np.int32)}
    whole |= {
        "starts": np.array([0, 6], np.int32),
        "labels": np.array([[1, 3, -1, 0, 2, -1]] * 3 + [[0, -1, 2, -1, 1, 0]], np.int32),
    }
    # Rectangles of a test of op-plugin (test_rotated_iou.py), whose results it says.
    turned = np.random.RandomState(1234)
    for name, count in (("turned", 2), ("turned2", 3)):
        middles = turned.uniform(20, 60, (4, count, 2))
        sides, angles = turned.randint(1, 20, (4, count, 2)), turned.randint(-180, 180, (4, count, 1))
        arrays |= {name: np.concatenate([middles, sides, angles], -1)}
    arrays |= {"photo": rng.random((1, 2, 12, 12))}
    hidden = {"hidden": np.triu(np.ones((5, 5), bool), 2)}
    return {name: array.astype(np.float32) for name, array in arrays.items()} | whole | hidden
