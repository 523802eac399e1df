"""The engine's words are transformers' on the CPU, in every way of running it, and every rank leaves a profile."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program, Model = Callable[..., Any], Callable[..., str]
KernelTypes = Callable[[Path], Counter[str]]
EAGER = {"enforce_eager": True}
SIZES = [1, 2, 4, 8]


def _graphs(mode: str) -> dict[str, Any]:
    return {"compilation_config": {"cudagraph_mode": mode, "cudagraph_capture_sizes": SIZES}}


TWO = {"tensor_parallel_size": 2}
NGRAM = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 2, "prompt_lookup_min": 1}
WAYS = {
    "llama": ("llama", EAGER),
    "qwen2": ("qwen2", EAGER),
    "qwen3": ("qwen3", EAGER),
    "experts": ("qwen3_moe", EAGER),
    "graphs of pieces": ("qwen3", _graphs("PIECEWISE")),
    "whole graphs of decodes": ("qwen3", _graphs("FULL_DECODE_ONLY")),
    "whole graphs": ("qwen3", _graphs("FULL")),
    "graphs of experts": ("qwen3_moe", _graphs("FULL_DECODE_ONLY")),
    "tensors on two ranks": ("qwen3", {**EAGER, **TWO}),
    "experts on two ranks": ("qwen3_moe", {**EAGER, **TWO, "enable_expert_parallel": True}),
    "chunks of prompts": ("qwen3", {**EAGER, "max_num_batched_tokens": 16, "enable_chunked_prefill": True}),
    "drafts by n-grams": ("qwen3", {**EAGER, "speculative_config": NGRAM}),
}


@pytest.mark.parametrize(("kind", "options"), WAYS.values(), ids=list(WAYS))
def test_words_are_those_of_transformers(
    kind: str, options: dict[str, Any], program: Program, model: Model, kernel_types: KernelTypes, tmp_path: Path
) -> None:
    folder = model(kind)
    words = program("generate.py", folder, json.dumps(options), str(tmp_path / "profiles"))
    judged = [pair for row in program("judge.py", folder, json.dumps(words)) for pair in row]
    assert len(judged) == 24
    assert [pair for pair in judged if pair[0] > pair[1]] == []
    profiles = sorted((tmp_path / "profiles").glob("*_ascend_pt"))
    assert len(profiles) == options.get("tensor_parallel_size", 1)
    for profile in profiles:
        types = kernel_types(profile)
        assert types["_compute_slot_mapping_kernel"] >= 3
        assert {"AddRmsNormBias", "FusedInferAttentionScore"} <= types.keys()
        assert ("MoeGatingTopK" in types) == (kind == "qwen3_moe")
