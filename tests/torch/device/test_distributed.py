"""Parts of torch.distributed that need no second process."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def test_the_backend_is_registered() -> None:
    assert dist.Backend("hccl") == "hccl"
    assert dist.is_hccl_available()  # type: ignore[attr-defined]
    assert dist.get_default_backend_for_device("npu") == "hccl"


@pytest.mark.sink_only
def test_data_parallel_refuses_a_device_that_the_module_is_not_on() -> None:
    module = torch.nn.Linear(2, 2).to("npu:1")
    with pytest.raises(ValueError, match=r"parameter 'weight' was made for npu:1; give device_ids=\[1\]"):
        DistributedDataParallel(module, device_ids=[0])
    with pytest.raises(ValueError, match="has 2 devices"):
        DistributedDataParallel(module, device_ids=[0, 1])
    with pytest.raises(RuntimeError, match="valid device range"):
        DistributedDataParallel(module, device_ids=[99])


def test_data_parallel_takes_the_device_that_the_module_is_on(tmp_path: object) -> None:
    module = torch.nn.Linear(2, 2).to("npu:1")
    dist.init_process_group("hccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        parallel = DistributedDataParallel(module, device_ids=[1], output_device=1)
        parallel(torch.ones(3, 2, device="npu:1")).sum().backward()
        assert module.weight.grad is not None
        assert module.weight.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize("backend", [None, "npu:hccl", "cpu:gloo,npu:hccl"])
def test_a_group_for_the_npu_takes_its_tensors(tmp_path: object, backend: str | None) -> None:
    dist.init_process_group(backend, init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        value = torch.ones(2, device="npu")
        dist.all_reduce(value)
        assert value.tolist() == [1.0, 1.0]
    finally:
        dist.destroy_process_group()


def test_a_group_is_split_if_it_is_bound_to_a_device_as_pytorch_has_it(tmp_path: object) -> None:
    for device in (None, torch.device("npu", 0)):
        place = f"file://{tmp_path}/{device}"
        dist.init_process_group("hccl", init_method=place, rank=0, world_size=1, device_id=device)
        try:
            if device is None:
                with pytest.raises(RuntimeError, match="not safe to split"):
                    dist.split_group(split_ranks=[[0]])
                continue
            part = dist.split_group(split_ranks=[[0]], group_desc="part")
            assert part is not None
            assert (part.group_desc, dist.get_process_group_ranks(part)) == ("part", [0])
        finally:
            dist.destroy_process_group()
