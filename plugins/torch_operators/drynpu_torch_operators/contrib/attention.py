"""Attention of encoders: one operator for a layer with its projections, and functions for scores of a fixed shape."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from drynpu_torch.device import get_npu_format
from drynpu_torch_operators.contrib._checks import require
from drynpu_torch_operators.contrib.dropouts import NpuCachedDropout
from drynpu_torch_operators.contrib.functions import matmul_transpose
from drynpu_torch_operators.operators import errors

_FORMATS = (29, 29, 29, 29, 29, 2, 2, 2)
"""Formats of states, mask, three weights and three biases: FRACTAL_NZ and ND (contrib/function/fused_attention.py)."""
_HIDDEN = (1024, 768)
_HEAD_WIDTH = 64


def _quant_noise(module: nn.Module, p: float, block_size: int) -> nn.Module:
    """Return *module*, whose weights lose random blocks in training (Fan et al. 2020) where *p* is positive."""
    if p <= 0:
        return module
    kinds = (nn.Linear, nn.Embedding, nn.Conv2d)
    text = "Expected isinstance(module, (nn.Linear, nn.Embedding, nn.Conv2d))"
    require(isinstance(module, kinds), text, errors.TYPE, TypeError)
    weight: Any = module.weight
    pointwise = isinstance(module, nn.Conv2d) and module.kernel_size == (1, 1)
    if weight.ndim != 4:
        require(weight.size(1) % block_size == 0, "Input features must be a multiple of block sizes")
    elif pointwise:
        require(weight.size(1) % block_size == 0, "Input channels must be a multiple of block sizes")
    else:
        require(math.prod(weight.shape[2:]) % block_size == 0, "Kernel size must be a multiple of block size")
    whole = weight.ndim == 4 and not pointwise

    def drop(mod: nn.Module, inputs: Any) -> None:
        del inputs
        if not mod.training:
            return
        current: Any = mod.weight
        if whole:
            dropped = torch.zeros(current.shape[:2], device=current.device).bernoulli_(p)[..., None, None]
        else:
            blocks = torch.zeros(current.numel() // block_size, device=current.device).bernoulli_(p)
            dropped = blocks.repeat_interleave(block_size).view(current.shape)
        current.data = current.masked_fill(dropped.bool(), 0) / (1 - p)

    module.register_forward_pre_hook(drop)
    return module


class _NpuLinear(nn.Linear):
    """A linear layer for rows or for sequences of rows, by ``npu_linear``."""

    def forward(self, input2: Tensor) -> Tensor:
        text = "not support this dim"
        require(input2.dim() in (2, 3), text, errors.NOT_SUPPORTED, RuntimeError)
        rows = torch.ops.npu.npu_linear(input2.reshape(-1, self.in_features), self.weight, self.bias)
        return rows.view(*input2.shape[:-1], self.out_features)  # type: ignore[no-any-return]


class _MHAConfig:
    """Whether ``MultiheadAttention`` computes; without ``set_fussion()`` it returns ``(None, None)``."""

    use_fussion_mha: ClassVar[bool] = False

    @classmethod
    def set_fussion(cls) -> None:
        """Let it compute by ``npu_multi_head_attention``."""
        cls.use_fussion_mha = True


def Matmul_transpose(tensor1: Tensor, tensor2: Tensor) -> Tensor:  # noqa: N802 - the vendor's name
    """Return ``tensor1 @ tensor2.transpose(-2, -1)``."""
    return matmul_transpose(tensor1, tensor2)  # type: ignore[no-any-return, no-untyped-call]


class MultiheadAttention(nn.Module):
    """Attention of several heads with the projections of queries, keys, values and output."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        kdim: int | None = None,
        vdim: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        self_attention: bool = False,
        encoder_decoder_attention: bool = False,
        q_noise: float = 0.0,
        qn_block_size: int = 8,
    ) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self.qkv_same_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout_module = NpuCachedDropout(dropout, module_name=type(self).__name__)
        self.dropout_prob = dropout
        self.use_dropout_optim = True
        self.head_dim = embed_dim // num_heads
        require(self.head_dim * num_heads == embed_dim, "embed_dim must be divisible by num_heads")
        self.scaling = self.head_dim**-0.5
        self.self_attention = self_attention
        self.encoder_decoder_attention = encoder_decoder_attention
        text = "Self-attention requires query, key and value to be of the same size"
        require(self.qkv_same_dim or not self_attention, text)
        sizes = {"k_proj": self.kdim, "v_proj": self.vdim, "q_proj": embed_dim, "out_proj": embed_dim}
        for name, size in sizes.items():
            setattr(self, name, _quant_noise(_NpuLinear(size, embed_dim, bias=bias), q_noise, qn_block_size))
        self.bias_k = Parameter(torch.empty(1, 1, embed_dim)) if add_bias_kv else None
        self.bias_v = Parameter(torch.empty(1, 1, embed_dim)) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self.reset_parameters()
        self.onnx_trace = False
        self.tpu = False

    def prepare_for_onnx_export_(self) -> None:
        """Note that the module is exported."""
        self.onnx_trace = True

    def prepare_for_tpu_(self, **kwargs: Any) -> None:
        """Note that the module is meant for a TPU."""
        del kwargs
        self.tpu = True

    def reset_parameters(self) -> None:
        """Draw the weights."""
        gain = 1 / math.sqrt(2) if self.qkv_same_dim else 1.0
        for name in ("k_proj", "v_proj", "q_proj"):
            nn.init.xavier_uniform_(getattr(self, name).weight, gain=gain)
        out: Any = self.out_proj
        nn.init.xavier_uniform_(out.weight)
        if out.bias is not None:
            nn.init.constant_(out.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                nn.init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bsz: int,
        tgt_len: int,
        s_len: int,
        key_padding_mask: Tensor | None = None,
        **options: Any,
    ) -> tuple[Tensor | None, None]:
        """Return rows [bsz * tgt_len, embed_dim] for rows of queries, keys and values; the mask is added to scores."""
        del s_len, options
        if not _MHAConfig.use_fussion_mha:
            return None, None
        return self.multi_attn(query, key, value, key_padding_mask, bsz, tgt_len), None

    def multi_attn(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, bsz: int, tgt_len: int
    ) -> Tensor:
        """Return the output of ``npu_multi_head_attention`` with the module's weights."""
        src_len = key.size(0) // bsz
        shape = (bsz, self.num_heads, tgt_len, src_len)
        mask = self.dropout_module([shape, query.dtype, query.device])
        layers: list[Any] = [self.q_proj, self.k_proj, self.v_proj, self.out_proj]
        weights, biases = [layer.weight for layer in layers], [layer.bias for layer in layers]
        sizes = (self.num_heads, self.head_dim, src_len, tgt_len, self.dropout_prob, True)
        attend = torch.ops.npu.npu_multi_head_attention
        outputs = attend(query, key, value, *weights[:3], key_padding_mask, weights[3], *biases, mask, *sizes)
        return outputs[0]  # type: ignore[no-any-return]

    def upgrade_state_dict_named(self, state_dict: dict[str, Tensor], name: str) -> None:
        """Split the joint weights and biases of an older checkpoint in place."""
        prefix = f"{name}." if name else ""
        for kind in ("weight", "bias"):
            joint = state_dict.pop(f"{prefix}in_proj_{kind}", None)
            if joint is not None:
                parts = zip(("q_proj", "k_proj", "v_proj"), joint.chunk(3), strict=True)
                state_dict |= {f"{prefix}{part}.{kind}": tensor for part, tensor in parts}


