"""
Let the engine, in its processes, continue three prompts on the clock that it is started with.

    python clock.py MODEL OPTIONS
"""

from __future__ import annotations

import json
import sys

from generate import PROMPTS, WORDS

TIMES = ("arrival_time", "queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts")


def main() -> None:
    """Print ``RESULT`` with the words behind each prompt, and when the engine had what."""
    from vllm import LLM, SamplingParams

    model, options = sys.argv[1:3]
    smallest = {"max_model_len": 256, "max_num_seqs": 8, "gpu_memory_utilization": 0.1, "disable_log_stats": False}
    engine = LLM(model=model, **smallest, **json.loads(options))
    greedy = SamplingParams(temperature=0, max_tokens=WORDS, ignore_eos=True)
    results = engine.generate([{"prompt_token_ids": prompt} for prompt in PROMPTS], greedy)
    words = [list(result.outputs[0].token_ids) for result in results]
    times = [[repr(getattr(result.metrics, name)) for name in TIMES] for result in results]
    print("RESULT", json.dumps({"words": words, "times": times}))


if __name__ == "__main__":
    main()
