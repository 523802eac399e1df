"""What the toolkit calls the layer of sampled memory."""

from __future__ import annotations

from drynpu.deliverables.npu_memory import facts


def test_layer() -> None:
    """cann_msprof.md 4.5: "17 NPU MEM"."""
    assert (facts.NPU_MEM_LAYER.name, facts.NPU_MEM_LAYER.sort_index) == ("NPU MEM", 17)
