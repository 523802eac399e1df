"""Trains a small Llama of MindFormers, whole or by its own strategies: ``split_language_model.py whole|split``."""

from __future__ import annotations

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.communication import get_group_size, init

SPLIT = sys.argv[1] == "split"
ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
RANKS = 1
if SPLIT:
    init()
    RANKS = get_group_size()
    ms.set_auto_parallel_context(
        parallel_mode="semi_auto_parallel", device_num=RANKS, full_batch=True, enable_parallel_optimizer=True
    )
from mindformers.models.llama import LlamaConfig, LlamaForCausalLM  # noqa: E402
from mindformers.modules.transformer.transformer import TransformerOpParallelConfig  # noqa: E402
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler  # noqa: E402

TYPES = ("compute_dtype", "layernorm_compute_type", "param_init_type", "softmax_compute_type", "rotary_dtype")
SIZES = {"batch_size": 2, "seq_length": 16, "hidden_size": 64, "num_layers": 2, "vocab_size": 100, "num_heads": 4}
config = LlamaConfig(
    **SIZES,
    **dict.fromkeys(TYPES, "float32"),
    n_kv_heads=2,
    use_flash_attention=False,
    use_past=False,
    parallel_config=TransformerOpParallelConfig(data_parallel=1, model_parallel=RANKS),
)
net, random = LlamaForCausalLM(config), np.random.default_rng(5)
for parameter in net.get_parameters():
    if parameter.ndim > 1:
        parameter.set_data(ms.Tensor((random.normal(size=parameter.shape) * 0.05).astype(np.float32)))
step = nn.TrainOneStepCell(net, nn.AdamWeightDecay(net.trainable_params(), 1e-3))
step.set_train()
words = ms.Tensor(random.integers(1, 100, (2, 17)), ms.int32)
level = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(experimental_config=level, on_trace_ready=tensorboard_trace_handler("profiled/model")):
    losses = [float(np.asarray(step(words).asnumpy()).reshape(-1)[0]) for _ in range(3)]
print("losses=" + json.dumps(losses), flush=True)
