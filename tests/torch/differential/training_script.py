"""
Three small trainings under either profiler: ``training_script.py torch.profiler cpu``, ``... torch_npu.profiler npu``.

Everything that PyTorch chooses by the device is said (``foreach``, the dtype of autocast), and nothing else depends on
which of the two it is. Each training leaves its trace in a directory of its name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

profiler = importlib.import_module(sys.argv[1])
DEVICE = sys.argv[2]
STEPS = 3


def run(name: str, step: Callable[[int], None], **options: bool) -> None:
    with profiler.profile(
        schedule=profiler.schedule(wait=1, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(name),
        record_shapes=True,
        **options,
    ) as prof:
        for number in range(2 + STEPS):
            step(number)
            prof.step()


def mlp() -> None:
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
    inputs, targets = torch.randn(8, 16, device=DEVICE), torch.randint(0, 4, (8,), device=DEVICE)

    def step(_: int) -> None:
        optimizer.zero_grad()
        noise = torch.randn(8, 16, device=DEVICE) * torch.tril_indices(8, 8, device=DEVICE).sum()
        loss = functional.cross_entropy(model(inputs + noise), targets)
        loss.backward()
        optimizer.step()
        loss.item()

    run("mlp", step, profile_memory=True)


def cnn() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.1),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 4),
    ).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    images = TensorDataset(torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,)))

    def step(number: int) -> None:
        for image, label in DataLoader(images, batch_size=4, shuffle=True):
            optimizer.zero_grad(set_to_none=number % 2 == 0)
            inputs, targets = image.to(DEVICE), label.to(DEVICE, non_blocking=True)
            predicted = model(inputs)
            functional.cross_entropy(predicted, targets).backward()
            optimizer.step()
        predicted.detach().cpu()
        predicted.detach().to("cpu")

    run("cnn", step)


def transformer() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True).to(DEVICE)
    embedding = nn.Embedding(50, 16).to(DEVICE)
    parameters = [*layer.parameters(), *embedding.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, foreach=True)
    tokens = torch.randint(0, 50, (2, 6), device=DEVICE)

    def step(_: int) -> None:
        optimizer.zero_grad()
        with torch.profiler.record_function("forward"), torch.autocast(DEVICE, dtype=torch.bfloat16):
            hidden = checkpoint(layer, embedding(tokens), use_reentrant=False)
            logits = hidden @ embedding.weight.t()
        functional.cross_entropy(logits.float().view(-1, 50), tokens.view(-1)).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    run("transformer", step, with_stack=True)


torch.manual_seed(0)
torch.set_num_threads(1)
for training in (mlp, cnn, transformer):
    training()
