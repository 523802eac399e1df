"""
Let the engine embed three prompts while it is profiled, and transformers on the CPU as well.

    python embed.py MODEL PROFILES
"""

from __future__ import annotations

import json
import sys

import torch
from generate import PROMPTS


def main() -> None:
    """Print ``RESULT`` with two distances from single precision: the engine's, and the one of the model's type."""
    from torch_npu.profiler.profiler import analyse
    from vllm import LLM

    model, profiles = sys.argv[1:3]
    profiler = {"profiler": "torch", "torch_profiler_dir": profiles, "torch_profiler_with_stack": False}
    smallest = {"max_model_len": 256, "max_num_seqs": 8, "gpu_memory_utilization": 0.1, "profiler_config": profiler}
    engine = LLM(model=model, runner="pooling", convert="embed", enforce_eager=True, **smallest)
    engine.start_profile()
    results = engine.embed([{"prompt_token_ids": prompt} for prompt in PROMPTS])
    engine.stop_profile()
    analyse(profiles)
    exact, rounded = (_transformers(model, dtype) for dtype in ("float32", "auto"))
    vectors = torch.tensor([result.outputs.embedding for result in results])
    distances = [(each - exact).abs().max().item() for each in (vectors, rounded)]
    print("RESULT", json.dumps({"vectors": list(vectors.shape), "engine": distances[0], "type": distances[1]}))


def _transformers(model: str, dtype: str) -> torch.Tensor:
    from transformers import AutoModel

    embedder = AutoModel.from_pretrained(model, dtype=dtype).eval()
    with torch.no_grad():
        states = [embedder(torch.tensor([prompt])).last_hidden_state[0, -1].float() for prompt in PROMPTS]
    return torch.nn.functional.normalize(torch.stack(states), dim=-1)


if __name__ == "__main__":
    main()
