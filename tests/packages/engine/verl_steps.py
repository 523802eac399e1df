"""
Do the steps of GRPO that verl's trainer did, on what its engine said, in plain PyTorch on the CPU.

    python verl_steps.py MODEL SAID STEPS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from transformers import Qwen2ForCausalLM

folder, said, steps = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
model = Qwen2ForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
rows = [json.loads(line) for line in said.read_text().splitlines()]
size = len(rows) // steps
results = []
for batch in (rows[start : start + size] for start in range(0, len(rows), size)):
    optimizer.zero_grad()
    words, loss = sum(len(row["answer"]) for row in batch), 0.0
    for row in batch:
        group = torch.tensor([each["reward"] for each in batch if each["prompt"] == row["prompt"]])
        advantage = (row["reward"] - group.mean()) / (group.std() + 1e-6)
        text = torch.tensor([row["prompt"] + row["answer"]])
        start = len(row["prompt"])
        chosen = model(text).logits[0, start - 1 : -1].log_softmax(-1).gather(-1, text[0, start:, None])
        part = -((chosen - chosen.detach()).exp() * advantage).sum() / words
        part.backward()
        loss += part.item()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
    optimizer.step()
    results.append({"loss": loss, "norm": norm, "reward": sum(row["reward"] for row in batch) / size})
print("RESULT", json.dumps(results))
