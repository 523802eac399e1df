"""Triton kernels of vLLM-Ascend: each is one operator with a formula and a cost, launched as ``kernel[grid](...)``."""

from __future__ import annotations

from drynpu_vllm_ascend.triton_kernels._launch import kernel_names, patch_stand_in

__all__ = ["kernel_names", "patch_stand_in"]
