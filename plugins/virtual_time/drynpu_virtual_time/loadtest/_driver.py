"""
Serve the requests of a benchmark with vLLM's engine, on virtual time: a script, which ``drynpu run`` runs.

    python _driver.py CELL RESULT

CELL is a JSON file with the engine's arguments and the requests, RESULT gets what happened when.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

from drynpu_virtual_time.start import virtual_clock

Foreign: TypeAlias = Any
"""An object of vLLM's, which has no types here."""
Document: TypeAlias = dict[str, Any]


class Log:
    """What happens in each step: watches the engine's scheduler."""

    def __init__(self, scheduler: Foreign) -> None:
        self.steps: list[Document] = []
        self._scheduler, self._schedule = scheduler, scheduler.schedule
        scheduler.schedule = self.schedule

    def schedule(self, *arguments: Foreign, **options: Foreign) -> Foreign:
        """Schedule, and note what was."""
        output = self._schedule(*arguments, **options)
        prefill = decode = decoding = 0
        for request_id, tokens in output.num_scheduled_tokens.items():
            request = self._scheduler.requests[request_id]
            if request.num_computed_tokens - tokens < request.num_prompt_tokens:
                prefill += tokens
            else:
                decode, decoding = decode + tokens, decoding + 1
        self.steps.append(
            {
                "prefill_tokens": prefill,
                "decode_tokens": decode,
                "requests": len(output.num_scheduled_tokens),
                "decoding": decoding,
                "waiting": len(self._scheduler.waiting),
                "kv_use": float(self._scheduler.kv_cache_manager.usage),
                "preempted": len(output.preempted_req_ids or ()),
            }
        )
        return output


def serve(cell: Document) -> Document:
    """Serve the requests and return the times of all tokens, and the steps."""
    from vllm import EngineArgs, SamplingParams
    from vllm.v1.engine.llm_engine import LLMEngine

    if cell["engine"].get("distributed_executor_backend") == "external_launcher":
        leave_out_broadcasts()
    engine = LLMEngine.from_engine_args(EngineArgs(**cell["engine"]))
    log = Log(engine.engine_core.engine_core.scheduler)
    words = engine.model_config.get_vocab_size()
    draw, clock = random.Random(cell["seed"]), virtual_clock()
    requests: list[list[float]] = cell["requests"]
    tokens: list[list[float]] = [[] for _ in requests]
    known = [0] * len(requests)
    warm_up(engine, SamplingParams)
    log.steps.clear()
    begin, sent = time.monotonic(), 0
    while sent < len(requests) or engine.has_unfinished_requests():
        while sent < len(requests) and requests[sent][0] <= time.monotonic() - begin:
            _, inputs, outputs = requests[sent]
            prompt = {"prompt_token_ids": [draw.randrange(words) for _ in range(int(inputs))]}
            greedy = SamplingParams(temperature=0, max_tokens=int(outputs), ignore_eos=True, detokenize=False)
            engine.add_request(str(sent), prompt, greedy)
            sent += 1
        if not engine.has_unfinished_requests():
            time.sleep(max(0.0, requests[sent][0] - (time.monotonic() - begin)))
            continue
        before, kernels = time.monotonic(), clock.kernel_ns()
        results = engine.step()
        clock.spend(cell["step_ns"] + cell["request_ns"] * len(results))
        now = time.monotonic()
        if log.steps and "begin_s" not in log.steps[-1]:
            spent = {kind: ns - kernels.get(kind, 0) for kind, ns in clock.kernel_ns().items()}
            log.steps[-1] |= {
                "begin_s": before - begin,
                "end_s": now - begin,
                "kernels_ns": {kind: ns for kind, ns in spent.items() if ns},
            }
        for result in results:
            number, length = int(result.request_id), len(result.outputs[0].token_ids)
            tokens[number] += [now - begin] * (length - known[number])
            known[number] = length
    blocks = engine.engine_core.engine_core.scheduler.kv_cache_manager.block_pool.num_gpu_blocks
    return {"tokens_s": tokens, "steps": log.steps, "end_s": time.monotonic() - begin, "kv_blocks": blocks}


def leave_out_broadcasts() -> None:
    """Make no queues in shared memory to ranks that do not run: each rank has its own engine."""
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    MessageQueue.create_from_process_group = staticmethod(lambda *_, **__: None)


def warm_up(engine: Foreign, parameters: Foreign) -> None:
    """Serve one request, since what an engine does for the first time takes longer."""
    limits = parameters(temperature=0, max_tokens=4, ignore_eos=True, detokenize=False)
    engine.add_request("warm-up", {"prompt_token_ids": [1] * 16}, limits)
    while engine.has_unfinished_requests():
        engine.step()


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(serve(json.loads(Path(sys.argv[1]).read_text()))), encoding="utf-8")
