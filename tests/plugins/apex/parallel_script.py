"""Data parallel training with apex on several ranks; every number is held against NumPy on the data of all ranks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
import torch_npu
from torch import distributed, nn

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
Array = np.ndarray[Any, Any]


def near(tensor: Any, expected: Any, tolerance: float = 1e-5) -> None:
    found = tensor.detach().float().cpu().numpy() if isinstance(tensor, torch.Tensor) else tensor
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def data(rank: int, step: int) -> Array:
    return np.random.default_rng(10 * step + rank).uniform(-1, 1, (4, 3)).astype(np.float32)


class Chain(nn.Module):
    """Three vectors that meet the input one after another: the loss is their sum over the input."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.ParameterList(nn.Parameter(torch.full((3,), 1.0 + RANK)) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum(
            ((index + 1) * (x * vector).sum() for index, vector in enumerate(self.vectors)), torch.zeros(()).npu()
        )


def gradient(step: int) -> Array:
    return np.mean([data(rank, step).sum(axis=0) for rank in range(RANKS)], axis=0)


def wrapped(half: bool = False, **options: Any) -> None:
    from apex.parallel import DistributedDataParallel

    chain: Any = Chain().npu()
    chain = chain.half() if half else chain
    if options.pop("triggers", False):
        options["allreduce_trigger_params"] = [chain.vectors[1]]
    model = DistributedDataParallel(chain, **options)
    near(chain.vectors[0], np.ones(3))
    average = options.get("gradient_average", True)
    for step in range(3):
        x = torch.tensor(data(RANK, step)).npu()
        model(x.half() if half else x).backward()
        for index, vector in enumerate(chain.vectors):
            near(vector.grad, (index + 1) * gradient(step) * (1 if average else RANKS), 2e-3 if half else 1e-5)
            vector.grad = None
    model.disable_allreduce()
    model(torch.tensor(data(RANK, 9)).npu().to(chain.vectors[0].dtype)).backward()
    near(chain.vectors[0].grad, data(RANK, 9).sum(axis=0), 2e-3 if half else 1e-5)


def reducer() -> None:
    from apex.parallel import Reducer

    chain = Chain().npu()
    by_module = Reducer(chain)
    chain(torch.tensor(data(RANK, 0)).npu()).backward()
    by_module.reduce()
    near(chain.vectors[2].grad, 3 * gradient(0))
    some = [torch.tensor([1.0 + RANK]).npu(), torch.tensor([2.0 * RANK]).npu().half()]
    Reducer(some).reduce()
    near(some[0], [1 + (RANKS - 1) / 2])
    near(some[1], [RANKS - 1.0])


def norms() -> None:
    """Against one batch norm over all samples on the CPU."""
    from apex.parallel import SyncBatchNorm, convert_syncbn_model, create_syncbn_process_group

    random = np.random.default_rng(5)
    inputs = [torch.tensor(random.standard_normal((4, 3, 5)), dtype=torch.float32) for _ in range(RANKS)]
    slopes = [torch.tensor(random.standard_normal((4, 3, 5)), dtype=torch.float32) for _ in range(RANKS)]
    plain = nn.BatchNorm1d(3)
    nn.init.uniform_(plain.weight, generator=torch.Generator().manual_seed(1))
    model: Any = nn.Sequential(nn.BatchNorm1d(3))
    model[0].load_state_dict(plain.state_dict())
    model = convert_syncbn_model(model, process_group=create_syncbn_process_group(RANKS)).npu()
    assert isinstance(model[0], SyncBatchNorm)
    whole = torch.cat(inputs).requires_grad_()
    part = inputs[RANK].npu().requires_grad_()
    expected, result = plain(whole), model(part)
    expected.backward(torch.cat(slopes))
    result.backward(slopes[RANK].npu())
    mine = slice(4 * RANK, 4 * RANK + 4)
    near(result, expected[mine].detach().numpy())
    near(part.grad, whole.grad[mine].numpy())
    near(model[0].running_mean, plain.running_mean.numpy())
    near(model[0].running_var, plain.running_var.numpy())
    total = model[0].weight.grad.clone()
    distributed.all_reduce(total)
    near(total, plain.weight.grad.numpy(), 1e-4)
    near(model.eval()(part), plain.eval()(whole)[mine].detach().numpy())
    assert create_syncbn_process_group(0) is None


