"""
Trains a small language model, whole or split over ranks: ``split_training.py FOLDER HOW``, in GRAPH mode.

HOW is ``whole`` (plain MindSpore on the CPU), ``strategies`` (semi-automatic, with a strategy for each operator),
``propagated`` (automatic, by sharding propagation), ``optimizer`` (strategies, and the optimizer is split as well) or
``wrapped`` (by ``AutoParallel``). Prints the losses; on Ascend there is a profile.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import get_group_size, init

WORDS, WIDTH, LENGTH, BATCH, STEPS = 24, 16, 6, 4, 3
folder, how = sys.argv[1:3]
ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU" if how == "whole" else "Ascend")
random = np.random.default_rng(4)
ranks = 1
if how != "whole":
    init()
    ranks = get_group_size()
rows, columns = max(ranks // 2, 1), min(ranks, 2)  # of the batch, and of the weights


def weight(name: str, *shape: int) -> Any:
    return ms.Parameter(ms.Tensor((random.normal(size=shape) / shape[0] ** 0.5).astype(np.float32)), name=name)


def split(operator: Any, *strategies: tuple[int, ...]) -> Any:
    return operator.shard(strategies) if how in ("strategies", "optimizer", "wrapped") else operator


# Plain MindSpore cannot run a graph with cells that are compiled once on the CPU.
compiled_once = ms.lazy_inline if how != "whole" else lambda function: function


class Block(nn.Cell):
    """Two products: the first one split by columns, the second one by rows."""

    @compiled_once
    def __init__(self, name: str) -> None:
        super().__init__()
        self.up, self.down = weight(f"{name}.up", WIDTH, 4 * WIDTH), weight(f"{name}.down", 4 * WIDTH, WIDTH)
        self.scale, self.shift = (
            ms.Parameter(ms.Tensor(np.ones(WIDTH, np.float32)), name=f"{name}.scale"),
            weight(f"{name}.shift", WIDTH),
        )
        self.norm = split(ops.LayerNorm(), (rows, 1), (1,), (1,))
        self.first = split(ops.MatMul(), (rows, 1), (1, columns))
        self.gelu = split(ops.GeLU(), (rows, columns))
        self.second = split(ops.MatMul(), (rows, columns), (columns, 1))
        self.add = split(ops.Add(), (rows, 1), (rows, 1))

    def construct(self, x: Any) -> Any:
        y = self.norm(x, self.scale, self.shift)[0]
        return self.add(x, self.second(self.gelu(self.first(y, self.up)), self.down))


class Embedding(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.gather = weight("words", WORDS, WIDTH), split(ops.Gather(), (1, 1), (rows,))

    def construct(self, tokens: Any) -> Any:
        return self.gather(self.words, tokens.reshape(-1), 0)


class Head(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.product = weight("head", WIDTH, WORDS), split(ops.MatMul(), (rows, 1), (1, columns))

    def construct(self, x: Any) -> Any:
        return self.product(x, self.weight)


class Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.CellList([Embedding(), Block("block0"), Block("block1"), Head()])

    def construct(self, tokens: Any) -> Any:
        x = tokens
        for part in self.parts:
            x = part(x)
        return x


class Loss(nn.Cell):
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network, self.loss = network, nn.CrossEntropyLoss()

    def construct(self, tokens: Any, labels: Any) -> Any:
        return self.loss(self.network(tokens), labels.reshape(-1))


def training() -> Any:
    network = Network()
    loss = Loss(network)
    optimizer = nn.Adam(network.trainable_params(), learning_rate=0.02)
    train = nn.TrainOneStepCell(loss, optimizer)
    train.set_train()
    return train


if how == "wrapped":
    from mindspore.parallel.auto_parallel import AutoParallel

    train = AutoParallel(training(), parallel_mode="semi_auto")
    train.dataset_strategy("full_batch")
else:
    if how != "whole":
        ms.set_auto_parallel_context(
            parallel_mode="auto_parallel" if how == "propagated" else "semi_auto_parallel",
            search_mode="sharding_propagation",
            device_num=ranks,
            full_batch=True,
            enable_parallel_optimizer=how == "optimizer",
            **({"parallel_optimizer_config": {"parallel_optimizer_threshold": 0}} if how == "optimizer" else {}),
        )
    train = training()
batches = [ms.Tensor(random.integers(0, WORDS, (BATCH, LENGTH)).astype(np.int32)) for _ in range(STEPS + 1)]


def run() -> list[float]:
    return [float(train(*batches[at : at + 2]).asnumpy()) for at in range(STEPS)]


if how == "whole":
    losses = run()
else:
    from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
    with profile(on_trace_ready=tensorboard_trace_handler(folder), experimental_config=config):
        losses = run()
print("losses=" + json.dumps(losses), flush=True)
