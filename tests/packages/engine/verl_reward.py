"""The reward of an answer, and verl's manager of rewards, which also notes what was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: object = None) -> float:
    """Return the share of letters before n."""
    return sum(letter < "n" for letter in solution_str) / max(len(solution_str), 1)


class NotingRewardManager(NaiveRewardManager):
    """Write a line for each answer, in the order in which they come."""

    async def run_single(self, data: Any) -> Any:
        result = await super().run_single(data)
        _note(data[-1].batch, result["reward_score"])
        return result


def _note(item: Any, reward: float) -> None:
    length = item["prompts"].shape[-1]
    known = item["attention_mask"].bool()
    prompt, answer = item["prompts"][known[:length]], item["responses"][known[length:]]
    with Path("said.jsonl").open("a") as file:
        file.write(json.dumps({"prompt": prompt.tolist(), "answer": answer.tolist(), "reward": reward}) + "\n")
