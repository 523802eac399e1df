"""Triton kernels of vLLM-Ascend, launched as ``kernel[grid](...)``: by a formula with a cost, or in an interpreter."""

from __future__ import annotations

from drynpu_vllm_ascend.triton_kernels._launch import device_properties, kernel_names, patch_stand_in

__all__ = ["device_properties", "kernel_names", "patch_stand_in"]
