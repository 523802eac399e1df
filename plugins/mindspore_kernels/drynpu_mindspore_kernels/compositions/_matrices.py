"""Products and other functions of matrices."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import linalg

from drynpu_mindspore_kernels.compositions._arguments import Flag, Numbers


def _addmm(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return beta * x + alpha * (a @ b)


def _addbmm(x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return beta * x + alpha * np.einsum("bij,bjk->ik", a, b)


def _triangular_solve(b: Any, a: Any, upper: Any = True, transpose: Any = False, unit: Any = False) -> Any:
    rows = a.shape[-1]
    triangle = np.triu(a) if upper else np.tril(a)
    if unit:
        triangle = np.where(np.eye(rows, dtype=bool), 1, triangle)
    left = np.swapaxes(triangle, -1, -2) if transpose else triangle
    return np.linalg.solve(left, b), triangle


def _qr(a: Any, mode: Any = 0) -> Any:
    # Values of ``LinalgQrMode`` in MindSpore: reduced, complete, r.
    names: Any = ("reduced", "complete", "r")
    factors = np.linalg.qr(a, mode=names[int(mode)])
    return (np.zeros(0, a.dtype), factors) if int(mode) == names.index("r") else tuple(factors)


def _matrix_exp(a: Any) -> Any:
    return linalg.expm(a)


def _cholesky_gradient(lower: Any, dy: Any) -> Any:
    """Return the gradient of a matrix from the gradient of its factor, which is symmetric as the matrix is."""
    inner = np.tril(np.swapaxes(lower, -1, -2) @ np.tril(dy))
    inner[..., range(inner.shape[-1]), range(inner.shape[-1])] /= 2
    inverse = np.linalg.inv(lower)
    gradient = np.swapaxes(inverse, -1, -2) @ inner @ inverse
    return (gradient + np.swapaxes(gradient, -1, -2)) / 2


def _on_diagonal(x: Any, eye: Any) -> Any:
    return x[..., None] * eye if eye.shape[-2] >= eye.shape[-1] else x[..., None, :] * eye


def _of_diagonal(x: Any, eye: Any) -> Any:
    return (x * eye).sum(-1 if eye.shape[-2] < eye.shape[-1] else -2)


def _with_diagonal(x: Any, diagonal: Any, eye: Any) -> Any:
    placed = diagonal[..., None] if eye.shape[-2] < eye.shape[-1] else diagonal[..., None, :]
    return x * (1 - eye) + placed * eye


def _turned_product(
    x: Any, weight: Any, turn: Numbers, turn_back: Numbers, flip_x: Flag = False, flip: Flag = False
) -> Any:
    # In GRAPH mode one order of axes for both comes twice to each.
    axes, back = (tuple(int(axis) for axis in np.ravel(each)[: x.ndim]) for each in (turn, turn_back))
    left = x.transpose(axes)
    left = np.swapaxes(left, -1, -2) if flip_x else left
    return (left @ (np.swapaxes(weight, -1, -2) if flip else weight)).transpose(back)


MATRICES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "Mm": np.matmul,
        "Mv": np.matmul,
        "Dot": np.dot,
        "Outer": np.outer,
        "Addmm": _addmm,
        "MatrixDiag": _on_diagonal,
        "MatrixDiagPart": _of_diagonal,
        "MatrixSetDiag": _with_diagonal,
        "Addmv": _addmm,
        "Baddbmm": _addmm,
        "Addbmm": _addbmm,
        "InplaceAddmm": _addmm,
        "InplaceMatmulAdd": lambda x, weight, c: c + x.T @ weight,
        "TriangularSolve": _triangular_solve,
        "MatrixInverseExt": np.linalg.inv,
        "LinalgQr": _qr,
        "MatrixExp": _matrix_exp,
        "CholeskyGrad": _cholesky_gradient,
        "TransposeBatchMatmulTranspose": _turned_product,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
