"""Copies: what is new memory, what is the same tensor, what autograd sees, and what Kineto records."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from drynpu_torch.device import COPY_TO_HOST, DeviceState, known_device

H2D = ("aten::_to_copy", (("aten::empty_strided", (("aten::empty_strided", ()),)), ("aten::copy_", ())))
"""What the capture recognises a copy to the sink by: our empty_strided around the CPU's."""
NATIVE_H2D = ("aten::_to_copy", (("aten::empty_strided", ()), ("aten::copy_", (("drynpu::to_device", ()),))))
"""What the native device shows instead: a range inside the copy."""


def _names(tree: tuple[tuple[str, tuple], ...]) -> list[str]:
    return [name for node in tree for name in (node[0], *_names(node[1]))]


@pytest.mark.parametrize(
    "copy",
    [
        lambda t: t.npu(),
        lambda t: t.npu("npu:1"),
        lambda t: t.npu(non_blocking=True),
        lambda t: t.to("npu"),
        lambda t: t.to("npu:0", non_blocking=True),
        lambda t: t.to(torch.device("npu", 1)),
        lambda t: t.to(device="npu"),
        lambda t: t.to("npu", torch.float16),
        lambda t: t.to(0),
        lambda t: torch.tensor([1.0, 2.0], device="npu"),
    ],
)
def test_copy_to_the_device_shows_as_the_nest(
    copy: Callable[[torch.Tensor], torch.Tensor], traced: Callable, native: bool
) -> None:
    host = torch.tensor([1.0, 2.0])
    made: list[torch.Tensor] = []
    tree = traced(lambda: made.append(copy(host)))
    assert str(NATIVE_H2D if native else H2D) in str(tree)
    assert made[0].tolist() == [1.0, 2.0]
    assert made[0].data_ptr() != host.data_ptr()


def test_a_module_moves_once_and_keeps_its_parameters(traced: Callable) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    parameters, values = list(module.parameters()), [p.tolist() for p in module.parameters()]
    count = len(module.state_dict())
    first = traced(lambda: module.to("npu"))
    second = traced(lambda: (module.to("npu"), module.npu(), module.to(torch.device("npu:0"))))
    assert _names(first).count("aten::_to_copy") == count
    assert "aten::_to_copy" not in _names(second)
    assert all(a is b for a, b in zip(parameters, module.parameters(), strict=True))
    assert [p.tolist() for p in module.parameters()] == values
    assert {known_device(p) for p in module.parameters()} == {0}


def test_what_is_on_the_device_comes_back_itself() -> None:
    there = torch.ones(4, 2).npu()
    view = there.view(-1)[2:]
    assert there.to("npu") is there
    assert there.npu(0) is there
    assert view.to(torch.device("npu:0")) is view
    assert there.detach().to("npu").data_ptr() == there.data_ptr()
    assert there.to("npu", copy=True).data_ptr() != there.data_ptr()
    half = there.to("npu", torch.float16)
    assert half.dtype is torch.float16
    assert half.to("npu") is half
    elsewhere = there.to("npu:1")
    assert elsewhere.data_ptr() != there.data_ptr()
    assert known_device(elsewhere) == 1


@pytest.mark.parametrize(
    "copy",
    [
        lambda t: t.cpu(),
        lambda t: t.to("cpu"),
        lambda t: t.to(device="cpu"),
        lambda t: t.to("cpu", torch.float32),
        lambda t: t.to("cpu", non_blocking=True),
    ],
)
def test_copy_to_the_host_is_new_memory_and_annotated_while_recording(
    copy: Callable[[torch.Tensor], torch.Tensor], traced: Callable, npu: DeviceState, recorded: object, native: bool
) -> None:
    there = torch.tensor([1.0, 2.0]).npu()
    made: list[torch.Tensor] = []
    tree = traced(lambda: made.append(copy(there)))
    host = made[0]
    assert host.data_ptr() != there.data_ptr()
    assert host.tolist() == [1.0, 2.0]
    assert known_device(host) is None
    if native:  # its copies have the range always
        assert _names(tree).count("drynpu::to_host") == 1
        return
    annotated = [node for node in tree if node[0] == COPY_TO_HOST]
    assert len(annotated) == 1
    assert [child[0] for child in annotated[0][1]] == ["aten::clone"]
    npu.recorder = None
    assert COPY_TO_HOST not in _names(traced(lambda: copy(there)))
    assert copy(there).data_ptr() != there.data_ptr()


def test_copy_to_the_host_converts(recorded: object) -> None:
    there = torch.tensor([1.25, 2.5]).npu()
    assert there.to("cpu", torch.int32).tolist() == [1, 2]
    assert there.to("cpu", dtype=torch.float16).dtype is torch.float16
    image = torch.arange(24.0).view(1, 2, 3, 4).npu().contiguous(memory_format=torch.channels_last)
    assert image.cpu().is_contiguous(memory_format=torch.channels_last)
    assert image.cpu(memory_format=torch.contiguous_format).is_contiguous()
    assert image.to("cpu", memory_format=torch.contiguous_format).is_contiguous()


@pytest.mark.parametrize("recording", [False, True])
def test_gradients_flow_through_copies_both_ways(npu: DeviceState, recorded: object, recording: bool) -> None:
    npu.recorder = recorded if recording else None
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ((x.npu() * 2).cpu() ** 2).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]
    x.grad = None
    (x.to("npu").square().to("cpu", torch.float64) * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0, 18.0]
    assert x.grad.dtype is torch.float32


def test_the_other_forms_of_to_are_pytorchs_own() -> None:
    x = torch.ones(2)
    assert x.to(torch.float64).dtype is torch.float64
    assert x.to(torch.float32) is x
    assert x.to(torch.zeros(1, dtype=torch.int8)).dtype is torch.int8
    assert x.to(dtype=torch.int16).dtype is torch.int16
    assert x.to("meta").device.type == "meta"
    assert x.to(device=None) is x
    assert x.to(torch.float32, copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="device"):
        x.to("gpu")
    with pytest.raises(NotImplementedError):
        torch.ones(2, device="meta").cpu()


def test_subclasses_keep_their_type() -> None:
    class Own(torch.Tensor):
        pass

    own = torch.ones(2).as_subclass(Own)
    assert type(own.npu()) is type(own.to("npu")) is type(own.cpu()) is type(own.to("cpu")) is Own


def test_pinned_memory_is_a_copy_that_knows_it() -> None:
    host = torch.tensor([1.0, 2.0])
    pinned = host.pin_memory()
    assert pinned.tolist() == [1.0, 2.0]
    assert pinned.data_ptr() != host.data_ptr()
    assert pinned.is_pinned()
    assert pinned.pin_memory() is pinned
    assert not host.is_pinned()
    assert known_device(pinned.to("npu", non_blocking=True)) == 0


def test_packed_sequences_move() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    assert packed.to("npu").data.tolist() == [1.0, 3.0, 2.0]
    assert packed.npu().data.tolist() == [1.0, 3.0, 2.0]
