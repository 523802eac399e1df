"""
Let the engine continue three prompts greedily while it is profiled.

    python generate.py MODEL OPTIONS PROFILES
"""

from __future__ import annotations

import json
import sys

PROMPTS = ([*range(10, 30)], [*range(100, 140)], [7, 8, 9])
WORDS = 8


def main() -> None:
    """Print ``RESULT`` with the words behind each prompt."""
    from vllm import LLM, SamplingParams

    model, options, profiles = sys.argv[1:4]
    profiler = {"profiler": "torch", "torch_profiler_dir": profiles, "torch_profiler_with_stack": False}
    smallest = {"max_model_len": 256, "max_num_seqs": 8, "gpu_memory_utilization": 0.1, "profiler_config": profiler}
    engine = LLM(model=model, **smallest, **json.loads(options))
    engine.start_profile()
    greedy = SamplingParams(temperature=0, max_tokens=WORDS, ignore_eos=True)
    results = engine.generate([{"prompt_token_ids": prompt} for prompt in PROMPTS], greedy)
    engine.stop_profile()
    print("RESULT", json.dumps([list(result.outputs[0].token_ids) for result in results]))


if __name__ == "__main__":
    main()
