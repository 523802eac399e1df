"""Groups as a script for the device makes and asks them, on two ranks; writes down what it was told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu
from torch_npu._C._distributed_c10d import ProcessGroupHCCL

torch.set_num_threads(1)
told: dict[str, object] = {"available": dist.is_hccl_available()}
options = torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options()
options.hccl_config = {"hccl_buffer_size": 200}
rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
# Bound to its device: PyTorch splits no other group.
dist.init_process_group("hccl", pg_options=options, device_id=torch.device("npu", rank))
asked = ProcessGroupHCCL.Options()
asked.hccl_config = {"hccl_buffer_size": 100, "group_name": "custom_comm"}
pair = dist.new_group([0, 1], backend="hccl", pg_options=asked)
told["options"] = [options.hccl_config, list(options.global_ranks_in_group), list(asked.global_ranks_in_group)]
backends = [group._get_backend(torch.device("npu")) for group in (dist.group.WORLD, pair)]
told["names"] = [backend.get_hccl_comm_name(rank) for backend in backends]
told["same class"] = dist.ProcessGroupHCCL is ProcessGroupHCCL
part = dist.split_group(split_ranks=[[0], [1]], group_desc="part")
summed = torch.full((2,), float(rank), device="npu")
dist.all_reduce(summed, group=part)
told["split"] = [dist.get_process_group_ranks(part), part.group_desc, summed.tolist()]
try:
    both = dist.new_group([0, 1], backend="cpu:gloo,npu:hccl")
    both._get_backend(torch.device("cpu")).get_hccl_comm_name(rank)
except ValueError as error:
    told["gloo"] = str(error)


def normalise(kind: type[torch.nn.Module], x: torch.Tensor, weights: torch.Tensor) -> list[torch.Tensor]:
    torch.manual_seed(1)
    layer = torch.nn.Sequential(torch.nn.Conv1d(2, 4, 1), torch.nn.BatchNorm1d(4)).to(x.device)
    if kind is torch.nn.SyncBatchNorm:
        layer = kind.convert_sync_batchnorm(layer)
    x = x.clone().requires_grad_()
    y = layer(x)
    (y * weights).sum().backward()
    return [y, x.grad, layer[1].weight.grad, layer[1].bias.grad, layer[1].running_mean, layer[1].running_var]


torch.manual_seed(0)
whole, slopes = torch.randn(8, 2, 5), torch.randn(8, 4, 5)
mine = slice(0, 3) if rank == 0 else slice(3, 8)


def synchronise() -> list[torch.Tensor]:
    return normalise(torch.nn.SyncBatchNorm, whole[mine].npu(), slopes[mine].npu())


together, alone = synchronise(), normalise(torch.nn.BatchNorm1d, whole, slopes)
for summed in together[2:4]:
    dist.all_reduce(summed)
pairs = zip(together, [value[mine] for value in alone[:2]] + alone[2:], strict=True)
told["synchronised"] = [torch.allclose(one.cpu(), other, atol=1e-4) for one, other in pairs]
empty = normalise(torch.nn.SyncBatchNorm, whole[mine][: 2 * rank].npu(), slopes[mine][: 2 * rank].npu())
told["one has none"] = [list(empty[0].shape), bool(torch.isfinite(empty[5]).all())]


layer = torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(torch.nn.BatchNorm1d(2))).npu()
parallel = torch.nn.parallel.DistributedDataParallel(layer, device_ids=[rank])
parallel(whole[mine].npu()).square().sum().backward()
gradients = [torch.zeros(2, device="npu") for _ in range(2)]
dist.all_gather(gradients, layer[0].weight.grad)
told["parallel"] = bool(torch.equal(*gradients) and gradients[0].abs().min() > 0)


def train() -> None:
    dist.all_reduce(torch.ones(1000, dtype=torch.bfloat16, device="npu"))
    dist.all_reduce(torch.ones(3, dtype=torch.int64, device="npu"), group=pair)
    if rank == 0:
        dist.send(torch.ones(5, device="npu"), dst=1)
    else:
        dist.recv(torch.zeros(5, device="npu"), src=0)
    parts = [torch.zeros(4, device="npu") for _ in range(2)] if rank == 0 else None
    dist.gather(torch.ones(4, device="npu"), parts, dst=0)
    given, taken = torch.ones(6, device="npu"), torch.zeros(6, device="npu")
    calls = [dist.P2POp(dist.isend, given, 1 - rank), dist.P2POp(dist.irecv, taken, 1 - rank)]
    for work in dist.batch_isend_irecv(calls):
        work.wait()


profiler = torch_npu.profiler
for name, level, given in (
    ("marked", profiler.ProfilerLevel.Level1, {}),
    ("alone", profiler.ProfilerLevel.Level_none, {"mstx_domain_include": ["communication"]}),
    ("excluded", profiler.ProfilerLevel.Level1, {"mstx_domain_exclude": ["communication"]}),
):
    config = profiler._ExperimentalConfig(
        profiler_level=level,
        aic_metrics=profiler.AiCMetrics.AiCoreNone,
        mstx=True,
        data_simplification=False,
        export_type=["text", "db"],
        **given,
    )
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(name), experimental_config=config):
        train()
        if name == "excluded":
            synchronise()
Path(f"told_{rank}.json").write_text(json.dumps(told), encoding="utf-8")
dist.destroy_process_group()
