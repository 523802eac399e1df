"""Where requests with drafted tokens go on."""

from __future__ import annotations

from typing import Final

from torch import Tensor

from drynpu_vllm_ascend.served import ServedOperator


def _prepare_inputs_padded(
    cu_num_draft_tokens_ptr: Tensor,
    valid_sampled_tokens_count_ptr: Tensor,
    query_start_loc_gpu_ptr: Tensor,
    token_indices_to_sample_ptr: Tensor,
    num_rejected_tokens_gpu_ptr: Tensor,
    num_reqs: int,
) -> None:
    """Write how many drafts of each request were rejected, and the position of its last accepted token."""
    ends = cu_num_draft_tokens_ptr[:num_reqs]
    drafts = ends.diff(prepend=ends.new_zeros(1))
    rejected = (drafts + 1 - valid_sampled_tokens_count_ptr[:num_reqs]) * (drafts > 0)
    token_indices_to_sample_ptr[:num_reqs] = query_start_loc_gpu_ptr[1 : num_reqs + 1] - 1 - rejected
    num_rejected_tokens_gpu_ptr[:num_reqs] = rejected


KERNELS: Final = (
    ServedOperator(
        schema="prepare_inputs_padded_kernel(Tensor cu_num_draft_tokens_ptr, Tensor valid_sampled_tokens_count_ptr,"
        " Tensor query_start_loc_gpu_ptr, Tensor(a!) token_indices_to_sample_ptr,"
        " Tensor(b!) num_rejected_tokens_gpu_ptr, int num_reqs) -> ()",
        compute=_prepare_inputs_padded,
        kernel="prepare_inputs_padded_kernel",
        cost=8,
    ),
)
