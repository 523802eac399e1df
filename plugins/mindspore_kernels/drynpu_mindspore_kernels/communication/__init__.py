"""Collectives among several ranks: what moves their data, and what a device does for each of them."""

from __future__ import annotations

from drynpu_mindspore_kernels.communication._distributed import IN_PLACE, build_operators
from drynpu_mindspore_kernels.communication._exchange import Exchange
from drynpu_mindspore_kernels.communication._kernels import PRIMITIVES, build_collectives

__all__ = ["IN_PLACE", "PRIMITIVES", "Exchange", "build_collectives", "build_operators"]
