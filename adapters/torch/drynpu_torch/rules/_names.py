"""Names of operators: tables that give rules to names, and the operators that launch nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from drynpu.kernels import KernelPlan, Named, Rule, Signature, bind
from drynpu_torch.rules._call import AtenCall

_TWIN: Final = "(_)"
"""Ends a name that has a twin working in place."""

_VIEWS: Final = """
_conj _neg_view _reshape_alias _unsafe_view alias as_strided as_strided_ broadcast_to chunk conj detach detach_
diagonal expand expand_as imag mH mT matrix_H moveaxis movedim narrow numpy_T permute real resolve_conj resolve_neg
select slice split split_with_sizes squeeze squeeze_ swapaxes swapdims t t_ tensor_split transpose transpose_ unbind
unflatten unfold unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_ view view_as
view_as_complex view_as_real
"""
_METADATA: Final = """
_assert_async _assert_tensor_metadata _debug_has_internal_overlap _dimI _dimV _functional_assert_async
_fused_sdp_choice _has_compatible_shallow_copy_type _has_same_storage_numel _is_zerotensor _make_dep_token
_nested_tensor_size _nnz _version can_cast cudnn_is_acceptable dense_dim dim get_device is_coalesced is_complex
is_floating_point is_inference is_neg is_pinned is_same_size is_set_to is_signed lift lift_fresh numel output_nr
promote_types record_stream requires_grad_ result_type retain_grad set_ set_data size sparse_dim storage_offset stride
sym_numel sym_size sym_storage_offset sym_stride
"""
_ALLOCATIONS: Final = """
empty empty_like empty_permuted empty_quantized empty_strided new_empty new_empty_strided resize_ resize_as_
"""
_COMPOSITES: Final = """
_native_multi_head_attention _pin_memory _transformer_encoder_layer_fwd alpha_dropout atleast_1d atleast_2d atleast_3d
batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats_with_counts
batch_norm_stats broadcast_tensors contiguous dropout_ feature_dropout flatten index_put index_put_ meshgrid
pin_memory positive ravel reshape reshape_as to to_dense type_as
"""

NO_KERNEL: Final = frozenset(
    {f"aten::{name}" for name in (_VIEWS + _METADATA + _ALLOCATIONS).split()} | {"detach", "detach_"}
)
"""Operators that launch nothing on a device, nor does anything that they call."""

ALLOCATIONS: Final = frozenset(f"aten::{name}" for name in _ALLOCATIONS.split())
"""Operators that allocate the result of another one."""

MAYBE_NOTHING: Final = frozenset(f"aten::{name}" for name in _COMPOSITES.split())
"""Composite operators: the operators that they call launch kernels, and they call none where nothing is to do."""

_PREFIXES: Final = (
    "autograd::engine::evaluate_function: ",
    "Optimizer.",
    "ProfilerStep",
    "enumerate(DataLoader)#",
    "torch::autograd::",
    "nn.Module: ",
    "DistributedDataParallel.",
    "drynpu::",
    "torch.distributed.",
    "_c10d_functional::",
    "TorchDynamo Cache Lookup",
    "Torch-Compiled Region: ",
    "Pregraph bytecode",
    "AOTDispatcher ",
    "CompiledFunction",
    "PythonDispatchMode",
)


def is_transparent(name: str) -> bool:
    """
    Tell whether an event only encloses others: a node of the backward graph or an annotation.

    Such an event launches nothing itself, even where no operator ran inside it (``AddBackward0``).
    """
    if name.startswith(_PREFIXES):
        return True
    # PyTorch numbers its nodes; the node of a user's autograd.Function has no number.
    node = name.rstrip("0123456789")
    return node.endswith("Backward") and node != "Backward" and "::" not in node


def no_kernel(signature: Signature) -> KernelPlan:
    """Return the plan of a view, a metadata operator or an allocation: no kernel, also inside."""
    return KernelPlan(claims=True, allocates=signature.name in ALLOCATIONS)


def wrapper_rule(signature: Signature) -> KernelPlan | None:
    """
    Return the plan of an enclosing event, whose names no table can list; ``None`` for any other name.

    A fallback of the rule book, see :func:`is_transparent`.
    """
    return KernelPlan(claims=False) if is_transparent(signature.name) else None


def transparent(signature: Signature) -> KernelPlan:
    """Return the plan of a composite operator: no kernel, and the operators that it calls have theirs."""
    del signature
    return KernelPlan(claims=False)


def aten_rules(rows: Iterable[Named]) -> dict[str, Rule]:
    """
    Return the rules of ATen's operators, by name.

    A name is ``abs=Abs`` where the aclnn interface and the kernel are called alike,
    ``mish=Mish:Function/Kernel*operations`` where they are not (see :meth:`drynpu.kernels.Binding.from_text`);
    ``abs(_)`` has a twin that works in place.
    """
    rules: dict[str, Rule] = {}
    for row in rows:
        for entry in row.names.split():
            name, _, spelling = entry.partition("=")
            api, colon, kernel = spelling.partition(":")
            api, kernel = (api, kernel) if colon else (spelling.partition("*")[0], spelling)
            rule = bind(row.operator, f"{f'aclnn{api}:' if api else ''}{kernel}({row.arguments})", AtenCall)
            plain = name.removesuffix(_TWIN)
            rules |= {f"aten::{variant}": rule for variant in (plain, *([f"{plain}_"] if plain != name else []))}
    return rules
