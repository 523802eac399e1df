"""
The neutral session of the examples with a kernel on both kinds of core, recorded without any framework.

    python core_session.py CHIP FOLDER key=value ...
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, build_rule_book
from drynpu.platforms import load_chip

EXAMPLE = Path(__file__).parents[3] / "examples" / "core" / "neutral_session.py"


def attention(signature: Signature) -> KernelPlan:
    """One kernel that multiplies on the cube cores and normalises on the vector cores."""
    tensors = signature.tensors()
    kernel = KernelSpec(
        name="aclnnFlashAttentionScore_FlashAttentionScore",
        op_type="FlashAttentionScore",
        task_type=TaskType.MIX_AIC,
        inputs=tensors,
        outputs=tensors[:1],
        cube_flops=2 * tensors[0].elements * 128,
        cube_tiles=16,
        vector_ops=8 * tensors[0].elements,
        bytes_read=sum(tensor.size_bytes for tensor in tensors),
        bytes_written=tensors[0].size_bytes,
    )
    return KernelPlan(api="aclnnFlashAttentionScore", kernels=(kernel,))


def example() -> ModuleType:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("neutral_session", EXAMPLE)
    if spec is None or spec.loader is None:
        message = f"{EXAMPLE} cannot be loaded"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Record."""
    chip, folder, *options = sys.argv[1:]
    neutral = example()
    neutral.LAYER = (*neutral.LAYER, Signature("FlashAttentionScore", (neutral.SCORES,) * 3))
    rules = dict.fromkeys(("LayerNorm", "SoftmaxV2", "Add", "SoftmaxGrad"), neutral.elementwise)
    rules |= {"MatMul": neutral.matmul, "MatMulGrad": neutral.matmul, "FlashAttentionScore": attention}
    rules["Multinomial"] = lambda signature: neutral.elementwise(signature, TaskType.AI_CPU)
    neutral.RULES = build_rule_book(rules)
    parsed = neutral.read_options(options, load_chip(chip), Path(folder))
    neutral.profile(parsed.request, load_chip(chip), Path(folder))


if __name__ == "__main__":
    main()
