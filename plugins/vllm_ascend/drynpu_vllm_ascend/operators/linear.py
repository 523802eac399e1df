"""The convolution in front of linear attention (Gated DeltaNet), with the last rows of each sequence as its state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import torch
from torch import Tensor

from drynpu import CaptureError
from drynpu_vllm_ascend.operators._int8 import size_bytes
from drynpu_vllm_ascend.served import Arguments, ServedOperator, Work

_UPDATE: Final = 1
"""The mode of decoding, in which every sequence has a state."""
_ACTIVATION_OPS: Final = 6
"""Element operations of the bias and of SiLU, as drynpu.kernels.ops.activation has them for an exponential function."""


def _causal_conv1d(arguments: Arguments) -> Tensor:
    """Write the convolution of each sequence's rows, and its last rows into its slot."""
    x, output, states = arguments["x"], arguments["output"], arguments["conv_state"]
    if arguments["num_accepted_tokens_opt"] is not None:
        name = "torch.ops._C_ascend.npu_causal_conv1d_custom"
        raise CaptureError(f"{name}: drynpu does not compute speculation (num_accepted_tokens)")
    weight, bias = arguments["weight"].float(), arguments["bias_opt"]
    before = len(weight) - 1
    for number, slot, rows in _sequences(arguments):
        state = states[slot, :before].float()
        if not _has_state(arguments, number):
            state = torch.zeros_like(state)
        joined = torch.cat((state, x[rows].float()))
        total = sum(joined[tap : tap + len(x[rows])] * weight[tap] for tap in range(before + 1))
        total = total if bias is None else total + bias.float()
        output[rows] = (total * total.sigmoid() if arguments["activation_mode"] else total).to(output.dtype)
        states[slot, :before] = joined[len(joined) - before :].to(states.dtype)
    return output  # type: ignore[no-any-return]


def _sequences(arguments: Arguments) -> Iterator[tuple[int, int, slice]]:
    """Yield the number, the slot and the rows of each sequence that has some; of one without a slot nothing is done."""
    starts, slots = arguments["query_start_loc_opt"], arguments["cache_indices_opt"]
    ends = list(range(len(arguments["x"]) + 1)) if starts is None else [int(start) for start in starts.tolist()]
    for number, (begin, end) in enumerate(itertools.pairwise(ends)):
        slot = number if slots is None else int(slots[number])
        if end > begin and slot != arguments["pad_slot_id"]:
            yield number, slot, slice(begin, end)


def _has_state(arguments: Arguments, number: int) -> bool:
    known = arguments["initial_state_mode_opt"]
    return arguments["run_mode"] == _UPDATE if known is None else bool(known[number])


def _output(output: Tensor) -> Tensor:
    return output


def _conv_work(
    x: Tensor, weight: Tensor, conv_state: Tensor, query_start_loc_opt: Tensor | None, bias_opt: Tensor | None
) -> Work:
    """Return the work: a product and a sum for each tap, and the state of each sequence read and written."""
    count = len(x) if query_start_loc_opt is None else len(query_start_loc_opt) - 1
    states = count * (len(weight) - 1) * x.shape[-1] * conv_state.element_size()
    return Work(
        vector_ops=(2 * len(weight) + _ACTIVATION_OPS) * x.numel(),
        read=size_bytes(x, weight, bias_opt) + states,
        written=size_bytes(x) + states,
    )


OPERATORS: Final = (
    ServedOperator(
        schema="npu_causal_conv1d_custom(Tensor(a!) output, Tensor x, Tensor weight, Tensor(b!) conv_state,"
        " Tensor? bias_opt, Tensor? query_start_loc_opt, Tensor? cache_indices_opt, Tensor? initial_state_mode_opt,"
        " Tensor? num_accepted_tokens_opt, int activation_mode, int pad_slot_id, int run_mode) -> Tensor(a!)",
        compute=_causal_conv1d,
        kernel="CausalConv1d",
        cost=_conv_work,
        shapes=_output,
    ),
)
