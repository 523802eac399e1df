"""
Let the engine sleep at both levels and continue a prompt before and after it.

    python sleep.py MODEL
"""

from __future__ import annotations

import json
import sys

from generate import PROMPTS, WORDS


def main() -> None:
    """Print ``RESULT`` with the words of each time, and the free bytes of the device awake and asleep."""
    from vllm import LLM, SamplingParams

    smallest = {"max_model_len": 256, "max_num_seqs": 8, "gpu_memory_utilization": 0.1, "enforce_eager": True}
    engine = LLM(model=sys.argv[1], enable_sleep_mode=True, additional_config={"weight_nz_mode": 0}, **smallest)

    def words() -> list[list[int]]:
        greedy = SamplingParams(temperature=0, max_tokens=WORDS, ignore_eos=True)
        results = engine.generate([{"prompt_token_ids": prompt} for prompt in PROMPTS], greedy)
        return [list(result.outputs[0].token_ids) for result in results]

    def free() -> int:
        return engine.collective_rpc(_free_bytes)[0]

    said, free_bytes = [words()], [free()]
    engine.sleep(level=1)
    free_bytes.append(free())
    engine.wake_up()
    free_bytes.append(free())
    said.append(words())
    engine.sleep(level=2)
    free_bytes.append(free())
    engine.wake_up(tags=["weights"])
    engine.collective_rpc("reload_weights")
    engine.wake_up(tags=["kv_cache"])
    free_bytes.append(free())
    said.append(words())
    print("RESULT", json.dumps({"words": said, "free_bytes": free_bytes}))


def _free_bytes(worker: object) -> int:
    import torch

    del worker
    return torch.npu.mem_get_info()[0]


if __name__ == "__main__":
    main()
