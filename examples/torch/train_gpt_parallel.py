"""
Train a GPT with tensor, pipeline, data and expert parallelism, written out in the collectives themselves.

Start it with torchrun, or run chosen ranks of a job of any size on this machine:

    torchrun --nproc_per_node 8 examples/torch/train_gpt_parallel.py --tp 2 --pp 2
    drynpu run --world 1024 --ranks 17 --no-compute examples/torch/train_gpt_parallel.py --tp 8 --pp 8 --width 8192

Ranks of one tensor-parallel group are neighbours, stages of a pipeline lie furthest apart, as Megatron orders them. A
stage runs its micro-batches one forward, one backward; gradients are then averaged over the data-parallel ranks.
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu
from torch import nn

SIZES = {"width": 64, "layers": 4, "heads": 4, "words": 128, "tokens": 16, "batch": 2, "micro_batches": 4}
SIZES |= {"tp": 1, "pp": 1, "ep": 1, "experts": 0, "steps": 2}


class Reduced(torch.autograd.Function):
    """The sum over a group on the way forward, nothing on the way back; with ``backward`` the other way round."""

    @staticmethod
    def forward(ctx, x, group, backward):
        ctx.group, ctx.backward_too = group, backward
        if not backward:
            x = x.contiguous().clone()
            dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, gradient):
        if ctx.backward_too:
            gradient = gradient.contiguous().clone()
            dist.all_reduce(gradient, group=ctx.group)
        return gradient, None, None


class Exchanged(torch.autograd.Function):
    """Equal shares of rows for every rank of a group; gradients go back the same way."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group, output = group, torch.empty_like(x)
        dist.all_to_all_single(output, x.contiguous(), group=group)
        return output

    @staticmethod
    def backward(ctx, gradient):
        output = torch.empty_like(gradient)
        dist.all_to_all_single(output, gradient.contiguous(), group=ctx.group)
        return output, None


class Experts(nn.Module):
    """The experts of this rank; as many rows go to each, so that the exchange has one size."""

    def __init__(self, width, count, group):
        super().__init__()
        self.group, self.local = group, count // dist.get_world_size(group)
        self.up = nn.Parameter(torch.randn(self.local, width, 4 * width) * 0.02)
        self.down = nn.Parameter(torch.randn(self.local, 4 * width, width) * 0.02)

    def forward(self, x):
        sent = Exchanged.apply(x.flatten(0, 1), self.group)
        hidden = F.gelu(torch.bmm(sent.view(self.local, -1, x.shape[-1]), self.up))
        return Exchanged.apply(torch.bmm(hidden, self.down).flatten(0, 1), self.group).view_as(x)


class Block(nn.Module):
    """A layer whose heads and inner columns are shared out over the tensor-parallel group."""

    def __init__(self, options, groups):
        super().__init__()
        width, share, self.group = options.width, options.width // options.tp, groups["tp"]
        self.heads = options.heads // options.tp
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * share, bias=False), nn.Linear(share, width, bias=False)
        self.experts = Experts(width, options.experts, groups["ep"]) if options.experts else None
        if self.experts is None:
            self.up, self.down = nn.Linear(width, 4 * share, bias=False), nn.Linear(4 * share, width, bias=False)

    def forward(self, x):
        h = Reduced.apply(self.before_attention(x), self.group, True)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(h).chunk(3, -1))
        attention = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + Reduced.apply(self.out(attention.transpose(1, 2).flatten(2)), self.group, False)
        h = self.before_mlp(x)
        if self.experts is not None:
            return x + self.experts(h)
        h = Reduced.apply(h, self.group, True)
        return x + Reduced.apply(self.down(F.gelu(self.up(h))), self.group, False)


class Stage(nn.Module):
    """The layers of one stage; the first has the words, the last the head."""

    def __init__(self, options, groups, place):
        super().__init__()
        self.first, self.last = place["pp"] == 0, place["pp"] == options.pp - 1
        self.words = nn.Embedding(options.words, options.width) if self.first else None
        self.blocks = nn.ModuleList(Block(options, groups) for _ in range(options.layers // options.pp))
        self.head = nn.Linear(options.width, options.words, bias=False) if self.last else None

    def forward(self, x, targets):
        x = self.words(x) if self.first else x
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x).float().flatten(0, 1), targets.flatten()) if self.last else x