def has_fused_formats(input_list: Sequence[Tensor]) -> bool:
    """Whether states, mask, three weights and three biases have the formats of fused attention."""
    return tuple(get_npu_format(tensor) for tensor in input_list) == _FORMATS


def check_fused(
    hidden_states: Tensor,
    attention_mask: Tensor,
    query_kernel: Tensor,
    key_kernel: Tensor,
    value_kernel: Tensor,
    query_bias: Tensor,
    key_bias: Tensor,
    value_bias: Tensor,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
) -> None:
    """Raise RuntimeError unless fused attention takes the shapes."""
    failed = "fused attention check compatibility failed, "
    # Formats are not compared: they change no value here.
    del query_bias, key_bias, value_bias, gamma, beta
    weights = (query_kernel, key_kernel, value_kernel)
    rows, mask = hidden_states.shape, attention_mask.shape
    fits = len(rows) == 2 and rows[0] % 32 == 0 and rows[1] in _HIDDEN
    require(fits, f"{failed}shape of hidden_states not matches", kind=RuntimeError)
    fits = len(mask) == 4 and mask[1] == 1 and mask[2] == mask[3]
    require(fits, f"{failed}shape of attention_mask not matches", kind=RuntimeError)
    fits = all(weight.shape[0] in _HIDDEN for weight in weights)
    require(fits, f"{failed}shape of kernel not matches", kind=RuntimeError)


