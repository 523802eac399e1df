"""Saving and loading, copying objects, and data loaders."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from drynpu_torch.device import known_device


def _saved(value: object, **how: object) -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(value, stream, **how)
    stream.seek(0)
    return stream


LOCATIONS = {
    "npu": ("npu", 0),
    "npu:1": ("npu:1", 1),
    "device": (lambda: torch.device("npu", 2), 2),
    "callable": (lambda: lambda storage, _: storage.npu(4), 4),
    "callable that stays": (lambda: lambda storage, _: storage, None),
    "mapping": ({"cpu": "npu:3", "npu:0": "npu:3"}, 3),
}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", LOCATIONS)
def test_map_location(name: str, legacy: bool, native: bool) -> None:
    location, expected = LOCATIONS[name]
    location = location() if callable(location) else location
    values = {"weight": torch.arange(6.0, device="npu").view(2, 3), "step": 4}
    loaded = torch.load(
        _saved(values, _use_new_zipfile_serialization=not legacy), map_location=location, weights_only=True
    )
    assert loaded["weight"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert loaded["step"] == 4
    assert known_device(loaded["weight"]) == expected


def test_a_checkpoint_from_a_real_npu_loads() -> None:
    stream = _saved({"weight": torch.arange(3.0)}, _use_new_zipfile_serialization=False)
    genuine = stream.getvalue().replace(b"X\x03\x00\x00\x00cpu", b"X\x05\x00\x00\x00npu:5")
    assert genuine != stream.getvalue()
    loaded = torch.load(io.BytesIO(genuine), weights_only=True)
    assert loaded["weight"].tolist() == [0.0, 1.0, 2.0]
    assert known_device(loaded["weight"]) == 5
    assert known_device(torch.load(io.BytesIO(genuine), map_location="cpu", weights_only=True)["weight"]) is None


def test_a_location_that_is_not_there_is_named(native: bool) -> None:
    ours, pytorchs = (
        r"set device=8, valid device range is \[0, 8\)",
        r"NPU device 8 but torch.npu.device_count\(\) is 8",
    )
    with pytest.raises(RuntimeError, match=pytorchs if native else ours):
        torch.load(_saved(torch.ones(1)), map_location="npu:8", weights_only=True)


def test_memory_mapped_loading(tmp_path: Path) -> None:
    torch.save({"weight": torch.arange(4.0)}, tmp_path / "w.pt")
    loaded = torch.load(tmp_path / "w.pt", map_location="npu:1", mmap=True, weights_only=True)
    assert loaded["weight"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert known_device(loaded["weight"]) == 1


def test_files_are_plain_pytorch_files(native: bool) -> None:
    there = torch.arange(4.0, device="npu")
    if native:
        assert b"npu:0" in _saved(there).getvalue()
        assert b"npu" not in _saved(there.cpu()).getvalue()
        return
    assert _saved(there).getvalue() == _saved(torch.arange(4.0)).getvalue()


def test_optimizer_and_module_state_round_trip() -> None:
    def make() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        module = torch.nn.Linear(3, 2).npu()
        return module, torch.optim.AdamW(module.parameters())

    module, optimizer = make()
    module(torch.ones(1, 3, device="npu")).sum().backward()
    optimizer.step()
    stream = _saved({"model": module.state_dict(), "optimizer": optimizer.state_dict()})
    other, other_optimizer = make()
    checkpoint = torch.load(stream, map_location="npu:0", weights_only=True)
    other.load_state_dict(checkpoint["model"])
    other_optimizer.load_state_dict(checkpoint["optimizer"])
    assert torch.equal(other.weight, module.weight)
    expected = optimizer.state[module.weight]["exp_avg"]
    assert torch.equal(other_optimizer.state[other.weight]["exp_avg"], expected)
    assert expected.abs().sum() > 0


def test_pickle_and_deepcopy(native: bool) -> None:
    there = torch.arange(3.0, device="npu")
    assert pickle.loads(pickle.dumps(there)).tolist() == [0.0, 1.0, 2.0]
    copied = copy.deepcopy(there)
    assert copied.tolist() == [0.0, 1.0, 2.0]
    assert copied.data_ptr() != there.data_ptr()
    places = known_device(copied), known_device(pickle.loads(pickle.dumps(there)))
    assert places == ((0, 0) if native else (None, None))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_pins_what_it_gives(workers: int) -> None:
    data = TensorDataset(torch.arange(8.0).view(4, 2), torch.arange(4))
    loader = DataLoader(data, batch_size=2, pin_memory=True, num_workers=workers)
    rows = []
    for features, labels in loader:
        assert features.is_pinned()
        assert labels.is_pinned()
        rows += features.npu(non_blocking=True).tolist()
    assert rows == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]


def test_a_loader_takes_the_device_to_pin_for() -> None:
    data = TensorDataset(torch.arange(4.0))
    with pytest.warns(UserWarning, match="pin_memory_device is deprecated"):
        batches = list(DataLoader(data, batch_size=2, pin_memory=True, pin_memory_device="npu"))
    assert [batch[0].tolist() for batch in batches] == [[0.0, 1.0], [2.0, 3.0]]
    assert all(batch[0].is_pinned() for batch in batches)
