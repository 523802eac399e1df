"""What rules of ONNX nodes have in common beside what the core offers for nodes of any graph."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, TensorDesc, ceil_div, plan_of

__all__ = ["blocked", "is_image", "plan"]


def is_image(tensor: TensorDesc) -> bool:
    """Whether a tensor can be an image: four dims."""
    return len(tensor.shape) == 4


def blocked(image: TensorDesc) -> TensorDesc:
    """
    Return an NCHW image as the cube unit and pooling want it: NC1HWC0.

    C0 is 8 for FP32 and 16 for narrower types (device_and_cost_model.md 4.2).
    """
    n, c, h, w = image.shape
    c0 = 8 if image.dtype == "FLOAT" else 16
    return TensorDesc((n, ceil_div(c, c0), h, w, c0), image.dtype, "NC1HWC0")


def plan(*kernels: KernelSpec) -> KernelPlan:
    """Return the plan of a node of a graph; kernels without any element are left out."""
    return plan_of(*kernels, in_graph=True)
