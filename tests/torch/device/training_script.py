"""Train small models and print every loss exactly; run as ``python training_script.py cpu|npu``."""

from __future__ import annotations

import json
import sys

import torch
from torch import nn

DEVICE = sys.argv[1]
OPTIMIZERS = {
    "sgd": lambda p, **how: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3, **how),
    "adamw": lambda p, **how: torch.optim.AdamW(p, lr=1e-3, **how),
}
FORMS = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}, "default": {}}


class Transformer(nn.Module):
    """One encoder layer between an embedding and a head, with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.head = nn.Linear(16, 7)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits ``[batch, 7]`` of tokens ``[batch, length]``."""
        mask = torch.triu(torch.ones(12, 12, dtype=torch.bool, device=DEVICE), 1)
        return self.head(self.layer(self.embedding(tokens), src_mask=mask).mean(1))


def make(model: str) -> tuple[nn.Module, torch.Tensor]:
    """Return the model and its input, both on the host."""
    if model == "mlp":
        layers = [nn.Linear(20, 32), nn.GELU(), nn.LayerNorm(32), nn.Dropout(0.2), nn.Linear(32, 7)]
        return nn.Sequential(*layers), torch.randn(8, 20)
    if model == "conv":
        layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        return nn.Sequential(*layers, nn.Linear(8 * 64, 7)), torch.randn(8, 3, 16, 16)
    return Transformer(), torch.randint(0, 50, (8, 12))


def train(model: str, optimizer: str, form: str) -> list[str]:
    """Return the losses of four steps as exact hexadecimal numbers."""
    torch.manual_seed(7)
    net, data = make(model)
    target = torch.randint(0, 7, (8,))
    net, data, target = net.to(DEVICE), data.to(DEVICE), target.to(DEVICE, non_blocking=True)
    torch.manual_seed(8)  # a device draws from a sequence of its own, which this begins where the CPU's begins
    stepper = OPTIMIZERS[optimizer](net.parameters(), **FORMS[form])
    losses = []
    for _ in range(4):
        stepper.zero_grad()
        loss = nn.functional.cross_entropy(net(data), target)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        stepper.step()
        losses.append(loss.item().hex())
    return losses


def train_scaled() -> list[str]:
    """Return the losses of four steps under bfloat16 autocast with a gradient scaler."""
    torch.manual_seed(11)
    net, data = make("mlp")
    net, data = net.to(DEVICE), data.to(DEVICE)
    torch.manual_seed(12)
    stepper = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(DEVICE, init_scale=128.0, growth_interval=2)
    losses = []
    for _ in range(4):
        stepper.zero_grad()
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = net(data).square().mean()
        scaler.scale(loss).backward()
        scaler.step(stepper)
        scaler.update()
        losses += [loss.item().hex(), float(scaler.get_scale()).hex()]
    return losses


if __name__ == "__main__":
    torch.set_num_threads(1)
    if DEVICE == "npu":
        from drynpu_torch.install import install

        install()
    results = {
        f"{model} {optimizer} {form}": train(model, optimizer, form)
        for model in ("mlp", "conv", "transformer")
        for optimizer in OPTIMIZERS
        for form in FORMS
    }
    results["scaled bfloat16"] = train_scaled()
    print(json.dumps(results))