def make_groups(options):
    """Create all groups on all ranks, in one order; return this rank's groups and its place in each."""
    world, rank = dist.get_world_size(), dist.get_rank()
    dp = world // (options.tp * options.pp)
    strides = {"tp": (1, options.tp), "ep": (options.tp, options.ep), "dp": (options.tp, dp)}
    strides["pp"] = (options.tp * dp, options.pp)
    groups, place = {}, {}
    for name, (stride, size) in strides.items():
        for start in range(world):
            if start // stride % size:
                continue
            members = [start + stride * index for index in range(size)]
            group = dist.new_group(members, group_desc=name)
            if rank in members:
                groups[name], place[name] = group, members.index(rank)
    return groups, place


class Pipeline:
    """One forward, one backward over the micro-batches of a step."""

    def __init__(self, stage, options, group, place, device):
        self.stage, self.options, self.group, self.device = stage, options, group, device
        ranks = dist.get_process_group_ranks(group)
        self.before = ranks[place["pp"] - 1] if place["pp"] else None
        self.after = ranks[place["pp"] + 1] if place["pp"] + 1 < options.pp else None
        self.ahead = min(options.pp - place["pp"] - 1, options.micro_batches)
        self.open, self.sent = [], []

    def receive(self, peer):
        shape = (self.options.batch, self.options.tokens, self.options.width)
        x = torch.empty(shape, device=self.device, dtype=self.options.dtype)
        dist.recv(x, peer)
        return x

    def send(self, x, peer):
        """Send without waiting: both neighbours may send at once."""
        self.sent.append((dist.isend(x, peer), x))

    def forward(self):
        words = torch.randint(self.options.words, (self.options.batch, self.options.tokens + 1), device=self.device)
        x = words[:, :-1] if self.before is None else self.receive(self.before).requires_grad_()
        y = self.stage(x, words[:, 1:])
        if self.after is not None:
            self.send(y.detach(), self.after)
        self.open.append((x, y))

    def backward(self):
        x, y = self.open.pop(0)
        if self.after is None:
            (y / self.options.micro_batches).backward()
        else:
            y.backward(self.receive(self.after))
        if self.before is not None:
            self.send(x.grad, self.before)
        return y

    def step(self):
        for _ in range(self.ahead):
            self.forward()
        for _ in range(self.options.micro_batches - self.ahead):
            self.forward()
            y = self.backward()
        for _ in range(self.ahead):
            y = self.backward()
        while self.sent:
            self.sent.pop()[0].wait()
        return y


def average(parameters, group):
    """Average gradients over the data-parallel ranks, in buckets of one type."""
    gradients = [parameter.grad for parameter in parameters]
    for start in range(0, len(gradients), 8):
        bucket = torch.cat([gradient.flatten() for gradient in gradients[start : start + 8]])
        dist.all_reduce(bucket, group=group)
        parts = (bucket / dist.get_world_size(group)).split([part.numel() for part in gradients[start : start + 8]])
        for gradient, part in zip(gradients[start : start + 8], parts):
            gradient.copy_(part.view_as(gradient))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in SIZES.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--output", default="./gpt_parallel_out")
    options = parser.parse_args()
    options.dtype = torch.bfloat16 if options.bf16 else torch.float32
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("npu", int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    torch.manual_seed(dist.get_rank())
    groups, place = make_groups(options)
    stage = Stage(options, groups, place).to(options.dtype).to(device)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-4)
    pipeline = Pipeline(stage, options, groups["pp"], place, device)

    profiler = torch_npu.profiler
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=options.steps - 1, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(options.output),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
        profile_memory=True,
    ) as recording:
        for _ in range(options.steps):
            pipeline.step()
            average(list(stage.parameters()), groups["dp"])
            optimizer.step()
            optimizer.zero_grad()
            recording.step()
    print(
        f"peak {torch.npu.max_memory_allocated() / 2**30:.2f} GiB, {sum(p.numel() for p in stage.parameters())} weights"
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
