"""
Steps of GRPO with verl's formulas, in stages that verl's profiler classes annotate; the policy is a tiny decoder.

verl's own trainer starts its workers by Ray; here one worker is called by the script.
"""

import json

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, compute_policy_loss_vanilla
from verl.utils.device import is_npu_available
from verl.utils.profiler import DistProfiler, DistProfilerExtension, ProfilerConfig, marked_timer
from verl.utils.profiler.config import NPUToolConfig
from verl.utils.torch_functional import logprobs_from_logits
from verl.workers.config import ActorConfig

DEVICE = "npu" if is_npu_available else "cpu"
WORDS, PROMPTS, ANSWERS, PROMPT, ANSWER = 61, 3, 4, 7, 5
SETTINGS = ActorConfig(strategy="fsdp", rollout_n=ANSWERS, ppo_micro_batch_size_per_gpu=1, ppo_mini_batch_size=1)


class Worker(DistProfilerExtension):
    """Draws answers, and updates the policy that gave them."""

    def __init__(self, discrete):
        contents = ["npu", "cpu", "memory", "shapes"]
        tool = NPUToolConfig(contents=contents, level="level1", analysis=True, discrete=discrete)
        config = ProfilerConfig(
            tool="npu" if is_npu_available else None,
            enable=is_npu_available,
            all_ranks=True,
            save_path=f"profiles/{'stages' if discrete else 'whole'}",
            tool_config=tool,
        )
        super().__init__(DistProfiler(rank=0, config=config, tool_config=tool))
        torch.manual_seed(3)
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
        self.policy = LlamaForCausalLM(LlamaConfig(vocab_size=WORDS, **sizes)).to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.policy.parameters(), lr=1e-2)

    @DistProfiler.annotate(color="green", role="rollout_generate")
    def generate(self, prompts):
        questions = prompts.repeat_interleave(ANSWERS, 0).to(DEVICE)
        mask = torch.ones_like(questions)
        return self.policy.generate(
            questions, attention_mask=mask, do_sample=True, max_new_tokens=ANSWER, min_new_tokens=ANSWER, pad_token_id=0
        )

    @DistProfiler.annotate(color="blue", role="actor_compute_log_prob")
    def log_probabilities(self, rows):
        logits = self.policy(rows).logits[:, PROMPT - 1 : -1]
        return logprobs_from_logits(logits, rows[:, PROMPT:])

    @DistProfiler.annotate(color="red", role="actor_update")
    def update(self, rows, old, advantages, mask):
        self.optimizer.zero_grad()
        new = self.log_probabilities(rows)
        loss, _ = compute_policy_loss_vanilla(old, new, advantages, mask, config=SETTINGS)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def steps(discrete):
    worker = Worker(discrete)
    generator = torch.Generator().manual_seed(5)
    times, losses, rewards = {}, [], []
    for number in range(3):
        prompts = torch.randint(3, WORDS, (PROMPTS, PROMPT), generator=generator)
        if number == 1:
            worker.start_profile(role="actor", profile_step=str(number))
        with marked_timer("step", times):
            torch.manual_seed(number)  # the device and the host draw by generators of their own
            rows = worker.generate(prompts)
            with torch.no_grad():
                old = worker.log_probabilities(rows)
            mask = torch.ones_like(old)
            scores = torch.zeros_like(old)
            scores[:, -1] = (rows[:, PROMPT:] % 2).float().mean(-1)
            groups = np.repeat(np.arange(PROMPTS), ANSWERS)
            advantages, _ = compute_grpo_outcome_advantage(scores, mask, groups)
            losses += [worker.update(rows, old, advantages, mask) for _ in range(2)]
        if number == 1:
            worker.stop_profile()
        rewards.append(scores.sum().item())
    return losses, rewards


(losses, rewards), (losses_in_stages, rewards_in_stages) = steps(False), steps(True)
result = {"losses": losses, "rewards": rewards, "losses in stages": losses_in_stages, "device": DEVICE}
print("RESULT", json.dumps({**result, "rewards in stages": rewards_in_stages}))
