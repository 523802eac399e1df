"""Signatures from the texts that profiles of torch_npu have of a call."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from drynpu.kernels import Signature
from drynpu_torch.rules._signature import signature_from_kineto

_DROPOUT: Final = "aten::native_dropout"
_DROPOUT_VALUES: Final = 3
_SAME_AS: Final = {"npu::_npu_dropout": _DROPOUT, "npu::npu_dropout_backward": "aten::native_dropout_backward"}
"""Operators of torch_npu -> those that the CPU's operators call in their place."""
_CONVOLUTIONS: Final = {"aten::convolution": 3, "aten::_convolution": 3, "aten::convolution_backward": 4}
"""Number of the first value, the strides; padding, dilation, whether it is transposed and the groups follow."""


def signature_from_profile(name: str, dtypes: str, shapes: str) -> Signature:
    """
    Build the signature of a call from a profile of torch_npu, which has none of its values.

    Parameters
    ----------
    dtypes, shapes:
        ``Input type`` and ``Input Dims``: ``;`` between arguments, ``,`` between dims. What is no tensor has no dims; a
        scalar tensor has none either, and its type says so. Tensors of a list are not written: one scalar stands for
        them.

    Returns
    -------
    Signature
        For a convolution with strides and padding that keep the size, in one group: enough to know which types of
        kernels it launches, not how long they take.

    >>> signature_from_profile("aten::mm", "float;float", "4,8;8,2").inputs[1].shape
    (8, 2)
    """
    name = _SAME_AS.get(name, name)
    kinds = dtypes.split(";") if dtypes else []
    texts = [*shapes.split(";"), *[""] * len(kinds)][: len(kinds)]
    dims = [[int(part) for part in text.split(",") if part.strip().isdecimal()] for text in texts]
    signature = signature_from_kineto(
        name, [[[]] if kind == "TensorList" else each for kind, each in zip(kinds, dims, strict=True)], kinds, ()
    )
    return evolve(signature, attributes=_assumed(name, max(map(len, dims), default=0), len(kinds)))


def _assumed(name: str, rank: int, count: int) -> tuple[object, ...]:
    """Return the values of a call as far as its rule has to know them, ``[count]`` or more; *rank* is its images'."""
    first = _CONVOLUTIONS.get(name)
    if first is None:
        return (True,) * _DROPOUT_VALUES if name == _DROPOUT else (None,) * count
    space = max(rank - 2, 0)
    return (None,) * first + ((1,) * space, (0,) * space, (1,) * space, False, (0,) * space, 1, (True,) * 3)
