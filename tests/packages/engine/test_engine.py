"""The engine's words are transformers' on the CPU, in every way of running it, and every rank leaves a profile."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program, Model, Part = Callable[..., Any], Callable[..., str], Callable[[str, str], str]
KernelTypes = Callable[[Path], Counter[str]]
Check = Callable[..., Counter[str]]
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


@pytest.fixture
def check(program: Program, kernel_types: KernelTypes, tmp_path: Path) -> Check:
    """Let the engine continue the prompts, have its words judged, and return the kernels of the first rank."""

    def run(folder: str, options: dict[str, Any], *adapter: str, judged_by: tuple[str, ...] = ()) -> Counter[str]:
        words = program("generate.py", folder, json.dumps(options), str(tmp_path / "profiles"), *adapter)
        judge, *how = judged_by or (folder,)
        judged = [pair for row in program("judge.py", judge, json.dumps(words), *how) for pair in row]
        assert len(judged) == 24
        assert [pair for pair in judged if pair[0] > pair[1]] == []
        profiles = sorted((tmp_path / "profiles").glob("*_ascend_pt"))
        assert len(profiles) == options.get("tensor_parallel_size", 1)
        counted = [kernel_types(profile) for profile in profiles]
        for types in counted:
            assert types["_compute_slot_mapping_kernel"] >= 3
            assert {"AddRmsNormBias", "FusedInferAttentionScore"} <= types.keys()
        return counted[0]

    return run


@pytest.mark.parametrize(("kind", "options"), WAYS.values(), ids=list(WAYS))
def test_words_are_those_of_transformers(kind: str, options: dict[str, Any], check: Check, model: Model) -> None:
    types = check(model(kind), options)
    assert ("MoeGatingTopK" in types) == (kind == "qwen3_moe")


@pytest.mark.parametrize("graphs", [False, True], ids=["eager", "graphs"])
@pytest.mark.parametrize("method", ["eagle", "eagle3"])
def test_drafts_of_a_model_change_no_word(method: str, graphs: bool, check: Check, model: Model, part: Part) -> None:
    """The draft has random weights, so that most of its words are thrown away."""
    folder = model("llama")
    speculation = {"method": method, "model": part(method, folder), "num_speculative_tokens": 2}
    way = _graphs("FULL_DECODE_ONLY") if graphs else EAGER
    types = check(folder, {**way, "speculative_config": speculation})
    assert types["FusedInferAttentionScore"] > 2 * types["_compute_slot_mapping_kernel"]


def test_an_adapter_is_as_if_its_weights_were_the_models(check: Check, model: Model, part: Part) -> None:
    folder = model("qwen3")
    adapter = part("adapter", folder)
    options = {**EAGER, "enable_lora": True, "max_lora_rank": 8}
    types = check(folder, options, adapter, judged_by=(f"{adapter}_merged",))
    assert {"sgmv_shrink", "sgmv_expand"} <= types.keys()


def test_products_of_whole_numbers(check: Check, model: Model, part: Part) -> None:
    folder = model("qwen3")
    types = check(part("int8", folder), {**EAGER, "quantization": "ascend"}, judged_by=(folder, "int8"))
    assert types["DynamicQuant"] == types["QuantBatchMatmulV3"] > 0


def test_two_engines_divide_experts(program: Program, model: Model, kernel_types: KernelTypes, tmp_path: Path) -> None:
    folder, profiles = model("qwen3_moe"), tmp_path / "profiles"
    words = program("ranks.py", folder, json.dumps({**EAGER, "enable_expert_parallel": True}), str(profiles))
    judged = [pair for row in program("judge.py", folder, json.dumps(words)) for pair in row]
    assert len(judged) == 24
    assert [pair for pair in judged if pair[0] > pair[1]] == []
    types = [kernel_types(profile) for profile in profiles.glob("*_ascend_pt")]
    assert len(types) == 2
    assert all({"hcom_allGather_", "GroupedMatmul", "MoeGatingTopK"} <= each.keys() for each in types)


def test_kernels_without_a_formula_are_interpreted(program: Program, kernel_types: KernelTypes, tmp_path: Path) -> None:
    seen = program("interpreted.py", str(tmp_path / "profiles"))
    assert seen["same_slots"]
    assert all(off <= allowed for off, allowed in seen["off"].values())
    (profile,) = (tmp_path / "profiles").glob("*_ascend_pt")
    assert kernel_types(profile) == {"gated_rows": 1, "products": 1}


def test_vectors_of_prompts(program: Program, model: Model, kernel_types: KernelTypes, tmp_path: Path) -> None:
    distance = program("embed.py", model("qwen3"), str(tmp_path / "profiles"))
    assert distance["vectors"] == [3, 128]
    assert 0 < distance["engine"] < 2 * distance["type"]
    (profile,) = (tmp_path / "profiles").glob("*_ascend_pt")
    assert kernel_types(profile)["FusedInferAttentionScore"] == 2  # one for each layer


@pytest.mark.parametrize(
    "load",
    [
        ["throughput", "--dataset-name=random", "--random-input-len=16", "--random-output-len=8", "--num-prompts=5"],
        ["latency", "--input-len=16", "--output-len=8", "--batch-size=2", "--num-iters=1", "--num-iters-warmup=1"],
    ],
    ids=["throughput", "latency"],
)
def test_the_engines_benchmarks(
    load: list[str], offline: Callable[..., str], model: Model, kernel_types: KernelTypes, tmp_path: Path
) -> None:
    profiler = json.dumps({"profiler": "torch", "torch_profiler_dir": str(tmp_path / "profiles")})
    small = ["--enforce-eager", "--max-model-len=256", "--max-num-seqs=8", "--gpu-memory-utilization=0.1"]
    folder, figures = model("qwen3", "--words=12000"), tmp_path / "figures.json"
    command = ["vllm", "bench", *load, f"--model={folder}", f"--output-json={figures}", *small]
    offline(*command, "--profile", f"--profiler-config={profiler}")
    if load[0] == "throughput":  # a profiled latency has no figures
        assert min(json.loads(figures.read_text()).values()) > 0
    (profile,) = (tmp_path / "profiles").glob("*_ascend_pt")
    assert kernel_types(profile)["_compute_slot_mapping_kernel"] >= 8


def test_an_engine_that_slept_says_the_same(program: Program, model: Model) -> None:
    seen = program("sleep.py", model("qwen3"), VLLM_ALLOW_INSECURE_SERIALIZATION="1")
    first, *others = seen["words"]
    assert others == [first, first]
    awake, asleep = seen["free_bytes"][::2], seen["free_bytes"][1::2]
    assert len({*awake}) == 1
    assert min(asleep) - awake[0] > 6 << 30  # the cache: a tenth of the device's 64 GiB
