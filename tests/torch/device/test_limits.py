"""What the sink cannot do, held here so that docs/torch-device.md stays true. A test that fails is good news."""

from __future__ import annotations

import pytest
import torch

from drynpu_torch.device import known_device

pytestmark = pytest.mark.sink_only


def test_tensors_say_cpu() -> None:
    there = torch.zeros(2, device="npu:1")
    assert there.device == torch.device("cpu")
    assert there.is_cpu
    assert there.get_device() == -1
    assert there.type() == "torch.FloatTensor"
    assert "npu" not in repr(there)
    assert torch.nn.Linear(1, 1).npu().weight.device == torch.device("cpu")


def test_every_cpu_tensor_says_it_is_on_the_npu() -> None:
    assert torch.zeros(1).is_npu
    assert torch.zeros(1, device="npu").is_npu
    assert not torch.zeros(1, device="meta").is_npu


def test_forgotten_copies_are_not_caught() -> None:
    assert (torch.ones(2) + torch.ones(2, device="npu")).tolist() == [2.0, 2.0]
    assert torch.nn.Linear(2, 1).npu()(torch.ones(1, 2)).shape == (1, 1)
    assert torch.ones(2, device="npu").numpy().tolist() == [1.0, 1.0]
    assert (torch.ones(1, device="npu:0") + torch.ones(1, device="npu:1")).tolist() == [2.0]


def test_results_do_not_know_where_they_are() -> None:
    there = torch.ones(2, device="npu")
    result = there + there
    assert known_device(result) is None
    assert result.to("npu") is not result, "a copy that a real device would not make"


def test_a_device_object_that_says_cpu_is_taken_for_a_tensors_device() -> None:
    there = torch.ones(2, device="npu")
    assert there.to(torch.device("cpu")) is there, "no copy to the host"
    host = torch.ones(2)
    assert host.to(there) is host, "the other tensor says cpu"
    module = torch.nn.Linear(1, 1).npu()
    before = module.weight.data_ptr()
    assert module.to("cpu").weight.data_ptr() == before, "Module.to resolves the name to a device object"


def test_storages_and_quantized_tensors_and_pinned_factories_are_not_served() -> None:
    with pytest.raises(NotImplementedError):
        torch.empty(2, pin_memory=True)
    with pytest.raises(NotImplementedError), pytest.warns(UserWarning, match="deprecated"):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8).to("npu")


def test_optimizers_choose_as_for_cpu_tensors() -> None:
    from torch.optim.optimizer import _default_to_fused_or_foreach

    parameter = torch.nn.Parameter(torch.ones(2, device="npu"))
    assert _default_to_fused_or_foreach([parameter], differentiable=False) == (False, False)


def test_distributed_data_parallel_does_not_keep_its_device() -> None:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        module = torch.nn.Linear(1, 1).npu()
        assert torch.nn.parallel.DistributedDataParallel(module, device_ids=[0]).device_ids is None
    finally:
        torch.distributed.destroy_process_group()


def test_plain_streams_and_events_are_not_reported(recorded: object) -> None:
    stream, event = torch.Stream(device="npu"), torch.Event(device="npu")
    event.record()
    event.wait(stream)
    assert stream.query()
    assert recorded.calls == []


def test_random_numbers_of_host_and_device_are_one_sequence() -> None:
    torch.manual_seed(0)
    torch.rand(1)
    after_host = torch.rand(1, device="npu")
    torch.manual_seed(0)
    assert not torch.equal(torch.rand(1, device="npu"), after_host)
