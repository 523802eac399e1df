"""
Megatron's own entry point trains on the NPU with MindSpeed and has the losses that it has on the CPU without it.

So does MindSpeed-LLM's. The caller names the checkouts:
``make test-packages MEGATRON=DIR MINDSPEED=DIR MINDSPEED_LLM=DIR``. Megatron prints seven digits of a loss and three
decimals of a norm.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

PRINTED = 2e-6
"""Losses: the last printed digit, and sums in another order."""
HALF = 1e-3
"""Losses in bfloat16, in which Megatron multiplies for groups of experts alone."""
SIZES = """
--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 32 --swiglu
--normalization RMSNorm --position-embedding-type rope --disable-bias-linear --vocab-size 4127 --transformer-impl local
--micro-batch-size 2 --global-batch-size 4 --train-iters 3 --lr 1e-3 --min-lr 1e-4 --weight-decay 0.01 --clip-grad 1.0
--mock-data --tokenizer-type NullTokenizer --split 100,0,0 --eval-iters 0 --eval-interval 1000 --log-interval 1
--attention-dropout 0 --hidden-dropout 0 --use-cpu-initialization --no-persist-layer-norm --no-masked-softmax-fusion
--no-bias-gelu-fusion --no-bias-dropout-fusion
"""
UNFUSED = "--no-bias-swiglu-fusion --no-rope-fusion --no-gradient-accumulation-fusion --distributed-backend gloo"
FUSED = """
--use-flash-attn --use-fused-rmsnorm --use-fused-swiglu --use-fused-rotary-pos-emb --no-gradient-accumulation-fusion
--distributed-backend nccl
"""
EXPERTS = """
--num-experts 4 --moe-router-topk 2 --moe-token-dispatcher-type alltoall --moe-router-load-balancing-type aux_loss
--moe-aux-loss-coeff 0.01 --moe-grouped-gemm --bf16
"""
SHARDED = "--tensor-model-parallel-size 2 --sequence-parallel"
STAGES = "--pipeline-model-parallel-size 2"
REQUIRED = """
--use-mcore-models --use-rotary-position-embeddings --save-interval 1000 --no-load-optim --no-load-rng
"""
"""What MindSpeed-LLM wants besides."""


def find_checkout(name: str) -> Path:
    folder = os.environ.get(name)
    if not folder:
        pytest.skip(f"{name} is not set: make test-packages MEGATRON=DIR MINDSPEED=DIR (docs/packages.md)")
    return Path(folder)


@pytest.fixture
def train(plain: Any, simulated: Any) -> Any:
    """Return a function that trains on the CPU or on the NPU, with one process or several."""
    megatron, mindspeed = find_checkout("MEGATRON"), find_checkout("MINDSPEED")

    def run(device: str, options: str, port: int, processes: int = 1, entry: Path = megatron) -> Any:
        words = [str(entry / "pretrain_gpt.py"), *SIZES.split(), *options.split()]
        variables = {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "PYTHONPATH": str(megatron)}
        launcher: tuple[str, ...] = ()
        if processes == 1:
            variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "0", "WORLD_SIZE": "1"}
            variables["LOCAL_RANK"] = "0"
        else:
            torchrun = ("torch.distributed.run", "--nproc_per_node", str(processes), "--master_port", str(port))
            launcher = ("-m", *torchrun) if device == "npu" else ("python", "-m", *torchrun)
        if device == "npu":
            variables["PYTHONPATH"] = os.pathsep.join(map(str, dict.fromkeys((entry, mindspeed, megatron))))
            return simulated("megatron_gpt.py", *words, launcher=launcher, **variables)
        variables["TORCHDYNAMO_DISABLE"] = "1"
        return plain("megatron_gpt.py", *words, launcher=launcher or ("python",), **variables)

    return run


def assert_same(cpu: Any, npu: Any, launched: int, within: float = PRINTED) -> None:
    assert (cpu.result["device"], npu.result["device"]) == ("cpu", "npu")
    assert len(cpu.result["losses"]) == 3
    assert npu.result["losses"] == pytest.approx(cpu.result["losses"], rel=within)
    assert npu.result["norms"] == pytest.approx(cpu.result["norms"], rel=10 * within, abs=1.1e-3)
    assert len(npu.profiles) == launched
    assert npu.unmapped == {}


def test_a_rank_has_the_losses_of_the_cpu(train: Any) -> None:
    cpu, npu = train("cpu", UNFUSED, 29700), train("npu", FUSED, 29701)
    assert_same(cpu, npu, 1)
    assert {"FlashAttentionScoreGrad", "RmsNormGrad", "SwiGluGrad", "RotaryPositionEmbeddingGrad"} <= npu.kernel_types


def test_a_rank_with_experts_has_the_losses_of_the_cpu(train: Any) -> None:
    cpu, npu = train("cpu", UNFUSED + EXPERTS, 29702), train("npu", FUSED + EXPERTS, 29703)
    assert_same(cpu, npu, 1, HALF)
    assert {"GroupedMatmul", "TopKV2"} <= npu.kernel_types


@pytest.mark.parametrize("division", [SHARDED, STAGES], ids=["tensors", "stages"])
def test_two_ranks_have_the_losses_of_two_processes_on_the_cpu(train: Any, division: str) -> None:
    port = 29710 + 2 * len(division) % 50
    # PyTorch's norm, which stands in for a CUDA kernel there, does not know of parts of a sequence.
    of_cpu = f"{UNFUSED} {division}".replace(" --sequence-parallel", "")
    cpu, npu = train("cpu", of_cpu, port, 2), train("npu", f"{FUSED} {division}", port + 1, 2)
    assert_same(cpu, npu, 2)
    assert any(name.startswith("hcom_") for name in npu.kernel_types)


def test_mindspeed_llm_has_the_losses_of_megatron_on_the_cpu(train: Any) -> None:
    entry = find_checkout("MINDSPEED_LLM")
    cpu, npu = train("cpu", UNFUSED, 29704), train("npu", FUSED + REQUIRED, 29705, entry=entry)
    assert_same(cpu, npu, 1)
    assert {"FlashAttentionScoreGrad", "RmsNormGrad", "SwiGluGrad", "RotaryPositionEmbeddingGrad"} <= npu.kernel_types
