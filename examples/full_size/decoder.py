"""Decoders as they are trained on NPUs: fused operators; tensor, sequence and expert parallelism."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu
from torch import nn
from torch.utils.checkpoint import checkpoint

MASK_SIZE = 2048  # of the mask that sparse_mode 2 repeats along the diagonal


def gathered(x, group):
    whole = x.new_empty(x.shape[0] * dist.get_world_size(group), *x.shape[1:])
    dist.all_gather_into_tensor(whole, x.contiguous(), group=group)
    return whole


def scattered(x, group):
    part = x.new_empty(x.shape[0] // dist.get_world_size(group), *x.shape[1:])
    dist.reduce_scatter_tensor(part, x.contiguous(), group=group)
    return part


class Gather(torch.autograd.Function):
    """The rows of all ranks before a product whose columns are shared out; the sum of the gradients goes back."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return gathered(x, group)

    @staticmethod
    def backward(ctx, gradient):
        return scattered(gradient, ctx.group), None


class Scatter(torch.autograd.Function):
    """The sum of all ranks behind a product whose rows are shared out, and of it this rank's part."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return scattered(x, group)

    @staticmethod
    def backward(ctx, gradient):
        return gathered(gradient, ctx.group), None


class Exchange(torch.autograd.Function):
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


class GroupedProduct(torch.autograd.Function):
    """A product for each expert in one kernel, and two such kernels on the way back."""

    @staticmethod
    def forward(ctx, x, weight, ends):
        ctx.save_for_backward(x, weight, ends)
        return torch_npu.npu_grouped_matmul([x], [weight], group_list=ends, split_item=3, group_type=0)[0]

    @staticmethod
    def backward(ctx, gradient):
        x, weight, ends = ctx.saved_tensors
        back = {"group_list": ends, "split_item": 3}
        towards = torch_npu.npu_grouped_matmul([gradient], [weight.transpose(1, 2)], group_type=0, **back)[0]
        for_weight = torch_npu.npu_grouped_matmul([x.t()], [gradient], group_type=2, **back)[0]
        return towards, for_weight.view_as(weight), None


class SharedLoss(torch.autograd.Function):
    """Cross entropy of scores whose columns are shared out over a group: only sums over columns travel."""

    @staticmethod
    def forward(ctx, scores, targets, group):
        scores = scores.float()
        first = dist.get_rank(group) * scores.shape[-1]
        largest = scores.max(-1).values
        dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)
        scores = scores - largest.unsqueeze(-1)
        elsewhere = (targets < first) | (targets >= first + scores.shape[-1])
        local = (targets - first).masked_fill(elsewhere, 0)
        chosen = scores.gather(-1, local.unsqueeze(-1)).squeeze(-1).masked_fill(elsewhere, 0)
        dist.all_reduce(chosen, group=group)
        shares = scores.exp()
        total = shares.sum(-1)
        dist.all_reduce(total, group=group)
        ctx.save_for_backward(shares.div_(total.unsqueeze(-1)), local, elsewhere)
        return (total.log() - chosen).mean()

    @staticmethod
    def backward(ctx, gradient):
        shares, local, elsewhere = ctx.saved_tensors
        rows = torch.arange(shares.shape[0], device=shares.device)
        shares[rows, local] -= 1.0 - elsewhere.float()
        return (shares * (gradient / shares.shape[0])).to(torch.bfloat16), None, None


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return torch_npu.npu_rms_norm(x, self.weight, epsilon=1e-6)[0]


class Attention(nn.Module):
    """Grouped-query attention on [tokens, batch, width]; the heads are shared out over the ranks of ``tp``."""

    def __init__(self, options, group):
        super().__init__()
        self.group, self.tp, self.size = group, options.tp, options.size
        self.heads, self.groups = options.heads // options.tp, options.groups // options.tp
        columns = (self.heads + 2 * self.groups) * self.size
        self.qkv = nn.Linear(options.width, columns, bias=options.bias)
        self.out = nn.Linear(self.heads * self.size, options.width, bias=False)
        self.norms = nn.ModuleList(RmsNorm(self.size) for _ in range(2)) if options.head_norm else None

    def forward(self, x, cos, sin, mask):
        x = Gather.apply(x, self.group) if self.tp > 1 else x
        parts = self.qkv(x).split([count * self.size for count in (self.heads, self.groups, self.groups)], -1)
        query, key, value = (part.unflatten(-1, (-1, self.size)) for part in parts)
        if self.norms is not None:
            query, key = self.norms[0](query), self.norms[1](key)
        query, key = (torch_npu.npu_rotary_mul(each, cos, sin).flatten(2) for each in (query, key))
        result = torch_npu.npu_fusion_attention(
            query, key, value.flatten(2), self.heads, "SBH", atten_mask=mask, scale=self.size**-0.5, sparse_mode=2
        )[0]
        result = self.out(result)
        return Scatter.apply(result, self.group) if self.tp > 1 else result


class Mlp(nn.Module):
    def __init__(self, options, group):
        super().__init__()
        self.group, self.tp = group, options.tp
        self.up = nn.Linear(options.width, 2 * options.inner // options.tp, bias=False)
        self.down = nn.Linear(options.inner // options.tp, options.width, bias=False)

    def forward(self, x):
        x = Gather.apply(x, self.group) if self.tp > 1 else x
        x = self.down(torch_npu.npu_swiglu(self.up(x), dim=-1))
        return Scatter.apply(x, self.group) if self.tp > 1 else x


class Mixture(nn.Module):
    """Experts that are shared out over a group; as many rows go to each of them."""

    def __init__(self, options, group):
        super().__init__()
        self.group, self.ep, self.count, self.chosen = group, options.ep, options.experts, options.chosen
        self.local = options.experts // options.ep
        self.router = nn.Linear(options.width, options.experts, bias=False)
        self.up = nn.Parameter(torch.empty(self.local, options.width, 2 * options.inner))
        self.down = nn.Parameter(torch.empty(self.local, options.inner, options.width))

    def forward(self, x):
        rows = x.flatten(0, 1)
        weights, ids = torch.topk(F.softmax(self.router(rows).float(), -1), self.chosen, -1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        sent, order = torch_npu.npu_moe_token_permute(rows, ids.to(torch.int32))
        if self.ep > 1:
            sent = Exchange.apply(sent, self.group).unflatten(0, (self.ep, self.local, -1)).transpose(0, 1)
            shape, sent = sent.shape, sent.flatten(0, 2)
        ends = torch.arange(1, self.local + 1, device=x.device) * (len(sent) // self.local)
        hidden = torch_npu.npu_swiglu(GroupedProduct.apply(sent, self.up, ends), dim=-1)
        result = GroupedProduct.apply(hidden, self.down, ends)
        if self.ep > 1:
            result = Exchange.apply(result.view(shape).transpose(0, 1).flatten(0, 2), self.group)
        return torch_npu.npu_moe_token_unpermute(result, order, probs=weights).view_as(x)


class Block(nn.Module):
    def __init__(self, options, groups):
        super().__init__()
        self.before_attention, self.before_mlp = RmsNorm(options.width), RmsNorm(options.width)
        self.attention = Attention(options, groups["tp"])
        self.mlp = Mixture(options, groups["ep"]) if options.experts else Mlp(options, groups["tp"])

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.before_attention(x), cos, sin, mask)
        return x + self.mlp(self.before_mlp(x))


class Head(nn.Module):
    def __init__(self, options, group):
        super().__init__()
        self.group, self.tp, self.norm = group, options.tp, RmsNorm(options.width)
        self.scores = nn.Linear(options.width, options.words // options.tp, bias=False)

    def forward(self, x, targets):
        x = self.norm(x)
        if self.tp == 1:
            return F.cross_entropy(self.scores(x).float().flatten(0, 1), targets.flatten())
        scores = self.scores(Gather.apply(x, self.group))
        return SharedLoss.apply(scores.flatten(0, 1), targets.flatten(), self.group)


class Decoder(nn.Module):
    def __init__(self, options, groups):
        super().__init__()
        self.options, self.group = options, groups["tp"]
        self.words = nn.Embedding(options.words // options.tp, options.width)
        self.blocks = nn.ModuleList(Block(options, groups) for _ in range(options.layers))
        self.head = Head(options, groups["tp"])

    def extras(self, device):
        """Return what all steps and layers share: the angles of the rotary embedding, and the mask."""
        size = self.options.size
        angles = torch.outer(
            torch.arange(self.options.tokens, device=device).float(),
            10000.0 ** (-torch.arange(0, size, 2, device=device) / size),
        )
        angles = torch.cat((angles, angles), -1)[:, None, None, :]
        mask = torch.triu(torch.ones(MASK_SIZE, MASK_SIZE, device=device, dtype=torch.bool), 1)
        return angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16), mask

    def forward(self, words, targets, extras):
        tp, rows = self.options.tp, self.words.num_embeddings
        if tp == 1:
            x = self.words(words)
        else:
            first = dist.get_rank(self.group) * rows
            elsewhere = (words < first) | (words >= first + rows)
            x = self.words((words - first).masked_fill(elsewhere, 0)).masked_fill(elsewhere.unsqueeze(-1), 0)
            x = Scatter.apply(x, self.group)
        for block in self.blocks:
            x = checkpoint(block, x, *extras, use_reentrant=False) if self.options.recompute else block(x, *extras)
        return self.head(x, targets)

    def buckets(self):
        """Return lists of parameters whose gradients travel together, and whether they are an expert's."""
        experts = {id(weight) for block in self.blocks for name, weight in block.mlp.named_parameters(recurse=False)}
        for module in (self.words, *self.blocks, self.head):
            for expert in (False, True):
                weights = [weight for weight in module.parameters() if (id(weight) in experts) is expert]
                if weights:
                    yield weights, expert