def _fused(
    states: Tensor, mask: Tensor, weights: list[Tensor], biases: list[Tensor], scale: float, keep: float
) -> Tensor:
    length = states.shape[0] // mask.shape[0]
    shape = (mask.shape[0], length, states.shape[1] // _HEAD_WIDTH, _HEAD_WIDTH)
    layers = [
        torch.ops.npu.npu_confusion_transpose(
            torch.ops.npu.npu_linear(states, weight.t(), bias), (0, 2, 1, 3), shape, False
        )
        for weight, bias in zip(weights, biases, strict=True)
    ]
    score = torch.ops.npu.npu_fused_attention_score
    return score(*layers, mask, scale, keep)  # type: ignore[no-any-return]


def npu_fused_attention(
    hidden_states: Tensor,
    attention_mask: Tensor,
    query_kernel: Tensor,
    key_kernel: Tensor,
    value_kernel: Tensor,
    query_bias: Tensor,
    key_bias: Tensor,
    value_bias: Tensor,
    scale: float = 1,
    keep_prob: float = 0,
) -> Tensor:
    """Return the context [batch * length, hidden] of self-attention; *attention_mask* is added to the scores."""
    weights, biases = [query_kernel, key_kernel, value_kernel], [query_bias, key_bias, value_bias]
    check_fused(hidden_states, attention_mask, *weights, *biases)
    return _fused(hidden_states, attention_mask, weights, biases, scale, keep_prob)


def npu_fused_attention_with_layernorm(
    hidden_states: Tensor,
    attention_mask: Tensor,
    query_kernel: Tensor,
    key_kernel: Tensor,
    value_kernel: Tensor,
    query_bias: Tensor,
    key_bias: Tensor,
    value_bias: Tensor,
    gamma: Tensor,
    beta: Tensor,
    scale: float = 1,
    keep_prob: float = 0,
) -> tuple[Tensor, Tensor]:
    """
    Return the context of self-attention behind a layer norm, and the norm's result.

    The device computes norm and projections in one operator, which drynpu composes.
    """
    text = (
        "torch_npu.contrib.npu_fused_attention_with_layernorm is deprecated and will be removed in a future version. "
    )
    advice = "Use torch_npu.npu_fusion_attention and torch.nn.LayerNorm instead."
    warnings.warn(text + advice, FutureWarning, stacklevel=2)
    weights, biases = [query_kernel, key_kernel, value_kernel], [query_bias, key_bias, value_bias]
    check_fused(hidden_states, attention_mask, *weights, *biases)
    norm = torch.nn.functional.layer_norm(hidden_states, (hidden_states.shape[1],), gamma, beta)
    return _fused(norm, attention_mask, weights, biases, scale, keep_prob), norm
