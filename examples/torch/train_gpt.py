"""
Train a small GPT on an NPU and profile a few steps of it.

An ordinary training script: it knows torch and torch_npu and nothing else. On a machine without an NPU run it
with drynpu installed; it trains on the CPU and leaves the profile that the device would have left.
"""

from __future__ import annotations

import argparse

import torch
import torch_npu
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 512, 64, 128, 4, 3, 8


class Block(nn.Module):
    """Pre-norm transformer block with causal attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.project = nn.Linear(WIDTH, WIDTH)
        self.norm_mlp = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm_attention(x)).split(WIDTH, dim=2)
        q, k, v = (t.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for t in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm_mlp(x))


class GPT(nn.Module):
    """Token and position embeddings, a stack of blocks, and a projection to the vocabulary."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


class Corpus(Dataset):
    """Windows of a noisy periodic sequence of token ids, which a small model can learn."""

    def __init__(self, length: int = 20_000) -> None:
        position = torch.arange(length)
        # A triangle of whole numbers: a token that is cut from a float hangs on its last bit.
        wave = (position % 37 - 18).abs() * ((VOCABULARY - 32) // 18)
        self.ids = wave + torch.randint(0, 32, (length,))

    def __len__(self) -> int:
        return len(self.ids) - CONTEXT - 1

    def __getitem__(self, start: int) -> tuple[torch.Tensor, torch.Tensor]:
        window = self.ids[start : start + CONTEXT + 1]
        return window[:-1], window[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--device", default="npu:0", help="npu:0, or cpu to train without the device")
    parser.add_argument("--output", default="./demo_out")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device(arguments.device)
    loader = DataLoader(Corpus(), batch_size=BATCH, shuffle=True)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    experimental_config = torch_npu.profiler._ExperimentalConfig(
        profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
        aic_metrics=torch_npu.profiler.AiCMetrics.PipeUtilization,
        data_simplification=False,
    )
    with torch_npu.profiler.profile(
        activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
        schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=3, repeat=1, skip_first=1),
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(arguments.output),
        record_shapes=True,
        profile_memory=True,
        experimental_config=experimental_config,
    ) as prof:
        for step, (tokens, targets) in zip(range(arguments.steps), loader):
            tokens, targets = tokens.to(device), targets.to(device)
            loss = model(tokens, targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item():.9f}", flush=True)
            prof.step()


if __name__ == "__main__":
    main()
