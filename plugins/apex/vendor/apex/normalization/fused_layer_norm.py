"""The facade of ``apex.normalization.fused_layer_norm``."""

from __future__ import annotations

from drynpu_apex.normalization import (
    FusedLayerNorm,
    FusedLayerNormAffineFunction,
    FusedLayerNormFunction,
    fused_layer_norm,
    fused_layer_norm_affine,
)

__all__ = [
    "FusedLayerNorm",
    "FusedLayerNormAffineFunction",
    "FusedLayerNormFunction",
    "fused_layer_norm",
    "fused_layer_norm_affine",
]
