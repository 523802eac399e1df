"""
Train a decoder of 6.7 billion weights for two steps, as one would on an NPU:

    drynpu run --no-compute train_llama.py

tells on a laptop whether it fits, how long a step takes and where the time goes. One of 78 billion weights on 24 NPUs,
each with its share of the layers:

    drynpu run --no-compute --devices 24 train_llama.py --width 8192 --layers 80 --inner 28672 --npus 24

Without --no-compute choose a smaller one: --width 256 --layers 2 --inner 512 --tokens 64.
"""

import argparse

import torch
import torch.nn.functional as F
import torch_npu
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        h = self.before_attention(x)
        query, key, value = (
            layer(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        query, key = rotate(query, cos, sin), rotate(key, cos, sin)
        attention = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).flatten(2))
        h = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Decoder(nn.Module):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        width = options.width
        heads = max(width // 128, 2)
        self.words = nn.Embedding(options.words, width)
        self.blocks = nn.ModuleList(Block(width, heads, options.inner) for _ in range(options.layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, options.words, bias=False)
        self.places = [f"npu:{layer * options.npus // options.layers}" for layer in range(options.layers)]
        size = width // heads
        angles = torch.outer(torch.arange(options.tokens), 10000.0 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def spread(self) -> "Decoder":
        """Put each block on its NPU, what comes before them on the first and what comes behind on the last."""
        self.words.to(self.places[0])
        self.cos, self.sin = self.cos.to(self.places[0]), self.sin.to(self.places[0])
        for block, place in zip(self.blocks, self.places, strict=True):
            block.to(place)
        self.norm.to(self.places[-1])
        self.head.to(self.places[-1])
        return self

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.words(words)
        for block, place in zip(self.blocks, self.places, strict=True):
            x = block(x.to(place), self.cos.to(place), self.sin.to(place))
        return self.head(self.norm(x))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
sizes = {"width": 4096, "layers": 32, "inner": 11008, "words": 32000, "tokens": 2048, "npus": 1}
for name, default in sizes.items():
    parser.add_argument(f"--{name}", type=int, default=default)
options = parser.parse_args()

decoder = Decoder(options).to(torch.bfloat16).spread()
optimizer = torch.optim.AdamW(decoder.parameters(), lr=1e-4, foreach=False)
print(f"{sum(weight.numel() for weight in decoder.parameters()) / 1e9:.2f} billion weights")
with torch_npu.profiler.profile(
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
    profile_memory=True,
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./llama_out"),
) as recording:
    for _ in range(2):
        words = torch.randint(options.words, (1, options.tokens + 1), device="npu")
        scores = decoder(words[:, :-1])
        loss = F.cross_entropy(scores.float().flatten(0, 1), words[:, 1:].flatten().to(scores.device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        recording.step()
peaks = [torch.npu.max_memory_allocated(device) / 2**30 for device in range(options.npus)]
whole = torch.npu.get_device_properties(0).total_memory / 2**30
print(f"peak {', '.join(f'{peak:.1f}' for peak in peaks)} GiB of {whole:.0f} GiB")
