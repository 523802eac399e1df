"""The places of tokens in the cache of keys and values."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from drynpu_vllm_ascend.served import ServedOperator, Work


def _compute_slot_mapping(
    num_tokens: int,
    max_num_tokens: int,
    query_start_loc_ptr: Tensor,
    positions_ptr: Tensor,
    block_table_ptr: Tensor,
    block_size: int,
    slot_mapping_ptr: Tensor,
    kv_cache_block_size: int,
    total_cp_world_size: int,
    total_cp_rank: int,
    cp_kv_cache_interleave_size: int,
    pad_id: int,
) -> None:
    """Write the slot of every token, and *pad_id* behind them and for tokens of other ranks."""
    lengths = query_start_loc_ptr.diff().long()
    requests = torch.arange(len(lengths)).repeat_interleave(lengths)
    count = min(num_tokens, len(requests))
    requests, positions = requests[:count], positions_ptr[:count].long()
    stripe = kv_cache_block_size * total_cp_world_size
    within = positions % stripe
    turn = within // cp_kv_cache_interleave_size
    local = turn // total_cp_world_size * cp_kv_cache_interleave_size + within % cp_kv_cache_interleave_size
    columns = positions // stripe * (kv_cache_block_size // block_size) + local // block_size
    if total_cp_world_size == 1:
        columns, local = positions // block_size, positions % block_size
    blocks = block_table_ptr[requests, columns.clamp(max=block_table_ptr.shape[1] - 1)].long()
    slots = blocks * block_size + local % block_size
    slots = torch.where(turn % total_cp_world_size == total_cp_rank, slots, pad_id)
    slot_mapping_ptr[:count] = slots.to(slot_mapping_ptr.dtype)
    slot_mapping_ptr[num_tokens:max_num_tokens] = pad_id


def _nothing() -> None:
    """Return the result of a kernel whose only effect are values."""


def _per_token(
    num_tokens: int, query_start_loc_ptr: Tensor, positions_ptr: Tensor, block_table_ptr: Tensor, block_size: int
) -> Work:
    """Return the work: ten integer operations for each token, and a row of the table for each request."""
    rows = min(len(query_start_loc_ptr) - 1, len(block_table_ptr))
    table = rows * -(-num_tokens // max(1, block_size)) * block_table_ptr.element_size()
    return Work(vector_ops=10 * num_tokens, read=num_tokens * positions_ptr.element_size() + table)


KERNELS: Final = (
    ServedOperator(
        schema="_compute_slot_mapping_kernel(int num_tokens, int max_num_tokens, Tensor query_start_loc_ptr,"
        " Tensor positions_ptr, Tensor block_table_ptr, int block_table_stride, int block_size,"
        " Tensor(a!) slot_mapping_ptr, int kv_cache_block_size, int total_cp_world_size,"
        " int total_cp_rank, int cp_kv_cache_interleave_size, int pad_id) -> ()",
        compute=_compute_slot_mapping,
        kernel="_compute_slot_mapping_kernel",
        cost=_per_token,
        shapes=_nothing,
    ),
)
