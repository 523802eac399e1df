"""Linear attention's convolution and state, against PyTorch's convolution and a loop over tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from drynpu import CaptureError

Kernels = Callable[[Callable[[], object]], list[str]]
WIDTH, COLUMNS, SLOTS = 4, 6, 5
LENGTHS = (5, 0, 1, 3)
PLACES = torch.tensor([3, 1, -1, 0], dtype=torch.int32)
KNOWN = torch.tensor([True, True, True, False])


def _run(operators: Any, x: Tensor, weight: Tensor, states: Tensor, bias: Tensor | None, **options: Any) -> Tensor:
    starts = torch.tensor([0, *LENGTHS]).cumsum(0).int()
    places = {"query_start_loc_opt": starts, "cache_indices_opt": PLACES, "initial_state_mode_opt": KNOWN, **options}
    moved = {name: value.npu() if isinstance(value, Tensor) else value for name, value in places.items()}
    numbers = {"num_accepted_tokens_opt": None, "activation_mode": 1, "pad_slot_id": -1, "run_mode": 0}
    output = torch.zeros_like(x).npu()
    operators.npu_causal_conv1d_custom(
        output, x.npu(), weight.npu(), states, None if bias is None else bias.npu(), **{**numbers, **moved}
    )
    return output.cpu()


@pytest.mark.parametrize("biased", [False, True])
def test_each_sequence_goes_on_from_the_last_rows_of_its_slot(
    operators: Any, kernel_types: Kernels, biased: bool
) -> None:
    torch.manual_seed(8)
    x, weight = torch.randn(sum(LENGTHS), COLUMNS), torch.randn(WIDTH, COLUMNS)
    bias = torch.randn(COLUMNS) if biased else None
    before = torch.randn(SLOTS, WIDTH, COLUMNS)  # one row more than the convolution needs
    states = before.npu()
    output, begin = _run(operators, x, weight, states, bias), 0
    after = before.clone()
    for length, place, known in zip(LENGTHS, PLACES.tolist(), KNOWN.tolist(), strict=True):
        rows = x[begin : begin + length]
        if length and place >= 0:
            first = before[place, : WIDTH - 1] if known else torch.zeros(WIDTH - 1, COLUMNS)
            joined = torch.cat((first, rows)).T.unsqueeze(0)
            wanted = torch.nn.functional.conv1d(joined, weight.T.unsqueeze(1), bias, groups=COLUMNS)[0].T
            torch.testing.assert_close(output[begin : begin + length], torch.nn.functional.silu(wanted))
            after[place, : WIDTH - 1] = joined[0].T[-(WIDTH - 1) :]
        begin += length
    torch.testing.assert_close(states.cpu(), after)
    assert kernel_types(lambda: _run(operators, x, weight, states, bias)).count("CausalConv1d") == 1


def test_speculation_is_refused_and_shapes_are_known_without_values(operators: Any) -> None:
    x, weight, states = torch.randn(9, COLUMNS), torch.randn(WIDTH, COLUMNS), torch.randn(SLOTS, WIDTH, COLUMNS)
    with pytest.raises(CaptureError, match=r"npu_causal_conv1d_custom: drynpu does not compute speculation"):
        _run(operators, x, weight, states.npu(), None, num_accepted_tokens_opt=torch.ones(4, dtype=torch.int32))
    meta = [t.to("meta") for t in (x, x, weight, states)]
    assert operators.npu_causal_conv1d_custom(*meta, None, None, None, None, None, 1, -1, 1).shape == x.shape


def test_a_state_decays_and_learns_what_the_key_does_not_say_yet(operators: Any, kernel_types: Kernels) -> None:
    torch.manual_seed(9)
    tokens, heads, key_width, value_width = 3, 2, 4, 5
    query, key = (torch.nn.functional.normalize(torch.randn(tokens, 1, key_width), dim=-1) for _ in range(2))
    value, decay, rate = torch.randn(tokens, heads, value_width), -torch.rand(tokens, heads), torch.rand(tokens, heads)
    before = torch.randn(4, heads, value_width, key_width)
    places = torch.tensor([2, 0, 3], dtype=torch.int32)
    state = before.npu()
    call = lambda: operators.npu_recurrent_gated_delta_rule(  # noqa: E731
        query.npu(), key.npu(), value.npu(), state, beta=rate.npu(), scale=0.5, g=decay.npu(),
        actual_seq_lengths=torch.ones(tokens, dtype=torch.int32).npu(), ssm_state_indices=places.npu(),
    )  # fmt: skip
    output = call().cpu().float()
    for token, place in enumerate(places.tolist()):
        for head in range(heads):
            matrix = before[place, head] * decay[token, head].exp()
            error = value[token, head] - matrix @ key[token, 0]
            matrix = matrix + rate[token, head] * torch.outer(error, key[token, 0])
            torch.testing.assert_close(state[place, head].cpu(), matrix)
            torch.testing.assert_close(output[token, head], 0.5 * matrix @ query[token, 0], rtol=0.01, atol=0.01)
    assert kernel_types(call).count("RecurrentGatedDeltaRule") == 1
