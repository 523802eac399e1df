"""Every way to create a tensor for the device gives a tensor with the right values, and it is known to be there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from drynpu_torch.device import DeviceState, known_device

FACTORIES = {
    "tensor": (lambda d: torch.tensor([1.0, 2.0], device=d), [1.0, 2.0]),
    "zeros": (lambda d: torch.zeros(2, device=d), [0.0, 0.0]),
    "ones": (lambda d: torch.ones(2, device=d), [1.0, 1.0]),
    "full": (lambda d: torch.full((2,), 3.5, device=d), [3.5, 3.5]),
    "arange": (lambda d: torch.arange(1, 7, 2, device=d), [1, 3, 5]),
    "linspace": (lambda d: torch.linspace(0, 1, 3, device=d), [0.0, 0.5, 1.0]),
    "eye": (lambda d: torch.eye(2, device=d), [[1.0, 0.0], [0.0, 1.0]]),
    "tril_indices": (lambda d: torch.tril_indices(2, 2, device=d), [[0, 1, 1], [0, 0, 1]]),
    "scalar_tensor": (lambda d: torch.scalar_tensor(4.0, device=d), 4.0),
    "zeros_like": (lambda d: torch.zeros_like(torch.ones(2), device=d), [0.0, 0.0]),
    "full_like": (lambda d: torch.full_like(torch.ones(2), 2.0, device=d), [2.0, 2.0]),
    "new_zeros": (lambda d: torch.ones(1).new_zeros(2, device=d), [0.0, 0.0]),
    "new_full": (lambda d: torch.ones(1).new_full((2,), 7.0, device=d), [7.0, 7.0]),
    "new_tensor": (lambda d: torch.ones(1).new_tensor([5.0], device=d), [5.0]),
    "as_tensor": (lambda d: torch.as_tensor(np.array([1.5]), device=d), [1.5]),
    "asarray": (lambda d: torch.asarray([1.5], device=d), [1.5]),
    "from_numpy": (lambda d: torch.from_numpy(np.array([1.5])).to(d), [1.5]),
    "parameter": (lambda d: torch.nn.Linear(2, 1, device=d).weight.detach().fill_(2.0), [[2.0, 2.0]]),
}


@pytest.mark.parametrize("device", ["npu", "npu:1"])
@pytest.mark.parametrize("form", [str, torch.device])
@pytest.mark.parametrize("name", FACTORIES)
def test_values_and_place(name: str, form: type, device: str) -> None:
    create, expected = FACTORIES[name]
    made = create(form(device))
    assert made.tolist() == expected
    assert known_device(made) == (torch.device(device).index or 0)


@pytest.mark.parametrize("name", ["zeros", "ones", "arange", "linspace", "eye"])
def test_factories_with_a_kernel_of_their_own_leave_pinning_away(native: bool, name: str) -> None:
    """As op-plugin's do: what vLLM-Ascend makes for its drafts is not refused."""
    if not native:
        pytest.skip("the sink's tensors are the host's, which can be pinned")
    arguments = {"linspace": (1, 2, 5), "arange": (3, 9, 2), "eye": (2, 3)}.get(name, (4,))
    tensor = getattr(torch, name)(*arguments, device="npu", pin_memory=True)
    assert torch.equal(tensor.cpu(), getattr(torch, name)(*arguments))
    with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
        torch.empty(4, device="npu", pin_memory=True)


@pytest.mark.parametrize(
    "draw", [torch.rand, torch.randn, torch.randperm, lambda n, **where: torch.randint(0, 99, (n,), **where)]
)
def test_random_numbers_are_those_of_the_cpu(draw: object) -> None:
    torch.manual_seed(3)
    on_cpu = draw(6)
    torch.manual_seed(3)
    assert torch.equal(draw(6, device="npu").cpu(), on_cpu)


def test_dtype_layout_and_format_are_kept() -> None:
    assert torch.zeros(2, dtype=torch.float16, device="npu").dtype is torch.float16
    assert torch.empty(2, 3, 4, 5, device="npu", memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert torch.empty_strided((2, 3), (1, 2), device="npu").stride() == (1, 2)
    assert torch.zeros(2, device="npu", requires_grad=True).requires_grad


def test_sparse_tensors(native: bool) -> None:
    sparse = torch.eye(2).to_sparse().to("npu")
    assert sparse.layout is torch.sparse_coo
    assert sparse.device.type == ("npu" if native else "cpu")
    assert sparse.to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_device_context_and_default_device(npu: DeviceState) -> None:
    with torch.device("npu:2"):
        assert known_device(torch.zeros(1)) == 2
        assert torch.get_default_device() == torch.device("npu:2")
        assert torch.zeros(1, device="cpu").tolist() == [0.0]
        assert torch.ones(2).cpu().tolist() == torch.ones(2).to("cpu").tolist() == [1.0, 1.0]
    assert torch.get_default_device() == torch.device("cpu")
    assert known_device(torch.zeros(1)) is None
    torch.set_default_device("npu")
    try:
        npu.select_device(3)
        assert known_device(torch.ones(1)) == 3
        assert torch.get_default_device() == torch.device("npu:3")
        assert known_device(torch.nn.Linear(1, 1).weight) == 3
    finally:
        torch.set_default_device(None)


def test_a_device_without_index_is_the_current_one(npu: DeviceState) -> None:
    npu.select_device(5)
    assert known_device(torch.zeros(1, device="npu")) == 5
    assert known_device(torch.zeros(1).to("npu")) == known_device(torch.zeros(1).npu()) == 5
    assert known_device(torch.zeros(1).npu(1)) == known_device(torch.zeros(1).to(1)) == 1


@pytest.mark.sink_only
def test_generator_for_the_device_is_a_cpu_generator() -> None:
    generator = torch.Generator("npu").manual_seed(5)
    assert isinstance(generator, torch.Generator)
    assert isinstance(torch.default_generator, torch.Generator)
    assert not isinstance(5, torch.Generator)
    expected = torch.rand(3, generator=torch.Generator().manual_seed(5))
    assert torch.equal(torch.rand(3, generator=generator, device="npu"), expected)
    assert torch.Generator("npu:1").device == torch.Generator(device=torch.device("npu")).device == torch.device("cpu")


@pytest.mark.parametrize("create", [lambda: torch.zeros(1, device="npu:8"), lambda: torch.ones(1).to("npu:8")])
def test_a_device_that_is_not_there_is_named(create: object) -> None:
    with pytest.raises(RuntimeError, match=r"set device=8, valid device range is \[0, 8\)"):
        create()
