"""What is read from Kineto's tree of events where its list lacks it, beside the list of a release that has both."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from drynpu_torch import compat


def test_the_tree_has_the_python_calls_and_addresses_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.profiler.profile(with_stack=True, profile_memory=True) as profiler:
        torch.nn.Linear(3, 2)(torch.ones(4, 3))
    result = profiler.profiler.kineto_results
    events = result.events()
    assert compat.frames_beside_events(result, events) is None
    assert compat.allocations_of_tree(result) is None
    older = SimpleNamespace(_C=SimpleNamespace(_autograd=SimpleNamespace(_KinetoEvent=object)))
    monkeypatch.setattr(compat, "torch", older)
    frames = compat.frames_beside_events(result, events)
    assert frames is not None
    listed = sorted(
        (each.name(), each.start_ns(), each.device_resource_id()) for each in events if each.is_python_function()
    )
    linear = [row for row in listed if "linear.py" in row[0]]
    assert linear
    assert set(linear) <= set(zip(frames.names, frames.start_ns.tolist(), frames.thread.tolist(), strict=True))
    allocations = compat.allocations_of_tree(SimpleNamespace(experimental_event_tree=result.experimental_event_tree))
    assert allocations is not None
    reported = [each for each in events if each.name() == "[memory]"]
    assert sorted(allocations.size.tolist()) == sorted(each.nbytes() for each in reported)
    assert allocations.address.all()
