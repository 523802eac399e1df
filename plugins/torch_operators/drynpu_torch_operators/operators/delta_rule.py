"""Linear attention by the gated delta rule: a state for each head that every token changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import torch
from torch import Tensor

from drynpu.kernels import TaskType
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import bounds
from drynpu_torch_operators.operators._launch import Launch
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Launches, NpuOperator
from drynpu_torch_operators.operators._values import even_shares, integers, running_ends

SCHEMAS = """
npu_chunk_gated_delta_rule(Tensor query, Tensor key, Tensor value, *, Tensor? beta=None, Tensor? initial_state=None,
    Tensor? actual_seq_lengths=None, float? scale=None, Tensor? g=None) -> (Tensor, Tensor)
npu_recurrent_gated_delta_rule(Tensor query, Tensor key, Tensor value, Tensor(a!) state, *, Tensor? beta=None,
    float? scale=None, Tensor? actual_seq_lengths=None, Tensor? ssm_state_indices=None,
    Tensor? num_accepted_tokens=None, Tensor? g=None, Tensor? gk=None) -> Tensor
npu_recurrent_gated_delta_rule_functional(Tensor query, Tensor key, Tensor value, Tensor state, *,
    Tensor? beta=None, float? scale=None, Tensor? actual_seq_lengths=None, Tensor? ssm_state_indices=None,
    Tensor? num_accepted_tokens=None, Tensor? g=None, Tensor? gk=None) -> (Tensor, Tensor)
"""


def _sequences(call: Call) -> list[tuple[int, int]]:
    """Return begin and end of each sequence of tokens."""
    tokens, lengths = call["query"].shape[0], call["actual_seq_lengths"]
    if lengths is None:
        return [(0, tokens)]
    return bounds(running_ends(integers(lengths, even_shares(tokens, lengths.numel()))))


def _steps(call: Call, begin: int, end: int, state: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """
    Yield each token's number, its output [heads, value width] and the state behind it.

    A state is [heads, value width, key width]: S becomes a S + b (v - a S k) k with the token's decay a = exp(g), rate
    b, key k and value v, and the output is S q.
    """
    query, key, value = (wide(call[name]) for name in ("query", "key", "value"))
    scale = query.shape[-1] ** -0.5 if call["scale"] is None else call["scale"]
    shared = value.shape[1] // key.shape[1]
    for token in range(begin, end):
        one_key = key[token].repeat_interleave(shared, 0)
        if call["g"] is not None:
            state = state * wide(call["g"])[token].exp().reshape(-1, 1, 1)
        if call.arguments.get("gk") is not None:
            state = state * wide(call["gk"])[token].repeat_interleave(shared, 0).exp().unsqueeze(1)
        change = value[token] - torch.einsum("hvk,hk->hv", state, one_key)
        change = change if call["beta"] is None else change * wide(call["beta"])[token].unsqueeze(-1)
        state = state + torch.einsum("hv,hk->hvk", change, one_key)
        out = torch.einsum("hvk,hk->hv", state, query[token].repeat_interleave(shared, 0) * scale)
        yield token, out, state


def _chunk(call: Call) -> tuple[Tensor, Tensor]:
    text = "initial_state is needed, one [heads, value width, key width] for each sequence"
    errors.require(call["initial_state"] is not None, text)
    states, (out, final) = call["initial_state"], _chunk_shapes(call)
    for number, (begin, end) in enumerate(_sequences(call)):
        state = wide(states[number])
        for token, result, after in _steps(call, begin, end, state):
            out[token], state = result.to(out.dtype), after
        final[number] = state.to(final.dtype)
    return out, final


def _chunk_shapes(call: Call) -> tuple[Tensor, Tensor]:
    value = call["value"]
    return value.new_empty(value.shape, dtype=torch.bfloat16), torch.empty_like(call["initial_state"])


def _recurrent(call: Call, state: Tensor) -> Tensor:
    """Write the states behind the tokens to their places in *state*, and return the outputs."""
    out, source = _recurrent_shapes(call), state.clone()
    places, accepted = call["ssm_state_indices"], call["num_accepted_tokens"]
    for number, (begin, end) in enumerate(_sequences(call)):
        first = begin if accepted is None else begin + int(accepted[number]) - 1
        current = wide(source[number if places is None else int(places[first])])
        for token, result, after in _steps(call, begin, end, current):
            out[token] = result.to(out.dtype)
            state[number if places is None else int(places[token])] = after.to(state.dtype)
    return out


def _recurrent_shapes(call: Call) -> Tensor:
    value: Tensor = call["value"]
    return value.new_empty(value.shape, dtype=torch.bfloat16)


def _recurrent_functional(call: Call) -> tuple[Tensor, Tensor]:
    state = call["state"].clone()
    return _recurrent(call, state), state


def _kernel(name: str, state: str) -> Launches:
    """State one kernel that reads and writes a state for each sequence and passes over it with each token."""

    def kernels(call: Call) -> Iterable[Launch]:
        one = call[state][0].numel() * call[state].element_size()
        tokens, size = call["query"].shape[0], math.prod(call[state].shape[1:])
        moved = one * len(_sequences(call))
        others = sum(t.numel() * t.element_size() for t in call.inputs if t is not call[state])
        yield Launch(
            kernel=name,
            inputs=call.inputs,
            outputs=call.outputs,
            task=TaskType.MIX_AIC if name.startswith("Chunk") else TaskType.AI_VECTOR_CORE,
            cost=6,
            over=tokens * size,
            read=others + moved,
            written=call["value"].numel() * 2 + moved,
            flops=6 * tokens * size if name.startswith("Chunk") else 0,
            tiles=call[state].shape[1] * len(_sequences(call)),
        )

    return kernels


_TYPES = "bfloat16; gates float32"

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_chunk_gated_delta_rule": NpuOperator(
        compute=_chunk,
        shapes=_chunk_shapes,
        kernels=_kernel("ChunkGatedDeltaRule", "initial_state"),
        dtypes=_TYPES,
    ),
    "npu_recurrent_gated_delta_rule": NpuOperator(
        compute=lambda call: _recurrent(call, call["state"]),
        shapes=_recurrent_shapes,
        kernels=_kernel("RecurrentGatedDeltaRule", "state"),
        dtypes=_TYPES,
    ),
    "npu_recurrent_gated_delta_rule_functional": NpuOperator(
        compute=_recurrent_functional,
        shapes=lambda call: (_recurrent_shapes(call), torch.empty_like(call["state"])),
        kernels=_kernel("RecurrentGatedDeltaRule", "state"),
        dtypes=_TYPES,
    ),
}
