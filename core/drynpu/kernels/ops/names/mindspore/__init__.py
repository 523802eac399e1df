"""What MindSpore calls the neutral operators."""

from __future__ import annotations

from typing import Final

from drynpu.kernels.ops.names.mindspore import fused, products, tensors, vectors

ROWS: Final = (*products.ROWS, *fused.ROWS, *vectors.ROWS, *tensors.ROWS)
