"""Trains a small Llama or ChatGLM2 of MindFormers for three steps: ``language_models.py MODE NAME [flash]``."""

from __future__ import annotations

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn

ms.set_context(mode=getattr(ms, f"{sys.argv[1]}_MODE"), device_target="Ascend")
from mindformers.models.glm2 import ChatGLM2Config, ChatGLM2ForConditionalGeneration  # noqa: E402
from mindformers.models.llama import LlamaConfig, LlamaForCausalLM  # noqa: E402
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler  # noqa: E402

FLASH = "flash" in sys.argv
COMMON = {
    "batch_size": 2,
    "seq_length": 16,
    "hidden_size": 64,
    "num_layers": 2,
    "vocab_size": 100,
    "use_flash_attention": FLASH,
    "compute_dtype": "float16" if FLASH else "float32",
    "layernorm_compute_type": "float32",
    "param_init_type": "float32",
    "use_past": False,
}


def network(name):
    """Return a network, and what it takes beside the words."""
    if name == "llama":
        types = {"softmax_compute_type": "float32", "rotary_dtype": "float32"}
        return LlamaForCausalLM(LlamaConfig(**COMMON, **types, num_heads=4, n_kv_heads=2)), 17, 1
    sizes = {"num_attention_heads": 4, "ffn_hidden_size": 128, "kv_channels": 16, "padded_vocab_size": 100}
    queries = {"multi_query_attention": True, "multi_query_group_num": 2}
    return ChatGLM2ForConditionalGeneration(ChatGLM2Config(**COMMON, **sizes, **queries)), 16, 2


net, length, inputs = network(sys.argv[2])
step = nn.TrainOneStepCell(net, nn.AdamWeightDecay(net.trainable_params(), 1e-3))
step.set_train()
words = ms.Tensor(np.random.default_rng(0).integers(1, 100, (2, length)), ms.int32)
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler("profiled/model")):
    losses = [float(np.asarray(step(*[words] * inputs).asnumpy()).reshape(-1)[0]) for _ in range(3)]
print("losses=" + json.dumps(losses), flush=True)
