"""
Operators without a kernel for the NPU: as with torch_npu the host runs them, between copies, and a warning says so.

They are what PyTorch has a kernel for the CPU for, and neither ``op_plugin_functions.yaml`` of op-plugin nor
``npu_native_functions.yaml`` of torch_npu (v2.7.1 to v2.15) a kernel for the device. Random operators are left to the
generators of the device, and ``linalg_inv_ex`` stays there, because ``inverse``, which has a kernel, consists of it.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any, Final

import torch
from torch.utils._pytree import tree_map_only

_NAMES: Final = """
_cholesky_solve_helper _dirichlet_grad _histogramdd_bin_edges _histogramdd_from_bin_cts _histogramdd_from_bin_tensors
_int_mm _jagged_to_padded_dense_forward _linalg_det _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_solve_ex
_logcumsumexp _padded_dense_to_jagged_forward _pdist_backward _segment_reduce_backward _standard_gamma_grad
_upsample_lanczos2d_aa _upsample_lanczos2d_aa_backward cholesky cholesky_inverse digamma
fake_quantize_per_tensor_affine_cachemask fractional_max_pool2d fractional_max_pool2d_backward fractional_max_pool3d
fractional_max_pool3d_backward frexp geqrf heaviside histogram i0 igamma igammac index_reduce lcm lgamma
linalg_cholesky_ex linalg_eig linalg_eigvals linalg_householder_product linalg_ldl_factor_ex linalg_ldl_solve
linalg_lstsq linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp lu_unpack mode multi_margin_loss
multi_margin_loss_backward multilabel_margin_loss_backward mvlgamma nextafter nonzero_static ormqr polygamma
segment_reduce special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
special_chebyshev_polynomial_w special_entr special_erfcx special_hermite_polynomial_h special_hermite_polynomial_he
special_i0e special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr
special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
special_spherical_bessel_j0 special_xlog1py special_zeta unique_dim_consecutive
"""


def operator_names() -> frozenset[str]:
    """Return the names, also in place, as profiles show them."""
    return frozenset(f"aten::{name}{end}" for name in _NAMES.split() for end in ("", "_"))


@functools.cache
def leave_to_host() -> torch.library.Library:
    """Have the host run the operators from now on; the cache keeps the library, whose kernels end with it."""
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    names = operator_names()
    for full_name in torch._C._dispatch_get_all_op_names():
        name, _, overload = full_name.partition(".")
        if name in names and torch._C._dispatch_has_kernel_for_dispatch_key(full_name, "CPU"):
            run = _Run(name.removeprefix("aten::"), overload or "default")
            library.impl(full_name.removeprefix("aten::"), run, "PrivateUse1")  # type: ignore[no-untyped-call]
    return library


class _Run:
    """One operator; it is looked up and warned of when it runs first."""

    def __init__(self, name: str, overload: str) -> None:
        self._name, self._overload = name, overload

    @functools.cached_property
    def _operator(self) -> Any:
        suffix = "" if self._overload == "default" else f".{self._overload}"
        warnings.warn(
            f"CAUTION: The operator 'aten::{self._name}{suffix}' is not currently supported on the NPU backend and "
            "will fall back to run on the CPU. This may have performance implications.",
            stacklevel=4,
        )
        return getattr(getattr(torch.ops.aten, self._name), self._overload)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the operator on copies, and copy what it writes and returns to the device."""
        operator = self._operator
        copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        devices: list[torch.device] = []

        def to_host(tensor: torch.Tensor) -> torch.Tensor:
            if tensor.device.type == "cpu":
                return tensor
            devices.append(tensor.device)
            return copies.setdefault(id(tensor), (tensor, tensor.cpu()))[1]

        results = operator(*tree_map_only(torch.Tensor, to_host, args), **tree_map_only(torch.Tensor, to_host, kwargs))
        arguments = operator._schema.arguments
        values = {**dict(zip((each.name for each in arguments), args, strict=False)), **kwargs}
        originals: dict[int, torch.Tensor] = {}
        for written in (values[each.name] for each in arguments if each.is_write):
            tensor, copy = copies[id(written)]
            originals[id(copy)] = tensor
            if tensor.shape != copy.shape:
                tensor.resize_(copy.shape)
            tensor.copy_(copy)

        def to_device(tensor: torch.Tensor) -> torch.Tensor:
            original = originals.get(id(tensor))
            return tensor.to(devices[0]) if original is None else original

        return tree_map_only(torch.Tensor, to_device, results)
