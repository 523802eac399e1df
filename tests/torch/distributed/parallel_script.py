"""Expert and context parallel training in recordings of their own: uneven exchanges, rings of keys, gathered keys."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, TOKENS, HEADS, EXPERTS = 32, 60, 4, 8


def profile(name):
    profiler = torch_npu.profiler
    return profiler.profile(
        on_trace_ready=profiler.tensorboard_trace_handler(f"{sys.argv[1]}/{name}"),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    )


class Exchange(torch.autograd.Function):
    """Rows to the ranks that have their experts; gradients go back the same way."""

    @staticmethod
    def forward(ctx, rows, sent, received, group):
        ctx.sent, ctx.received, ctx.group = sent, received, group
        output = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(output, rows.contiguous(), received, sent, group=group)
        return output

    @staticmethod
    def backward(ctx, gradient):
        output = gradient.new_empty(sum(ctx.sent), gradient.shape[1])
        dist.all_to_all_single(output, gradient.contiguous(), ctx.sent, ctx.received, group=ctx.group)
        return output, None, None, None


class Experts(nn.Module):
    """A router and this rank's experts; how many rows go to each rank differs from rank to rank."""

    def __init__(self, group):
        super().__init__()
        self.group, self.ranks = group, dist.get_world_size(group)
        self.router = nn.Linear(WIDTH, EXPERTS)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS // self.ranks))

    def forward(self, x):
        # Uneven, other on every rank, and symmetric: two ranks send each other as many rows. That is what a
        # rank without its peers assumes of them.
        parts = 1 + (torch.arange(self.ranks) + dist.get_rank(self.group)) % self.ranks
        sent = (parts * len(x) // parts.sum()).tolist()
        counts = torch.tensor(sent, device="npu")
        given = torch.empty_like(counts)
        dist.all_to_all_single(given, counts, group=self.group)
        weight = self.router(x).softmax(-1).amax(-1, keepdim=True)
        received = given.tolist()
        rows = Exchange.apply(x * weight, sent, received, self.group)
        share = -(-len(rows) // len(self.experts))
        done = torch.cat([expert(part) for expert, part in zip(self.experts, rows.split(share), strict=True)])
        return x + Exchange.apply(done, received, sent, self.group)


class Gathered(torch.autograd.Function):
    """Keys and values of the whole sequence, from all ranks; gradients are summed up and dealt out."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group, ranks = group, dist.get_world_size(group)
        output = x.new_empty(ranks * x.shape[0], *x.shape[1:])
        dist.all_gather_into_tensor(output, x.contiguous(), group=group)
        return output

    @staticmethod
    def backward(ctx, gradient):
        ranks = dist.get_world_size(ctx.group)
        output = gradient.new_empty(gradient.shape[0] // ranks, *gradient.shape[1:])
        dist.reduce_scatter_tensor(output, gradient.contiguous(), group=ctx.group)
        return output, None


def ring_attention(q, k, v, group):
    """Attention to the keys of all ranks, which go round in a ring: each step sends to the next, gets of the last."""
    ranks, me = dist.get_process_group_ranks(group), dist.get_rank(group)
    after, before = ranks[(me + 1) % len(ranks)], ranks[(me - 1) % len(ranks)]
    total, weight = torch.zeros_like(q), torch.zeros(q.shape[:2], device="npu")
    for step in range(len(ranks)):
        scores = (torch.einsum("thd,shd->hts", q, k) / q.shape[-1] ** 0.5).exp()
        total = total + torch.einsum("hts,shd->thd", scores, v)
        weight = weight + scores.sum(-1).T
        if step + 1 < len(ranks):
            both = torch.stack((k, v)).contiguous()
            got = torch.empty_like(both)
            works = dist.batch_isend_irecv(
                [dist.P2POp(dist.isend, both, after, group), dist.P2POp(dist.irecv, got, before, group)]
            )
            for work in works:
                work.wait()
            k, v = got
    return total / weight.unsqueeze(-1)


class Attention(nn.Module):
    """Attention over a sequence whose parts the ranks have: the keys go round, or are gathered."""

    def __init__(self, group, ring):
        super().__init__()
        self.group, self.ring = group, ring
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(len(x), 3, HEADS, WIDTH // HEADS).unbind(1)
        if self.ring:
            # Gradients of keys stay on the rank, as where keys are cached.
            return x + self.out(ring_attention(q, k.detach(), v.detach(), self.group).flatten(1))
        k, v = Gathered.apply(k, self.group), Gathered.apply(v, self.group)
        attended = F.scaled_dot_product_attention(*(part.transpose(0, 1) for part in (q, k, v)))
        return x + self.out(attended.transpose(0, 1).flatten(1))


def train(name, model, shared):
    model = model.npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for active in (False, True):
        with profile(name) if active else torch.no_grad():
            with torch.enable_grad():
                loss = model(torch.randn(TOKENS, WIDTH, device="npu")).square().mean()
                loss.backward()
            for parameter in model.parameters():
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad, group=shared)
            optimizer.step()
            optimizer.zero_grad()


def main():
    dist.init_process_group("hccl")
    rank = dist.get_rank()
    torch.npu.set_device(rank % 8)
    torch.manual_seed(0)
    whole = dist.group.WORLD
    mesh = init_device_mesh("npu", (2, dist.get_world_size() // 2), mesh_dim_names=("dp", "cp"))
    train("experts", Experts(whole), whole)
    train("experts_pairs", Experts(mesh["cp"].get_group()), mesh["dp"].get_group())
    train("ring", Attention(whole, ring=True), whole)
    train("gathered", Attention(mesh["cp"].get_group(), ring=False), mesh["dp"].get_group())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