def combined() -> None:
    """``combine_ddp``: two steps with momentum from buffers that are averaged while the backward pass runs."""
    from apex import amp
    from apex.optimizers import NpuFusedSGD

    model: Any = Chain().npu()
    optimizer: Any = NpuFusedSGD(model.parameters(), lr=0.1, momentum=0.5)
    model, optimizer = amp.initialize(
        model, optimizer, opt_level="O2", loss_scale=16.0, combine_grad=True, combine_ddp=True, verbosity=int(RANK == 0)
    )
    weights = [np.full(3, 1.0) for _ in range(3)]
    speeds = [np.zeros(3) for _ in range(3)]
    for step in range(3):
        loss = model(torch.tensor(data(RANK, step)).npu())
        optimizer.zero_grad()
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        for index, master in enumerate(amp.master_params(optimizer)):
            speeds[index] = 0.5 * speeds[index] + (index + 1) * gradient(step)
            weights[index] = weights[index] - 0.1 * speeds[index]
            near(master, weights[index], 6e-3)
    sums = [torch.zeros(9).npu() for _ in range(RANKS)]
    distributed.all_gather(sums, torch.cat([p.detach() for p in amp.master_params(optimizer)]))
    assert all(torch.equal(each, sums[0]) for each in sums), "the ranks stay equal, bit for bit"


def local_rates() -> None:
    from apex.parallel.LARC import LARC

    for clip in (True, False):
        value, slope = np.array([3.0, 4.0]), np.array([0.6, 0.8])
        parameter = nn.Parameter(torch.tensor(value, dtype=torch.float32).npu())
        optimizer = LARC(torch.optim.SGD([parameter], lr=0.1, weight_decay=0.01), trust_coefficient=0.02, clip=clip)
        parameter.grad = torch.tensor(slope, dtype=torch.float32).npu()
        optimizer.step()
        local = 0.02 * 5 / (1 + 5 * 0.01 + 1e-8)
        rate = min(local / 0.1, 1) if clip else local
        near(parameter, value - 0.1 * rate * (slope + 0.01 * value))
        assert optimizer.param_groups[0]["weight_decay"] == 0.01


def refusals() -> None:
    from apex.parallel import DistributedDataParallel, SyncBatchNorm

    for call, kind in (
        (lambda: DistributedDataParallel(Chain().npu(), shared_param=True), ValueError),
        (lambda: DistributedDataParallel(Chain().npu(), delay_allreduce=True, num_allreduce_streams=2), ValueError),
        (lambda: DistributedDataParallel(Chain().npu(), allreduce_communicators=([], [])), NotImplementedError),
        (lambda: SyncBatchNorm(3, channel_last=True), AttributeError),
    ):
        try:
            call()
        except kind:
            continue
        raise AssertionError(f"no {kind.__name__}")


def main() -> None:
    torch_npu.npu.set_device(RANK)
    distributed.init_process_group("hccl")
    wrapped()
    wrapped(message_size=3)
    wrapped(message_size=3, num_allreduce_streams=2)
    wrapped(delay_allreduce=True, gradient_average=False)
    wrapped(triggers=True, retain_allreduce_buffers=True)
    wrapped(half=True, allreduce_always_fp32=True, gradient_predivide_factor=2.0)
    reducer()
    norms()
    local_rates()
    refusals()
    combined()
    print(f"rank {RANK} agrees")


if __name__ == "__main__":
    main()
