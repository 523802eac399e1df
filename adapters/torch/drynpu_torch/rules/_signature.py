"""Signatures from the values that Kineto's getters return for a call."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.kernels import Placement, Signature, TensorDesc
from drynpu_torch.rules._dtypes import ge_dtype, is_tensor_dtype

_FORMAT_BY_RANK = {3: "NCL", 4: "NCHW", 5: "NCDHW"}


def native_format(rank: int) -> str:
    """
    Return the format that torch_npu gives an ordinary tensor of *rank* dimensions.

    Measured profiles show NCL, NCHW and NCDHW for three to five dimensions and ND for all others, whatever the
    tensor means (device_and_cost_model.md 3, kernel tables of M1 and M2).
    """
    return _FORMAT_BY_RANK.get(rank, "ND")


def signature_from_kineto(
    name: str,
    structured_shapes: Sequence[object],
    dtypes: Sequence[str],
    concrete_inputs: Sequence[object],
    placement: Placement = Placement.DEVICE,
) -> Signature:
    """
    Build the signature of a call.

    Parameters
    ----------
    name:
        Operator name, e.g. ``aten::addmm``.
    structured_shapes:
        Per argument the dims, or a list of dims for a tensor list. ``[]`` stands for a 0-dim tensor and for
        anything that is not a tensor; *dtypes* tells them apart.
    dtypes:
        Per argument the C++ type name; ``Scalar``, ``ScalarList``, ``TensorList`` or empty for non-tensors.
    concrete_inputs:
        Per argument the value, ``None`` for tensors and absent arguments.
    placement:
        Where the call works.

    Returns
    -------
    Signature
        Kineto gives no dtypes for the entries of a tensor list: they take the dtype of the first plain tensor
        argument, ``FLOAT`` when there is none. A type that GE does not know becomes ``UNDEFINED`` (1 byte).
    """
    first = next((ge_dtype(text) for text in dtypes if is_tensor_dtype(text)), None) or "FLOAT"
    inputs: list[TensorDesc | tuple[TensorDesc, ...] | None] = []
    for shape, dtype in zip(structured_shapes, dtypes, strict=False):
        if dtype == "TensorList":
            inputs.append(tuple(_tensor(dims, first) for dims in _sequence(shape)))
        elif is_tensor_dtype(dtype):
            inputs.append(_tensor(shape, ge_dtype(dtype) or "UNDEFINED"))
        else:
            inputs.append(None)
    attributes = tuple(_frozen_value(value) for value in concrete_inputs)
    return Signature(name=name, inputs=tuple(inputs), attributes=attributes, placement=placement)


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()


def _tensor(shape: object, dtype: str) -> TensorDesc:
    dims = tuple(dim for dim in _sequence(shape) if isinstance(dim, int))
    return TensorDesc(dims, dtype, native_format(len(dims)))


def _frozen_value(value: object) -> object:
    """Make a value hashable; lists become tuples."""
    return tuple(_frozen_value(item) for item in value) if isinstance(value, (list, tuple)) else value
