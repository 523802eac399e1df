"""Modelled samples of the device: what the chip's samplers would have read while the kernels ran."""

from __future__ import annotations
