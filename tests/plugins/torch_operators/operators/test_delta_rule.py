"""The gated delta rule against its recurrence in FP64, one head and one token at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


def _inputs() -> dict[str, torch.Tensor]:
    torch.manual_seed(4)
    shapes = {"query": (5, 2, 6), "key": (5, 2, 6), "value": (5, 4, 3), "beta": (5, 4), "g": (5, 4)}
    return {name: torch.randn(shape) / (3 if name == "g" else 1) for name, shape in shapes.items()}


def _walk(x: dict[str, torch.Tensor], begin: int, end: int, state: torch.Tensor, scale: float) -> Any:
    """Return the outputs of the tokens, and the states behind each of them."""
    outs, states, state = [], [], state.double().clone()
    for t in range(begin, end):
        out = torch.zeros(4, 3, dtype=torch.double)
        for h in range(4):
            q, k, v = x["query"][t, h // 2].double(), x["key"][t, h // 2].double(), x["value"][t, h].double()
            decayed = state[h] * x["g"][t, h].double().exp()
            state[h] = decayed + x["beta"][t, h].double() * torch.outer(v - decayed @ k, k)
            out[h] = state[h] @ q * scale
        outs.append(out)
        states.append(state.clone())
    return torch.stack(outs), states


def test_chunks(check: Check) -> None:
    x, states, lengths = _inputs(), torch.randn(2, 4, 3, 6), torch.tensor([2, 3])
    parts = [_walk(x, b, e, states[n], 0.5) for n, (b, e) in enumerate(((0, 2), (2, 5)))]
    expected = torch.cat([part[0] for part in parts]), torch.stack([part[1][-1] for part in parts])
    options = {"beta": x["beta"], "g": x["g"], "initial_state": states, "actual_seq_lengths": lengths, "scale": 0.5}
    (kernel,) = check("npu_chunk_gated_delta_rule", (x["query"], x["key"], x["value"]), expected, **options)
    assert kernel.op_type == "ChunkGatedDeltaRule"
    with pytest.raises(RuntimeError, match="initial_state is needed"):
        npu.npu_chunk_gated_delta_rule(x["query"], x["key"], x["value"])


@pytest.mark.parametrize("accepted", [None, [2, 1]])
def test_one_state_for_each_token(kernels: Check, accepted: list[int] | None) -> None:
    x, state, places = _inputs(), torch.randn(6, 4, 3, 6), torch.tensor([5, 0, 2, 3, 1])
    begins, expected, outs = ((0, 2), (2, 5)), state.clone().double(), []
    for number, (begin, end) in enumerate(begins):
        first = begin if accepted is None else begin + accepted[number] - 1
        out, behind = _walk(x, begin, end, state[places[first]], 6**-0.5)
        outs.append(out)
        for token, one in zip(range(begin, end), behind, strict=True):
            expected[places[token]] = one
    options: dict[str, Any] = {"beta": x["beta"], "g": x["g"], "ssm_state_indices": places}
    options |= {"actual_seq_lengths": torch.tensor([2, 3])}
    if accepted is not None:
        options["num_accepted_tokens"] = torch.tensor(accepted)
    call = (x["query"], x["key"], x["value"])
    functional = npu.npu_recurrent_gated_delta_rule_functional(*call, state, **options)
    found: list[Any] = []
    (kernel,) = kernels(lambda: found.append(npu.npu_recurrent_gated_delta_rule(*call, state, **options)))
    assert kernel.op_type == "RecurrentGatedDeltaRule"
    torch.testing.assert_close(found[0].double(), torch.cat(outs), rtol=0.02, atol=0.02)
    torch.testing.assert_close(state.double(), expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(functional[0], found[0])
    assert torch.equal(functional[1], state)


def test_decay_by_channel() -> None:
    x, state = _inputs(), torch.zeros(1, 4, 3, 6)
    options = {"beta": torch.ones(5, 4), "scale": 1.0}
    call = (x["query"], x["key"], x["value"])
    plain = npu.npu_recurrent_gated_delta_rule(*call, state.clone(), g=torch.full((5, 4), -0.3), **options)
    channels = npu.npu_recurrent_gated_delta_rule(*call, state.clone(), gk=torch.full((5, 2, 6), -0.3), **options)
    assert torch.equal(plain, channels)
