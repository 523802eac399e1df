"""
Let the engine continue three prompts greedily while it is profiled.

    python generate.py MODEL OPTIONS PROFILES [ADAPTER]
"""

from __future__ import annotations

import json
import sys

PROMPTS = ([*range(10, 30)], [*range(100, 140)], [7, 8, 9])
WORDS = 8


def main() -> None:
    """Print ``RESULT`` with the words behind each prompt."""
    from torch_npu.profiler.profiler import analyse
    from vllm import LLM, SamplingParams
    from vllm.lora.request import LoRARequest

    model, options, profiles, *adapter = sys.argv[1:]
    profiler = {"profiler": "torch", "torch_profiler_dir": profiles, "torch_profiler_with_stack": False}
    smallest = {"max_model_len": 256, "max_num_seqs": 8, "gpu_memory_utilization": 0.1, "profiler_config": profiler}
    engine = LLM(model=model, **smallest, **json.loads(options))
    engine.start_profile()
    greedy = SamplingParams(temperature=0, max_tokens=WORDS, ignore_eos=True)
    lora = LoRARequest("adapter", 1, adapter[0]) if adapter else None
    results = engine.generate([{"prompt_token_ids": prompt} for prompt in PROMPTS], greedy, lora_request=lora)
    engine.stop_profile()
    analyse(profiles)  # Workers of several ranks are daemons, which leave this to others
    print("RESULT", json.dumps([list(result.outputs[0].token_ids) for result in results]))


if __name__ == "__main__":
    main()
