"""Dropout of mint and nn: what is kept is scaled, the gradient is where the result is, evaluation drops nothing."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["PYNATIVE", "GRAPH"])
def test_dropout_keeps_three_quarters_and_scales_them(mode: str, scripts: Any) -> None:
    done = scripts.simulated(Path(__file__).parent / "dropping.py", mode, "found.pickle")
    found = pickle.loads((done.folder / "found.pickle").read_bytes())
    for name, (x, value, gradient, evaluated) in found.items():
        kept = value != 0
        # 4000 draws of 0.75 have a deviation of 0.0068, 2000 of 0.0097.
        assert abs(kept.mean() - 0.75) < (0.035 if x.ndim == 2 else 0.05), name
        if x.ndim > 2:  # whole channels go
            assert (kept.reshape(2000, 2)[:, 0] == kept.reshape(2000, 2)[:, 1]).all(), name
        np.testing.assert_allclose(value[kept], x[kept] / 0.75, rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(gradient, kept / 0.75, rtol=1e-6, err_msg=name)
        # A function that is called says itself whether it trains.
        assert (evaluated == x).all() == (name not in ("Called", "InPlace")), name
