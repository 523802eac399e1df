"""The facade of ``torch_npu.contrib.module``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.activations import (
    DropoutWithByteMask,
    LabelSmoothingCrossEntropy,
    Mish,
    SiLU,
    Swish,
)
from drynpu_torch_operators.contrib.attention import MultiheadAttention
from drynpu_torch_operators.contrib.batch_norms import (
    FastBatchNorm1d,
    FastBatchNorm2d,
    FastBatchNorm3d,
    FastSyncBatchNorm,
)
from drynpu_torch_operators.contrib.dropouts import NpuCachedDropout, NpuDropPath, NpuFairseqDropout, NpuPreGenDropout
from drynpu_torch_operators.contrib.layers import BiLSTM, ChannelShuffle, Focus, FusedColorJitter, Prefetcher
from drynpu_torch_operators.contrib.quantised import LinearA8W8Quant, LinearQuant, LinearWeightQuant, QuantConv2d
from drynpu_torch_operators.contrib.regions import DCNv2, ModulatedDeformConv, PSROIPool, ROIAlign

__all__ = [
    "BiLSTM",
    "ChannelShuffle",
    "DCNv2",
    "DropoutWithByteMask",
    "FastBatchNorm1d",
    "FastBatchNorm2d",
    "FastBatchNorm3d",
    "FastSyncBatchNorm",
    "Focus",
    "FusedColorJitter",
    "LabelSmoothingCrossEntropy",
    "LinearA8W8Quant",
    "LinearQuant",
    "LinearWeightQuant",
    "Mish",
    "ModulatedDeformConv",
    "MultiheadAttention",
    "NpuCachedDropout",
    "NpuDropPath",
    "NpuFairseqDropout",
    "NpuPreGenDropout",
    "PSROIPool",
    "Prefetcher",
    "QuantConv2d",
    "ROIAlign",
    "SiLU",
    "Swish",
]
