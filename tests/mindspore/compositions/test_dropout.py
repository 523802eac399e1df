"""Dropout of mint: what is kept is scaled, the gradient has the places of the result, and evaluation drops nothing."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("mode", ["PYNATIVE", "GRAPH"])
def test_dropout_keeps_three_quarters_and_scales_them(mode: str, scripts: Any) -> None:
    done = scripts.simulated(Path(__file__).parent / "dropping.py", mode, "found.pickle")
    x, found = pickle.loads((done.folder / "found.pickle").read_bytes())
    for name, (value, gradient, evaluated) in found.items():
        kept = value != 0
        # 4000 draws of 0.75 have a deviation of 0.0068.
        assert abs(kept.mean() - 0.75) < 0.035, name
        np.testing.assert_allclose(value[kept], x[kept] / 0.75, rtol=1e-6)
        np.testing.assert_allclose(gradient, kept / 0.75, rtol=1e-6)
        # A function that is called says itself whether it trains.
        assert (evaluated == x).all() == (name == "Cell"), name
