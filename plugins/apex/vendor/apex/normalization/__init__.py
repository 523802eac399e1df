"""The facade of ``apex.normalization``."""

from __future__ import annotations

from apex.normalization import fused_layer_norm

from drynpu_apex.normalization import FusedLayerNorm

__all__ = ["FusedLayerNorm", "fused_layer_norm"]
