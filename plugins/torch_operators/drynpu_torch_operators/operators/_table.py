"""All families, their registration, and the names that torch_npu exports."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

import torch

from drynpu_torch_operators.operators import (
    activations,
    attention,
    attention_third,
    batch_statistics,
    block_sparse,
    boxes,
    caches,
    communication,
    deformable,
    delta_rule,
    dequantisation,
    dropout,
    expert_exchange,
    expert_maps,
    ffn,
    fused_experts,
    grouped,
    indexer,
    inference,
    latent,
    latent_attention,
    latent_cache,
    layer_norms,
    layouts,
    library_attention,
    losses,
    matmul,
    moe,
    mx_quantisation,
    norms,
    optimizers,
    paged,
    projected_attention,
    quantisation,
    regions,
    rotary,
    sampling,
    score_softmax,
    selected_blocks,
    sparse_attention,
    suppression,
    tensors,
    vocabulary,
    written_quantisation,
)
from drynpu_torch_operators.operators._composites import COMPOSITES
from drynpu_torch_operators.operators._packets import packet
from drynpu_torch_operators.operators._refused import RefusedOperator
from drynpu_torch_operators.operators._refused_names import SUBSTITUTES
from drynpu_torch_operators.operators._registry import NAMESPACE, register_operator, schemas_by_name

FAMILIES: Final[tuple[ModuleType, ...]] = (
    *(attention, attention_third, norms, layer_norms, rotary, activations, dropout, losses, vocabulary),
    *(
        inference,
        paged,
        library_attention,
        indexer,
        sparse_attention,
        block_sparse,
        selected_blocks,
        score_softmax,
        latent,
        latent_attention,
        latent_cache,
        delta_rule,
        caches,
        sampling,
    ),
    *(grouped, fused_experts, ffn, matmul, communication, quantisation, mx_quantisation, dequantisation),
    *(written_quantisation, batch_statistics),
    *(moe, expert_maps, expert_exchange, optimizers, layouts, tensors),
    *(projected_attention, boxes, regions, deformable, suppression),
)


ATB_NAMES: Final = (
    *("_npu_matmul_add_fp32", "_npu_quant_rms_norm", "_npu_group_topk", "_npu_quantize_per_tensor"),
    *("_npu_reshape_and_cache", "_npu_reshape_and_cache_siso", "_npu_rotary_embedding"),
    *("_npu_flash_attention", "_npu_flash_attention_v3", "_npu_flash_attention_unpad"),
    *("_npu_flash_attention_unpad_v2", "_npu_flash_attention_qlens", "_npu_paged_attention"),
    *("_npu_paged_attention_get_workspace", "_npu_paged_attention_mla", "_npu_paged_attention_splitfuse"),
    *("_npu_paged_attention_splitfuse_v2", "npu_paged_cache_load", "npu_multi_head_latent_attention"),
    *("npu_fused_add_topk_div", "npu_ring_mla", "npu_self_attention_prefix_encoder", "npu_mla_preprocess"),
    *("_npu_flash_attention_v2", "_npu_flash_attention_prefix_v2", "_npu_paged_attention_v2"),
    *("_npu_paged_attention_v2_get_workspace", "_npu_multi_head_latent_attention_get_workspace"),
)
"""Operators of the Ascend transformer boost library, which have a namespace of their own, ``torch.ops.atb``."""


_ATB_MODULE: Final = (
    *("npu_paged_cache_load", "npu_multi_head_latent_attention", "_npu_multi_head_latent_attention_get_workspace"),
    *("_npu_paged_attention_v2", "_npu_paged_attention_v2_get_workspace", "_npu_flash_attention_v2"),
    *("_npu_flash_attention_prefix_v2", "npu_fused_add_topk_div", "npu_ring_mla", "npu_self_attention_prefix_encoder"),
    "npu_mla_preprocess",
)
"""The ones that ``torch_npu.atb`` has; the others are names of ``torch_npu`` itself."""


def boost_library() -> Mapping[str, Any]:
    """Return the operators that ``torch_npu.atb`` has, by name."""
    return {name: exported()[name] for name in _ATB_MODULE}


@functools.cache
def register() -> tuple[torch.library.Library, ...]:
    """Register all operators, once per process; the cache keeps the library, with which they would go."""
    library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
    for family in FAMILIES:
        schemas = schemas_by_name(family.SCHEMAS)
        for name, operator in family.OPERATORS.items():
            register_operator(library, schemas[name], operator)
    for name, value in exported().items():
        setattr(getattr(torch.ops, NAMESPACE), name, value)
    for name in ATB_NAMES:
        setattr(torch.ops.atb, name, exported()[name])
    return (library,)


@functools.cache
def exported() -> Mapping[str, Any]:
    """Return the operators by the names that ``torch_npu`` and ``torch.ops.npu`` have for them."""
    forms: dict[str, list[str]] = defaultdict(list)
    for name in (name for family in FAMILIES for name in family.OPERATORS):
        forms[name.partition(".")[0]].append(name)
    computed = {base: packet(base, overloads) for base, overloads in forms.items()}
    refused = {name: RefusedOperator(name, substitute) for name, substitute in SUBSTITUTES.items()}
    return {**refused, **computed, **COMPOSITES}
