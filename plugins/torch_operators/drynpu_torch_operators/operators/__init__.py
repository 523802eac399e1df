"""
The operators of torch_npu: ``torch.ops.npu.*`` and the functions ``torch_npu.*``.

Each family of operators is a module with their schemas and, for every one, how it is computed on the CPU, which kernels
it launches and how it is differentiated. :func:`register` gives them to PyTorch's dispatcher.
"""

from __future__ import annotations

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._numbers import TYPE_NUMBERS
from drynpu_torch_operators.operators._table import boost_library, exported, register

__all__ = ["TYPE_NUMBERS", "boost_library", "errors", "exported", "register"]
