"""Kernels of inference: what a run simulates from the values of its calls, `predict` finds from their shapes alone."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import pytest

from drynpu.kernels import estimate
from drynpu.platforms import load_chip
from drynpu_calibration import described_kernel, task_type_of, tensors_of

SCRIPT = """
import torch, torch_npu

BF16, TOKENS, HEADS, KEY_HEADS, WIDTH = torch.bfloat16, 32, 32, 8, 128
rand = lambda *shape, dtype=BF16: torch.randn(*shape).to(dtype).npu()
x, gamma = rand(TOKENS, 4096), rand(4096)
key, value = rand(TOKENS, KEY_HEADS, WIDTH), rand(TOKENS, KEY_HEADS, WIDTH)
key_cache, value_cache = rand(96, 128, KEY_HEADS, WIDTH), rand(96, 128, KEY_HEADS, WIDTH)
slots = torch.arange(TOKENS, dtype=torch.int32).npu() * 128
table = (torch.arange(TOKENS * 3, dtype=torch.int32) % 96).reshape(TOKENS, 3).npu()
query, weight = rand(TOKENS, HEADS, WIDTH), rand(4096, 6144)
rows, experts = rand(64, 512), rand(16, 512, 768)
groups = torch.arange(4, 65, 4).npu()
narrow, scale = torch.randint(-5, 5, (4096, 1024), dtype=torch.int8).npu(), rand(1024)
whole, scores = torch.randint(-5, 5, (TOKENS, 4096), dtype=torch.int8).npu(), rand(TOKENS, 64)
words, wide = rand(TOKENS, 32000, dtype=torch.float32), rand(TOKENS, 12288)
turned, angle = rand(TOKENS, 1, HEADS, WIDTH), rand(TOKENS, 1, 1, WIDTH)
prompt, prompt_key = rand(1, HEADS, 512, WIDTH), rand(1, KEY_HEADS, 512, WIDTH)
mask = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1).npu()
out = torch.empty_like(query)
# One and a half of the three pages that each row of the table names: what predict assumes.
lengths = [192] * TOKENS
flat = 96, 128, KEY_HEADS * WIDTH

with torch_npu.profiler.profile(
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
    record_shapes=True,
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("."),
):
    torch_npu.npu_rms_norm(x, gamma)
    torch_npu.npu_add_rms_norm(x, x, gamma)
    torch_npu._npu_reshape_and_cache(
        key=key, value=value, key_cache=key_cache, value_cache=value_cache, slot_indices=slots
    )
    torch_npu._npu_paged_attention(
        query=query, key_cache=key_cache, value_cache=value_cache, num_kv_heads=KEY_HEADS, num_heads=HEADS,
        scale_value=0.088, block_table=table, context_lens=torch.tensor(lengths, dtype=torch.int32), out=out,
    )
    torch_npu.npu_fused_infer_attention_score(
        query.view(TOKENS, 1, -1), key_cache.view(flat), value_cache.view(flat), num_heads=HEADS, scale=0.088,
        num_key_value_heads=KEY_HEADS, input_layout="BSH", block_table=table, block_size=128,
        actual_seq_lengths_kv=lengths,
    )
    torch_npu.npu_fusion_attention(
        prompt, prompt_key, prompt_key, HEADS, "BNSD", atten_mask=mask, sparse_mode=2, scale=0.088
    )
    x @ weight
    torch_npu.npu_swiglu(wide)
    torch_npu.npu_dynamic_quant(x)
    torch_npu.npu_quant_matmul(whole, narrow, scale, output_dtype=BF16)
    torch_npu.npu_grouped_matmul([rows], [experts], group_list=groups, split_item=3, group_type=0, group_list_type=0)
    torch_npu.npu_moe_gating_top_k_softmax(scores, k=8)
    torch_npu.npu_rotary_mul(turned, angle, angle)
    torch.topk(words, 50)
    torch.sort(words)
    torch.softmax(words, -1)
"""
KERNELS = {
    *("RmsNorm", "AddRmsNorm", "ReshapeAndCacheNdKernel", "PagedAttentionMaskNdKernel", "FusedInferAttentionScore"),
    *("FlashAttentionScore", "MatMulV2", "SwiGlu", "DynamicQuant", "QuantBatchMatmulV3", "GroupedMatmul"),
    *("MoeGatingTopKSoftmax", "RotaryPositionEmbedding", "TopKV2", "Sort", "SoftmaxV2"),
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    folder = tmp_path_factory.mktemp("inference")
    environment = os.environ | {"KINETO_LOG_LEVEL": "99", "DRYNPU_CHIP": "Ascend910B2"}
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, check=True, capture_output=True, env=environment)
    (path,) = folder.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    with path.open() as file:
        return {row["Type"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("op_type", sorted(KERNELS))
def test_shapes_tell_what_the_run_took(kernels: dict[str, dict[str, str]], op_type: str) -> None:
    row = {name: text.strip('"') for name, text in kernels[op_type].items()}
    inputs, outputs = (
        tensors_of(row[f"{side} Shapes"], row[f"{side} Data Types"], row[f"{side} Formats"])
        for side in ("Input", "Output")
    )
    spec = described_kernel(op_type, task_type_of(row["Accelerator Core"]), inputs, outputs)
    # A launch differs by 4 %, a short one by 12 %, from the cost of its kernel.
    assert estimate(spec, load_chip("Ascend910B2")).us == pytest.approx(float(row["Duration(us)"]), rel=0.2)
