"""
Judge the words of an engine by transformers on the CPU, which gets the same words before each of them.

    python judge.py MODEL WORDS

Prints for each word how far its logit in single precision lies below the best one, and how much rounding can change
that distance: twice the largest difference of a logit between transformers in the model's type and in single precision.
"""

from __future__ import annotations

import json
import sys

import torch
import transformers
from generate import PROMPTS


def main() -> None:
    """Print ``RESULT`` with a row for each prompt, of pairs."""
    model, words = sys.argv[1], json.loads(sys.argv[2])
    exact, rounded = (
        transformers.AutoModelForCausalLM.from_pretrained(model, dtype=dtype).eval() for dtype in ("float32", "auto")
    )
    rows = []
    for prompt, following in zip(PROMPTS, words, strict=True):
        with torch.no_grad():
            logits, others = (
                each(torch.tensor([[*prompt, *following]])).logits[0, len(prompt) - 1 : -1].float()
                for each in (exact, rounded)
            )
        chosen = logits.gather(-1, torch.tensor(following)[:, None])[:, 0]
        rows.append(torch.stack((logits.amax(-1) - chosen, 2 * (logits - others).abs().amax(-1)), -1).tolist())
    print("RESULT", json.dumps(rows))


if __name__ == "__main__":
    main()
