"""Modelled samples of the device: what the chip's monitors would have read while the kernels ran."""

from __future__ import annotations

__all__: list[str] = []
