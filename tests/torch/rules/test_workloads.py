"""Four training workloads, run for real: everything that launches has a rule, nothing is counted twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from drynpu.kernels import DTYPES, FORMATS, TaskType

Step = Callable[[], object]


class Block(nn.Module):
    def __init__(self, width: int, heads: int, length: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
            scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
            y = self.drop(functional.softmax(scores, dim=-1)) @ v
        return self.drop(self.out(y.transpose(1, 2).contiguous().view(batch, length, width)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.first(x))
        return x + self.drop(self.down(functional.gelu(self.up(self.second(x)))))


class GPT(nn.Module):
    def __init__(self, *, fused: bool) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(8, 16)
        self.blocks = nn.ModuleList(Block(16, 2, 8, fused=fused) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 50, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        x = self.tokens(index) + self.places(torch.arange(index.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Residual(nn.Module):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(channels, out, 3, stride, 1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, 1, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.side = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.main(x) + self.side(x))


def resnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        Residual(8, 16, 2), nn.AdaptiveAvgPool2d((2, 2)), nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip


class LanguageModel(nn.Module):
    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.tokens = nn.Embedding(30, 8)
        self.rnn = kind(8, 12, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(12, 30)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.head(self.rnn(self.tokens(index))[0])


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 4))


def _tokens(model: nn.Module, vocabulary: int) -> Callable[[], torch.Tensor]:
    def loss() -> torch.Tensor:
        index = torch.randint(0, vocabulary, (2, 8))
        logits = model(index)
        return functional.cross_entropy(logits.view(-1, logits.size(-1)), index.view(-1), ignore_index=-1)

    return loss


def _classes(model: nn.Module, *shape: int) -> Callable[[], torch.Tensor]:
    def loss() -> torch.Tensor:
        logits = model(torch.randn(*shape))
        logits = logits.mean(dim=1) if logits.dim() > 2 else logits
        return functional.cross_entropy(logits, torch.tensor([0, 1]))

    return loss


def workload(name: str) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    torch.manual_seed(0)
    if name == "gpt":
        model = GPT(fused=True)
        return model, _tokens(model, 50)
    if name == "gpt_explicit":
        model = GPT(fused=False)
        return model, _tokens(model, 50)
    if name in {"lstm", "gru"}:
        model = LanguageModel(nn.LSTM if name == "lstm" else nn.GRU)
        return model, _tokens(model, 30)
    if name == "resnet":
        model = resnet()
        return model, _classes(model, 2, 3, 32, 32)
    model = encoder()
    return model, _classes(model, 2, 5, 16)


WORKLOADS = ("gpt", "gpt_explicit", "resnet", "lstm", "gru", "encoder")
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-4, foreach=False),
    "sgd_foreach": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-4, foreach=True),
    "sgd_fused": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, foreach=False),
    "adamw_foreach": lambda p: torch.optim.AdamW(p, foreach=True),
    "adamw_fused": lambda p: torch.optim.AdamW(p, fused=True),
    "adam": lambda p: torch.optim.Adam(p, weight_decay=0.01, foreach=False),
}


def training(name: str, optimizer: str) -> Step:
    """A step that has been run once, so that gradients and optimizer state exist."""
    model, loss = workload(name)
    steps = OPTIMIZERS[optimizer](model.parameters())

    def step() -> None:
        steps.zero_grad(set_to_none=optimizer != "sgd")
        value = loss()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.step()
        value.item()

    step()
    return step


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_is_mapped(record, optimizer: str) -> None:
    assert record(training("gpt", optimizer)).unmapped == []


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_mapped(record, name: str) -> None:
    recording = record(training(name, "adamw"))
    assert recording.unmapped == []
    assert len(recording.launches) > 50


def test_gradient_scaling_and_autocast_are_mapped(record) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4))
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1, foreach=False), torch.amp.GradScaler("cpu")
    x = torch.randn(2, 8)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = functional.mse_loss(model(x).float(), torch.zeros(2, 4))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

    step()
    recording = record(step)
    assert recording.unmapped == []
    casts = [k for k in recording.of("aten::_to_copy") if k.name == "aclnnCast_CastAiCore_Cast"]
    assert {k.outputs[0].dtype for k in casts} >= {"DT_BF16", "FLOAT"}
    assert all(k.inputs[0].dtype == "DT_BF16" for k in recording.of("aten::addmm"))
    assert recording.types["ForeachNonFiniteCheckAndUnscale"] == 1
    assert recording.types["AmpUpdateScale"] == 1


def test_inference_fast_path_of_the_encoder_is_mapped(record) -> None:
    model = encoder().eval()

    def run() -> None:
        with torch.no_grad():
            model(torch.zeros(2, 5, 16))

    recording = record(run)
    assert "aten::_transformer_encoder_layer_fwd" in recording.called()
    assert recording.unmapped == []


@pytest.mark.parametrize("name", ["gpt_explicit", "resnet", "gru", "encoder"])
def test_cube_operations_equal_the_flop_counter(record, name: str) -> None:
    model, loss = workload(name)
    with FlopCounterMode(display=False) as counter:
        loss().backward()
    model.zero_grad()
    recording = record(lambda: loss().backward())
    # The counter counts conv, mm, addmm, bmm; everything else on the cube unit would be ours alone.
    assert recording.cube_flops == counter.get_total_flops() > 0


def test_lstm_operations_by_hand(record) -> None:
    lstm = nn.LSTM(8, 12, num_layers=2)
    x = torch.randn(5, 3, 8, requires_grad=True)
    recording = record(lambda: lstm(x)[0].sum().backward())
    forward = 2 * 5 * 3 * 4 * 12 * ((8 + 12) + (12 + 12))
    assert recording.cube_flops == 3 * forward
    assert recording.types["DynamicRNN"] == recording.types["DynamicRNNGrad"] == 2
    assert all(
        k.task_type is TaskType.MIX_AIC for k in recording.of("aten::mkldnn_rnn_layer") if k.op_type == "DynamicRNN"
    )


@pytest.mark.parametrize("name", WORKLOADS)
def test_kernels_are_sane(record, name: str) -> None:
    for launch in record(training(name, "adamw_fused")).launches:
        kernel = launch.kernel
        work = kernel.cube_flops + kernel.vector_ops + kernel.bytes_read + kernel.bytes_written
        assert work > 0, launch
        assert min(kernel.cube_flops, kernel.vector_ops, kernel.bytes_read, kernel.bytes_written) >= 0
        assert kernel.bytes_read <= sum(t.size_bytes for t in kernel.inputs)
        assert (kernel.cube_flops > 0) == (kernel.task_type in {TaskType.AI_CORE, TaskType.MIX_AIC})
        assert (kernel.cube_tiles > 0) == (kernel.cube_flops > 0)
        assert all(t.dtype in DTYPES and t.format in FORMATS for t in (*kernel.inputs, *kernel.outputs))
        assert kernel.op_type in kernel.name


def test_one_matmul_per_linear(record) -> None:
    linear, x = nn.Linear(16, 32), torch.randn(4, 7, 16)
    recording = record(lambda: linear(x))
    assert [launch.operator for launch in recording.launches] == ["aten::addmm"]
    kernel = recording.launches[0].kernel
    assert kernel.name == "aclnnAddmm_MatMulCommon_MatMulV2"
    assert kernel.cube_flops == 2 * 28 * 16 * 32
    assert [t.shape for t in kernel.inputs] == [(28, 16), (16, 32), (32,)]
    assert [t.shape for t in kernel.outputs] == [(28, 32)]
    assert kernel.bytes_read == 4 * (28 * 16 + 16 * 32 + 32)
    assert not kernel.hf32


def test_item_copies_once_and_waits(record) -> None:
    value = torch.ones(())
    recording = record(value.item)
    assert recording.called() >= {"aten::item", "aten::_local_scalar_dense"}
    assert [(k.task_type, k.bytes_read) for k in recording.of("aten::item")] == [(TaskType.MEMCPY, 4)]
    assert len(recording.launches) == 1
