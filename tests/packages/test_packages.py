"""
Each package does on the simulated NPU what it does on the CPU, without a change of the script.

Losses, weights and images are compared number by number. Where the vendor's path computes in another order (fused
attention in float16, fused optimizers) a tolerance says how far it may be away.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

ROUNDING = 1e-6
"""Sums in another order: of optimizers that take all parameters at once, and of what the CPU fuses."""


def assert_same(plain: Any, simulated: Any, *, within: float = ROUNDING, launched: int = 1) -> None:
    """Both runs have the same numbers, on the CPU and on the NPU; the profiles are whole."""
    assert (plain.result.pop("device"), simulated.result.pop("device")) == ("cpu", "npu")
    assert plain.result.keys() == simulated.result.keys()
    for name, expected in plain.result.items():
        assert simulated.result[name] == pytest.approx(expected, rel=within, abs=within), name
    assert len(simulated.profiles) == launched
    assert simulated.kernels > 20
    assert simulated.unmapped == {}


@pytest.mark.parametrize(
    ("options", "of_cpu", "within"),
    [
        ({}, {}, ROUNDING),
        ({"optim": "adamw_torch_npu_fused"}, {"optim": "adamw_torch"}, 1e-5),
        ({"bf16": True}, {"bf16": True, "use_cpu": True}, 2e-3),
        ({"fp16": True}, {}, 2e-3),
        ({"gradient_checkpointing": True}, {}, ROUNDING),
        ({"torch_compile": True, "torch_compile_backend": "aot_eager"}, {}, ROUNDING),
    ],
    ids=["adamw", "fused adamw", "bf16", "fp16", "checkpointing", "torch.compile"],
)
def test_transformers_trains(
    plain: Any, simulated: Any, options: dict[str, Any], of_cpu: dict[str, Any], within: float
) -> None:
    script = "transformers_trainer.py"
    assert_same(plain(script, json.dumps(of_cpu)), simulated(script, json.dumps(options)), within=within)


@pytest.mark.parametrize("attention", ["eager", "sdpa", "flash_attention_2"])
def test_transformers_generates(plain: Any, simulated: Any, attention: str) -> None:
    """``flash_attention_2`` is the operator of torch_npu, through transformers' integration."""
    runs = [run("transformers_generate.py", attention) for run in (plain, simulated)]
    tokens = [[line for line in run.text.splitlines() if line.startswith("TOKENS")] for run in runs]
    assert [line.rpartition(" ")[0] for line in tokens[0]] == [line.rpartition(" ")[0] for line in tokens[1]]
    assert tokens[1][0].endswith(attention)
    assert_same(*runs, within=ROUNDING if attention == "eager" else 2e-3)


def test_accelerate_trains(plain: Any, simulated: Any) -> None:
    assert_same(plain("accelerate_loop.py"), simulated("accelerate_loop.py"))


def test_accelerate_launches_two_processes(plain: Any, simulated: Any) -> None:
    """The collectives of the CPU run are gloo's, the other run's hccl's."""
    # Without MPI `accelerate launch --cpu` starts one process, whatever --num_processes says.
    processes = ("torchrun", "--nproc_per_node", "2")
    alone = plain("accelerate_loop.py", launcher=processes, ACCELERATE_USE_CPU="true")
    launcher = ("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2")
    both = simulated("accelerate_loop.py", launcher=launcher)
    assert both.result["processes"] == 2
    assert_same(alone, both, launched=2)


def test_accelerate_describes_the_npu(execute: Callable[..., str]) -> None:
    text = execute("drynpu", "run", "--quiet", "-m", "accelerate.commands.accelerate_cli", "env")
    assert "CANN version: 9.0.0" in text
    assert "PyTorch accelerator: NPU" in text
    plain = execute("accelerate", "env")
    assert "PyTorch accelerator: " in plain
    assert "NPU" not in plain


@pytest.mark.parametrize(
    ("script", "within"),
    [
        ("peft_lora.py", ROUNDING),
        ("trl_sft.py", ROUNDING),
        ("diffusers_pipeline.py", 2e-3),
        ("lightning_fit.py", ROUNDING),
        ("sentence_embeddings.py", ROUNDING),
        ("mmengine_runner.py", ROUNDING),
    ],
)
def test_a_package_does_on_the_npu_what_it_does_on_the_cpu(
    plain: Any, simulated: Any, script: str, within: float
) -> None:
    assert_same(plain(script), simulated(script), within=within)


def test_timm_trains(plain: Any, simulated: Any) -> None:
    assert_same(*(run("timm_vision.py", beside="timm") for run in (plain, simulated)))


def test_torchtune_trains(plain: Any, simulated: Any) -> None:
    assert_same(*(run("torchtune_recipe.py", beside="torchao") for run in (plain, simulated)))


@pytest.mark.parametrize("stage", ["1", "2", "3"])
def test_deepspeed_shards(plain: Any, simulated: Any, stage: str) -> None:
    first = plain("deepspeed_zero.py", stage, MASTER_PORT=f"296{stage}0")
    assert_same(first, simulated("deepspeed_zero.py", stage, MASTER_PORT=f"296{stage}1"))


IMPORTS = """
import sys
if len(sys.argv) > 1:
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "FacadeFinder"]
import accelerate, deepspeed, diffusers, lightning, mmengine.runner, peft, sentence_transformers, trl
import diffusers.models.attention_processor, transformers.integrations.npu_flash_attention, trl.trainer.sft_trainer
from transformers.models.llama import modeling_llama
print(*sorted(name for name in sys.modules if "drynpu" not in name))
print("npu" in dir(__import__("torch")))
"""


def test_packages_import_the_same_modules_as_without_drynpu(execute: Callable[..., str]) -> None:
    beside, without = (execute("python", "-c", IMPORTS, *word) for word in ((), ("hidden",)))
    assert beside.splitlines()[-2:] == without.splitlines()[-2:]
    assert beside.splitlines()[-1] == "False"
    assert "torch_npu" not in beside.split()
