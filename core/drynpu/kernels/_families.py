"""
Kernel families: kernels that are bound by the same things and share coefficients.

A type is found by its name, as GE, ATB and users spell it: ``FusionOp_`` and the trailing ``D`` of static shapes say
nothing about the work. Rows are tried in order; what none fits is ``other``, which costs what an element-wise kernel
costs.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from attrs import frozen

from drynpu.kernels._elements import element_operations
from drynpu.kernels._table_rows import table_rows

_NAMES: Final = """
rotary | rotary (?<!p)rope
attention | flash_?attention paged_?attention unpad.*attention incre_?flash prompt_?flash fused_?infer_?attention
    attention_?score sparse_?attention ring_?attention multi_?latent self_?attention attention$ fusion_?attention
random | ^dsa random drop_?out_?gen multinomial bernoulli ^normal_?(kernel)?$ stateless
optimizer | ^apply lamb_?apply ^sgd$ adam momentum ^sparse_?apply adagrad rms_?prop
conv | conv[123]d depthwise deconv convolution fused_?dbn_?dw conv_?transpose im2col deformable
matmul | mat_?mul gemm fully_?connect ^linear(?!space) matrix_?mul ^mm$ bmm gmm dynamic_?rnn lstm gru moe_?ffn ^ffn
    inner_?product linear$ mla_?prolog
pool | pool resize upsample interpolate ^roi grid_?sample iou$
loss | nll cross_?entropy (?<!l2)loss(_?grad)?(v\\d)?$
reduce | reduce_?(sum|mean|max|min|prod|any|all|log|std|var) bias_?add_?grad square_?sum l2_?loss lp_?norm cumsum
    cumprod foreach_?norm clip_?by_?norm ^sum$ ^mean$ is_?finite is_?inf get_?float_?status hist bincount nonzero ^std
    ^var
scatter | scatter index_?put embedding.*grad segment_? index_?add index_?fill reshape_?and_?cache kv_?cache
    cache_?update update_?cache
sort | (?<!un)sort top_?k arg_?(max|min) nms unique kth median gating
quant | quant
batch_norm | bn_?(3d)?_?(training|infer|reduce|update) batch_?norm in_?infer in_?training
norm_grad | norm.*(grad|backprop|backward)
softmax_grad | softmax.*grad
softmax | softmax
norm | norm ^lrn
gather | gather (?<!rotary)embedding ^index lookup moe_?(init|finalize|token|compute|re_?routing|distribute) ^take
    masked_?select cache_?load gather_?pa_?kv
layout | trans_?data transpose permute nd_?to_?nz format_?cast npu_?format space_?to depth_?to shuffle
fill | zeros ones ^fill ^memset clean$ ^eye$ ^range$ arange ^empty ^full linspace one_?hot
copy | tensor_?move slice concat ^split ^pack unpack stack ^tile broadcast expand pad(_?v?\\d)?$ ^pad view_?copy
    identity ^assign as_?strided ^select reverse ^roll ^copy ^cat$ memcpy ^flip chunk repeat
elementwise | ^
"""
"""Regular expressions on the type in lower case; a row is ``family | patterns``."""

_DEFAULT_OPERATIONS: Final = {
    "norm": 9.0,
    "norm_grad": 24.0,
    "softmax": 9.0,
    "softmax_grad": 7.0,
    "quant": 9.0,
    "loss": 8.0,
    "rotary": 5.0,
    "batch_norm": 4.0,
    "reduce": 2.0,
    "optimizer": 14.0,
    "pool": 8.0,
    "layout": 0.0,
    "copy": 0.0,
    "fill": 0.0,
    "gather": 0.0,
    "scatter": 1.0,
    "random": 12.0,
}
"""
Element operations per element: what the measured shares of vector time of A2 give for the families that have them
(RMS norm 9, its gradient 24, rotary embedding 5), else counted like them (a pass over the data is one).
"""


@frozen
class Family:
    """What is shared by kernel types."""

    name: str
    operations: float
    """Element operations per element of the largest tensor."""


def is_of_family(op_type: str) -> bool:
    """Return whether the name of a kernel type says its family; all others are taken for element-wise kernels."""
    return family_of(op_type).name != _patterns()[-1][0]


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = (row.split("|", 1) for row in table_rows(_NAMES))
    return tuple((name.strip(), re.compile("|".join(f"(?:{p})" for p in patterns.split()))) for name, patterns in rows)


def is_prolog(op_type: str) -> bool:
    """Return whether a kernel is the chain of products before a latent attention (MlaProlog and its versions)."""
    return op_type.startswith("MlaProlog")


@functools.lru_cache(maxsize=4096)
def family_of(op_type: str) -> Family:
    """Return the family of a kernel type."""
    name = op_type.removeprefix("FusionOp_")
    plain = name[:-1] if name.endswith("D") and not name.endswith(("2D", "3D", "1D", "ND")) else name
    text = plain.lower()
    family = next(label for label, pattern in _patterns() if pattern.search(text))
    stated = max(element_operations(part) for part in (op_type, *name.split("_")))
    default = _DEFAULT_OPERATIONS.get(family, 1.0)
    return Family(family, max(stated, default) if stated > 1 else default)
