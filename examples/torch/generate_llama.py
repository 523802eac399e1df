"""
Let a decoder of 6.7 billion weights write 32 words behind a prompt of 1 024, with a cache of keys and values:

    drynpu run --no-compute generate_llama.py
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

    def forward(self, x: torch.Tensor, cache: list[torch.Tensor]) -> torch.Tensor:
        h = self.before_attention(x)
        query, key, value = (
            layer(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        if cache:
            key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
        causal = not cache
        cache[:] = key, value
        attention = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        x = x + self.out(attention.transpose(1, 2).flatten(2))
        h = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
sizes = {"width": 4096, "layers": 32, "inner": 11008, "words": 32000, "prompt": 1024, "new": 32, "batch": 4}
for name, default in sizes.items():
    parser.add_argument(f"--{name}", type=int, default=default)
options = parser.parse_args()

heads = max(options.width // 128, 2)
words = nn.Embedding(options.words, options.width).to(torch.bfloat16).npu()
blocks = nn.ModuleList(Block(options.width, heads, options.inner) for _ in range(options.layers))
blocks = blocks.to(torch.bfloat16).npu()
head = nn.Linear(options.width, options.words, bias=False).to(torch.bfloat16).npu()
caches: list[list[torch.Tensor]] = [[] for _ in blocks]
sequence = torch.randint(options.words, (options.batch, options.prompt), device="npu")
end = torch.full((options.batch,), options.words, device="npu")
with (
    torch.no_grad(),
    torch_npu.profiler.profile(
        experimental_config=torch_npu.profiler._ExperimentalConfig(
            profiler_level=torch_npu.profiler.ProfilerLevel.Level1
        ),
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./generate_out"),
    ),
):
    new = sequence
    for _ in range(options.new):
        x = words(new)
        for block, cache in zip(blocks, caches, strict=True):
            x = block(x, cache)
        new = head(x[:, -1]).argmax(-1, keepdim=True)
        sequence = torch.cat((sequence, new), 1)
        if bool((new[:, 0] == end).all()):
            break
print(f"{sequence.shape[1]} words, peak {torch.npu.max_memory_allocated() / 2**30:.1f} GiB")
