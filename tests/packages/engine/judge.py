"""
Judge the words of an engine by transformers on the CPU, which gets the same words before each of them.

    python judge.py MODEL WORDS [int8]

Prints for each word how far its logit in single precision lies below the best one, and how much rounding can change
that distance: twice the largest difference of a logit between transformers in the model's type and in single precision.
With ``int8`` the products of the layers are the ones of whole numbers, as in the model that ``parts.py`` writes.
"""

from __future__ import annotations

import json
import sys

import torch
import transformers
from generate import PROMPTS
from parts import quantise


class WholeNumbers(torch.nn.Module):
    """A product by weights of INT8, with one scale for each row of the input and of the weights."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.weight, self.scale = quantise(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        whole, scale = quantise(x)
        return (whole.double() @ self.weight.double().T * scale * self.scale[:, 0]).to(x.dtype)


def main() -> None:
    """Print ``RESULT`` with a row for each prompt, of pairs."""
    model, words = sys.argv[1], json.loads(sys.argv[2])
    exact, rounded = (
        transformers.AutoModelForCausalLM.from_pretrained(model, dtype=dtype).eval() for dtype in ("float32", "auto")
    )
    if "int8" in sys.argv:
        for each in (exact, rounded):
            _quantise_layers(each)
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


def _quantise_layers(model: torch.nn.Module) -> None:
    for name, layer in list(model.named_modules()):
        if name.endswith("_proj"):
            parent, _, product = name.rpartition(".")
            setattr(model.get_submodule(parent), product, WholeNumbers(layer.weight.detach()))


if __name__ == "__main__":
    main()
