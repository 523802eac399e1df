"""Operators that exchange rows with other ranks, on two ranks; each compares its results with the formula in FP64."""

from __future__ import annotations

import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu

torch.set_num_threads(1)
rank, ranks = int(os.environ["RANK"]), 2
torch.npu.set_device(rank)
dist.init_process_group("hccl")
group = dist.group.WORLD
hcom = group._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
torch.manual_seed(5)
done: list[str] = []


def of_both(*shape: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Return the tensors of both ranks; every rank draws both."""
    return [torch.randn(shape).to(dtype) for _ in range(ranks)]


def same(name: str, found: torch.Tensor, wanted: torch.Tensor, tolerance: float = 1e-5) -> None:
    found = found.cpu()
    assert found.shape == wanted.shape, (name, found.shape, wanted.shape)
    torch.testing.assert_close(found.double(), wanted.double(), rtol=0, atol=tolerance, msg=name)
    done.append(name)


def refuses(name: str, text: str, call: object) -> None:
    try:
        call()
    except RuntimeError as error:
        assert text in str(error), str(error)
        done.append(f"{name} is refused")
    else:
        raise AssertionError(name)


def products() -> None:
    xs, ws, biases = of_both(4, 6), of_both(6, 8), of_both(8)
    exact = [x.double() @ w.double() + b.double() for x, w, b in zip(xs, ws, biases, strict=True)]
    x, w, b = xs[rank].npu(), ws[rank].npu(), biases[rank].npu()
    more = of_both(4, 8)
    found = torch_npu.npu_mm_all_reduce_base(x, w, hcom, bias=b, x3=more[rank].npu())
    same("all_reduce", found, sum(exact) + sum(more))
    gathered = torch.cat(xs)
    out, whole = torch_npu.npu_all_gather_base_mm(x, w, hcom, ranks, bias=b)
    same("all_gather", out, gathered.double() @ ws[rank].double() + biases[rank].double())
    same("gathered", whole, gathered)
    assert torch_npu.npu_all_gather_base_mm(x, w, hcom, ranks, gather_output=False)[1].numel() == 0
    share = slice(2 * rank, 2 * rank + 2)
    same("reduce_scatter", torch_npu.npu_mm_reduce_scatter_base(x, w, hcom, ranks, bias=b), sum(exact)[share])
    columns = slice(4 * rank, 4 * rank + 4)
    wanted = torch.cat([each[:, columns] for each in exact])
    same("matmul_all_to_all", torch_npu.npu_matmul_all_to_all(x, w, hcom, ranks, b, [-1, -2]), wanted)
    long = torch.randn(12, 5)
    out, joined = torch_npu.npu_all_to_all_matmul(x, long.npu(), hcom, ranks)
    wanted = torch.cat([each[share] for each in xs], 1)
    same("joined", joined, wanted)
    same("all_to_all_matmul", out, wanted.double() @ long.double())
    ints = [torch.randint(-100, 100, (4, 6), dtype=torch.int8) for _ in range(ranks)]
    weights = [torch.randint(-100, 100, (6, 8), dtype=torch.int8) for _ in range(ranks)]
    scale = torch.rand(8) / 100
    found = torch_npu.npu_mm_all_reduce_base(ints[rank].npu(), weights[rank].npu(), hcom, dequant_scale=scale.npu())
    exact = [(a.double() @ b.double()) * scale.double() for a, b in zip(ints, weights, strict=True)]
    assert found.dtype is torch.float16
    same("quantised all_reduce", found, sum(exact), 0.2)


def experts() -> None:
    """Two experts on each rank; rank 0 sends 1, 0, 3, 2 rows to the four of them, rank 1 sends 2, 4, 0, 1."""
    counts = torch.tensor([[1, 0, 3, 2], [2, 4, 0, 1]])
    xs = [torch.randn(int(row.sum()), 5) for row in counts]
    ws = of_both(2, 5, 7)
    received = counts[:, 2 * rank : 2 * rank + 2]
    blocks = [torch.split(x, row.tolist()) for x, row in zip(xs, counts, strict=True)]
    by_expert = [torch.cat([blocks[r][2 * rank + e] for r in range(ranks)]) for e in range(2)]
    wanted = torch.cat([rows.double() @ ws[rank][e].double() for e, rows in enumerate(by_expert)])
    sent, got = counts[rank].tolist(), received.flatten().tolist()
    shared = torch.randn(3, 5)
    out, mm, permuted = torch_npu.npu_alltoallv_gmm(
        *(xs[rank].npu(), ws[rank].npu(), hcom, ranks, sent, got),
        mm_x=shared.npu(),
        mm_weight=ws[rank][0].t().contiguous().npu(),
        trans_mm_weight=True,
        permute_out_flag=True,
    )
    same("alltoallv_gmm", out, wanted)
    same("permuted", permuted, torch.cat(by_expert))
    same("shared product", mm, shared.double() @ ws[rank][0].double())
    back, none = torch_npu.npu_gmm_alltoallv(out, ws[rank].transpose(1, 2).contiguous().npu(), hcom, ranks, got, sent)
    wanted = torch.cat(
        [
            rows.double() @ ws[e // 2][e % 2].double() @ ws[e // 2][e % 2].double().t()
            for e, rows in enumerate(blocks[rank])
        ]
    )
    same("gmm_alltoallv", back, wanted, 1e-4)
    assert none is None


def dispatch_and_combine() -> None:
    """Three tokens on rank 0, of which one is not active, and three on rank 1; two of four experts for each."""
    xs, scales = of_both(3, 8, dtype=torch.float16), of_both(3, 2)
    ids = [torch.tensor([[0, 2], [3, 1], [2, 0]]), torch.tensor([[2, 3], [2, 0], [1, 2]])]
    active = [torch.tensor([True, False, True]), torch.tensor([True, True, True])]
    mine = {"x_active_mask": active[rank].npu()}
    shapes = {"group_ep": hcom, "ep_world_size": ranks, "ep_rank_id": rank, "moe_expert_num": 4}
    rows = [
        (xs[r][t], expert)
        for expert in (2 * rank, 2 * rank + 1)
        for r in range(ranks)
        for t in range(3)
        for k, e in enumerate(ids[r][t].tolist())
        if active[r][t] and e == expert
    ]
    per_expert = [sum(e == expert for _, e in rows) for expert in (2 * rank, 2 * rank + 1)]
    for version in ("", "_v2"):
        call = getattr(torch_npu, f"npu_moe_distribute_dispatch{version}")
        found = call(xs[rank].npu(), ids[rank].int().npu(), **shapes, **mine, expert_scales=scales[rank].npu())
        expanded, _, assist, nums, ends, _, weights = found
        assert expanded.shape == (3 * ranks * 2, 8)
        same(f"dispatch{version}", expanded[: len(rows)], torch.stack([row for row, _ in rows]))
        assert nums.cpu().tolist() == per_expert
        assert int(ends.cpu()[-1]) == len(rows)
        assert weights.shape == (12,)
        assert assist.dtype is torch.int32
        numbers = torch.tensor([float(expert + 1) for _, expert in rows] + [0.0] * (12 - len(rows)))
        results = (expanded.cpu().float() * numbers.unsqueeze(1)).to(torch.float16)
        combined = getattr(torch_npu, f"npu_moe_distribute_combine{version}")(
            *(results.npu(), ids[rank].int().npu(), assist, ends, scales[rank].npu()), **shapes, **mine
        )
        weight = (scales[rank] * (ids[rank] + 1)).sum(1, keepdim=True) * active[rank].unsqueeze(1)
        same(f"combine{version}", combined, xs[rank].double() * weight.double(), 0.05)
    quantised = torch_npu.npu_moe_distribute_dispatch_v2(
        xs[rank].npu(), ids[rank].int().npu(), **shapes, **mine, quant_mode=2, expert_token_nums_type=0
    )
    assert quantised[0].dtype is torch.int8
    values = quantised[0].cpu().double() * quantised[1].cpu().double().unsqueeze(1)
    same("quantised dispatch", values[: len(rows)], torch.stack([row for row, _ in rows]), 0.02)
    assert quantised[3].cpu().tolist() == [per_expert[0], sum(per_expert)]


def as_a_plain_product() -> None:
    """Compare in 16 bits, where the sums of another way to multiply are rounded differently."""
    both = of_both(64, 512)
    half = of_both(512, 256)[rank].half().npu()
    fused, whole = torch_npu.npu_all_gather_base_mm(both[rank].half().npu(), half, hcom, ranks)
    assert torch.equal(whole.cpu(), torch.cat(both).half())
    assert torch.equal(fused, whole @ half)


def misuse() -> None:
    x, w = torch.randn(4, 6).npu(), torch.randn(6, 8).npu()
    known = f"there are: {hcom}"
    refuses("name", known, lambda: torch_npu.npu_mm_all_reduce_base(x, w, "group_name_7"))
    refuses(
        "size", "has 2 ranks, but the operator was given 4", lambda: torch_npu.npu_all_gather_base_mm(x, w, hcom, 4)
    )
    refuses(
        "kind", "reduce_op supports 'sum' only", lambda: torch_npu.npu_mm_all_reduce_base(x, w, hcom, reduce_op="max")
    )
    axes = "all2all_axes supports [-2, -1] only, but got [-1, -2]"
    refuses("axes", axes, lambda: torch_npu.npu_all_to_all_matmul(x, w, hcom, ranks, None, [-1, -2]))
    ids = torch.zeros(4, 1, dtype=torch.int32).npu()
    text = "ep_rank_id should be in [0, ep_world_size), but got ep_world_size=2, ep_rank_id=2."
    refuses("rank", text, lambda: torch_npu.npu_moe_distribute_dispatch_v2(x, ids, hcom, ranks, 2, 4))
    text = "the expert_token_nums_type should be 0 or 1"
    call = torch_npu.npu_moe_distribute_dispatch_v2
    refuses("type", text, lambda: call(x, ids, hcom, ranks, rank, 4, expert_token_nums_type=2))


config = torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1)
handler = torch_npu.profiler.tensorboard_trace_handler(".")
with torch_npu.profiler.profile(experimental_config=config, on_trace_ready=handler, record_shapes=True):
    products()
    experts()
    dispatch_and_combine()
as_a_plain_product()
misuse()
Path(f"done_{rank}.txt").write_text("\n".join(done))
dist.destroy_process_group()
