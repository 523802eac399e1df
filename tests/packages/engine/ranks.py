"""
Divide the prompts between two engines whose experts are divided between their devices.

    python ranks.py MODEL OPTIONS PROFILES
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import sys
from multiprocessing.queues import Queue

from generate import PROMPTS, WORDS

RANKS = 2


def main() -> None:
    """Print ``RESULT`` with the words behind each prompt."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn = multiprocessing.get_context("spawn")
    words = spawn.Queue()
    ranks = [spawn.Process(target=_rank, args=(rank, port, words)) for rank in range(RANKS)]
    for each in ranks:
        each.start()
    said = dict(words.get() for _ in ranks)
    for each in ranks:
        each.join()
    from torch_npu.profiler.profiler import analyse

    analyse(sys.argv[3])
    print("RESULT", json.dumps([each for rank in range(RANKS) for each in said[rank]]))


def _rank(rank: int, port: int, words: Queue[tuple[int, list[list[int]]]]) -> None:
    place = {"RANK": rank, "RANK_LOCAL": rank, "SIZE": RANKS, "MASTER_IP": "127.0.0.1", "MASTER_PORT": port}
    os.environ |= {f"VLLM_DP_{name}": str(value) for name, value in place.items()}
    from vllm import LLM, SamplingParams

    model, options, profiles = sys.argv[1:4]
    profiler = {"profiler": "torch", "torch_profiler_dir": profiles, "torch_profiler_with_stack": False}
    smallest = {"max_model_len": 256, "max_num_seqs": 8, "gpu_memory_utilization": 0.1, "profiler_config": profiler}
    engine = LLM(model=model, **smallest, **json.loads(options))
    engine.start_profile()
    greedy = SamplingParams(temperature=0, max_tokens=WORDS, ignore_eos=True)
    prompts = PROMPTS[:2] if rank == 0 else PROMPTS[2:]
    results = engine.generate([{"prompt_token_ids": prompt} for prompt in prompts], greedy)
    engine.stop_profile()
    words.put((rank, [list(result.outputs[0].token_ids) for result in results]))


if __name__ == "__main__":
    main()
