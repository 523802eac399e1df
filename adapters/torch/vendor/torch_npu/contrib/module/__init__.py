"""The facade of ``torch_npu.contrib.module``."""

from __future__ import annotations

from drynpu_torch.contrib.activations import DropoutWithByteMask, LabelSmoothingCrossEntropy, Mish, SiLU, Swish
from drynpu_torch.contrib.attention import MultiheadAttention
from drynpu_torch.contrib.batch_norms import FastBatchNorm1d, FastBatchNorm2d, FastBatchNorm3d, FastSyncBatchNorm
from drynpu_torch.contrib.dropouts import NpuCachedDropout, NpuDropPath, NpuFairseqDropout, NpuPreGenDropout
from drynpu_torch.contrib.layers import BiLSTM, ChannelShuffle, Focus, FusedColorJitter, Prefetcher
from drynpu_torch.contrib.quantised import LinearA8W8Quant, LinearQuant, LinearWeightQuant, QuantConv2d
from drynpu_torch.contrib.regions import DCNv2, ModulatedDeformConv, PSROIPool, ROIAlign

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
