"""
Train a mixture of experts of 30 billion weights, 8 of 128 experts for each token, for one step:

    DRYNPU_OOM=warn drynpu run --no-compute train_moe.py

says that it does not fit on one NPU, and by how much. Tokens are spread evenly over the experts.
"""

import argparse

import torch
import torch.nn.functional as F
import torch_npu
from torch import nn

HEADS, GROUPS, SIZE = 32, 4, 128


class Expert(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Mixture(nn.Module):
    def __init__(self, width: int, inner: int, experts: int, chosen: int) -> None:
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width, inner) for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, 1)
        weights, ids = torch.topk(F.softmax(self.router(tokens), dim=-1, dtype=torch.float), self.chosen, dim=-1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(tokens)
        mask = F.one_hot(ids, num_classes=len(self.experts)).permute(2, 1, 0)
        for expert in torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero():
            place, token = torch.where(mask[expert].squeeze(0))
            output = self.experts[expert](tokens[token]) * weights[token, place, None]
            out.index_add_(0, token, output)
        return out.view_as(x)


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, HEADS * SIZE, bias=False)
        self.key, self.value = (nn.Linear(width, GROUPS * SIZE, bias=False) for _ in range(2))
        self.out = nn.Linear(HEADS * SIZE, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            layer(x).unflatten(-1, (-1, SIZE)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        key, value = (each.repeat_interleave(HEADS // GROUPS, 1) for each in (key, value))
        return self.out(F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.attention = Attention(options.width)
        self.mixture = Mixture(options.width, options.inner, options.experts, options.chosen)
        self.before_attention, self.before_mixture = nn.RMSNorm(options.width), nn.RMSNorm(options.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before_attention(x))
        return x + self.mixture(self.before_mixture(x))


class Decoder(nn.Module):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.words = nn.Embedding(options.words, options.width)
        self.blocks = nn.Sequential(*(Block(options) for _ in range(options.layers)))
        self.norm = nn.RMSNorm(options.width)
        self.head = nn.Linear(options.width, options.words, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.words(words))))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
sizes = {"width": 2048, "layers": 48, "inner": 768, "experts": 128, "chosen": 8, "words": 151936, "tokens": 4096}
for name, default in sizes.items():
    parser.add_argument(f"--{name}", type=int, default=default)
options = parser.parse_args()

decoder = Decoder(options).to(torch.bfloat16).npu()
optimizer = torch.optim.SGD(decoder.parameters(), lr=1e-4)
print(f"{sum(weight.numel() for weight in decoder.parameters()) / 1e9:.2f} billion weights")
with torch_npu.profiler.profile(
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./moe_out"),
):
    words = torch.randint(options.words, (1, options.tokens + 1), device="npu")
    loss = F.cross_entropy(decoder(words[:, :-1]).float().flatten(0, 1), words[:, 1:].flatten())
    loss.backward()
    optimizer.step()
print(f"peak {torch.npu.max_memory_allocated() / 2**30:.1f} GiB")
