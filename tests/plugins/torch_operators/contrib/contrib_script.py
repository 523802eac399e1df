"""Use every name of torch_npu.contrib.function and torch_npu.contrib.module, and print those that were right."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

warnings.simplefilter("ignore", FutureWarning)

import torch_npu  # noqa: E402
from torch_npu.contrib import function, module  # noqa: E402
from torch_npu.contrib.module import _ensemble_dropout, multihead_attention  # noqa: E402

torch.manual_seed(7)


def close(found: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(
        found.detach().cpu().double(), expected.detach().double(), rtol=tolerance, atol=tolerance
    )


def trained(layer: Any, plain: Callable[..., Any], *inputs: torch.Tensor, tolerance: float = 1e-5) -> None:
    """Compare results and gradients of inputs with a plain formula."""
    here = [x.clone().requires_grad_() for x in inputs]
    there = [x.clone().npu().requires_grad_() for x in inputs]
    for one, two in zip(_tuple(plain(*here)), _tuple(layer(*there)), strict=True):
        close(two, one, tolerance)
        grad = torch.randn(one.shape)
        one.backward(grad, retain_graph=True)
        two.backward(grad.npu(), retain_graph=True)
    for one, two in zip(here, there, strict=True):
        close(two.grad, one.grad, tolerance)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def refuses(kind: type[Exception], text: str, call: Callable[[], object]) -> None:
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}: {text}")


def boxes() -> None:
    first = torch.tensor([[10.0, 55, 85, 160]]).npu()
    second = torch.tensor([[18.0, 45, 80, 130], [38, 85, 70, 230]]).npu()
    expected = torch.tensor([[0.5474, 0.2373]])
    close(function.npu_iou(first, second, mode="iou"), expected, 1e-4)
    close(function.npu_ptiou(first / 100, second / 100, is_normalized=True), expected, 1e-4)
    refuses(ValueError, "Expected mode in [iou, ptiou]", lambda: function.npu_iou(first, second, mode="x"))
    one = torch.tensor([[0.0, 0, 10, 10], [10, 10, 20, 20], [32, 32, 38, 42]]).npu()
    two = torch.tensor([[0.0, 0, 10, 20], [0, 10, 10, 10], [10, 10, 20, 20]]).npu()
    close(function.npu_giou(one, two), torch.tensor([[0.5], [0.0111], [-0.2523]]), 1e-4)
    close(function.npu_giou(one.T, two.T, is_permuted=False), function.npu_giou(one, two).cpu())
    close(function.npu_diou(one.T, one.T), torch.ones(1, 3))
    close(function.npu_ciou(one.T, one.T), torch.ones(1, 3))
    print("npu_iou npu_ptiou npu_giou npu_diou npu_ciou")
    encoded = function.npu_bbox_coder_encode_xyxy2xywh(one, two)
    shifted = torch.tensor([0.0, 5 / 11, 0, math.log(21 / 11)])
    close(encoded[0], shifted, 1e-3)
    close(function.npu_bbox_coder_decode_xywh2xyxy(one, encoded)[0], two[0].cpu(), 2e-2)
    stride = torch.tensor([8, 8, 8]).npu()
    close(function.npu_bbox_coder_encode_yolo(one, two, stride)[0], torch.tensor([0.5, 1 - 1e-6, 0, math.log(2)]), 1e-4)
    print("npu_bbox_coder_encode_xyxy2xywh npu_bbox_coder_decode_xywh2xyxy npu_bbox_coder_encode_yolo")
    flags = function.npu_single_level_responsible_flags((2, 3), two.long(), (10, 20), 2)
    assert flags.cpu().tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0], flags
    scores = torch.tensor([[0.9, 0.1, 0.5], [0.2, 0.8, 0.5], [0.01, 0.6, 0.5]]).npu()
    found, labels = function.npu_multiclass_nms(one, scores, max_num=4)
    close(found[:, 4], torch.tensor([0.9, 0.8, 0.6, 0.2]), 1e-3)
    assert labels.tolist() == [0, 1, 1, 0]
    batch, classes = function.npu_batched_multiclass_nms(
        one[None].expand(2, 3, 4), scores[None].expand(2, 3, 3), max_num=4
    )
    close(batch, torch.stack([found, found]).cpu())
    assert classes.tolist() == [labels.tolist()] * 2
    print("npu_single_level_responsible_flags npu_multiclass_nms npu_batched_multiclass_nms")


def functions() -> None:
    x = torch.randn(3, 4)
    for value in (0, 1, 2.5):
        found = function.npu_fast_condition_index_put(x.npu(), (x < 0.5).npu(), value)
        close(found, x.masked_fill(x < 0.5, value))
    refuses(TypeError, "condition.dtype", lambda: function.npu_fast_condition_index_put(x, x, 0))
    trained(
        lambda t: function.roll(t, shifts=(-2, 1), dims=(1, 2)),
        lambda t: t.roll((-2, 1), (1, 2)),
        torch.randn(2, 4, 5, 3),
    )
    trained(function.matmul_transpose, lambda a, b: a @ b.mT, torch.randn(2, 3, 4), torch.randn(2, 5, 4))
    for shape in ((1, 2, 6, 8), (8, 4, 128, 16)):
        mask, scores = torch.randn(shape[0], 1, 1, shape[3]), torch.randn(shape)
        expected = (mask + scores / 8).softmax(-1)
        found = function.fuse_add_softmax_dropout(False, torch.nn.Dropout(0.0), mask.npu(), scores.npu(), 64)
        close(found, expected)
    half = function.dropout_with_byte_mask(torch.ones(1000).npu(), 0.5).cpu()
    assert set(half.tolist()) == {0.0, 2.0}
    assert 350 < half.count_nonzero() < 650
    assert module.DropoutWithByteMask(0.5).eval()(half) is half
    print("npu_fast_condition_index_put roll matmul_transpose fuse_add_softmax_dropout dropout_with_byte_mask")
    print("DropoutWithByteMask")


def fused_attention() -> None:
    hidden, batch, length = 768, 2, 16
    cast = torch_npu.npu_format_cast
    states, weights = torch.randn(batch * length, hidden), [torch.randn(hidden, hidden) / 30 for _ in range(3)]
    biases, mask = [torch.randn(hidden) for _ in range(3)], torch.randn(batch, 1, length, length)
    gamma, beta = torch.randn(hidden), torch.randn(hidden)

    def plain(x: torch.Tensor) -> torch.Tensor:
        layers = [
            (x @ w + b).reshape(batch, length, -1, 64).transpose(1, 2) for w, b in zip(weights, biases, strict=True)
        ]
        shares = (layers[0] @ layers[1].mT * 0.125 + mask).softmax(-1)
        return (shares @ layers[2]).transpose(1, 2).reshape(-1, hidden)

    wanted = [cast(t.npu(), 29) for t in (states, mask, *weights)] + [cast(b.npu(), 2) for b in biases]
    refuses(
        RuntimeError,
        "shape of hidden_states not matches",
        lambda: function.npu_fused_attention(wanted[0][:5], *wanted[1:], 0.125, 1.0),
    )
    close(function.npu_fused_attention(*wanted, 0.125, 1.0), plain(states), 1e-4)
    norm = F.layer_norm(states, (hidden,), gamma, beta)
    found = function.npu_fused_attention_with_layernorm(*wanted, gamma.npu(), beta.npu(), 0.125, 1.0)
    close(found[1], norm, 1e-4)
    close(found[0], plain(norm), 2e-3)
    print("npu_fused_attention npu_fused_attention_with_layernorm")


def layers() -> None:
    x = torch.randn(4, 6, 5)
    trained(module.Mish(), F.mish, x)
    trained(module.SiLU(), F.silu, x)
    assert module.Swish is module.SiLU
    scores, labels = torch.randn(5, 4), torch.tensor([0, 3, 1, 1, 2])
    smooth = torch.full((5, 4), 0.1 / 3).scatter(1, labels[:, None], 0.9)
    loss = module.LabelSmoothingCrossEntropy(4, 0.1)
    trained(lambda t: loss(t, target=labels.npu()), lambda t: -(smooth * t.log_softmax(1)).sum(1).mean(), scores)
    shuffled = [torch.stack(torch.cat([x[:, :3], x[:, 3:]], 1).chunk(2, 1), 2).flatten(1, 2)]
    layer = module.ChannelShuffle(6, split_shuffle=False)
    close(layer(x[:, :3].npu(), x[:, 3:].npu()), shuffled[0])
    trained(
        module.ChannelShuffle(6),
        lambda a, b: torch.stack([a, b], 2).flatten(1, 2).chunk(2, 1),
        x[:, :3].clone(),
        x[:, 3:].clone(),
    )
    both = torch.nn.LSTM(6, 3, bidirectional=True)
    lstm = module.BiLSTM(6, 3).npu()
    names = {"fw_rnn": "", "bw_rnn": "_reverse"}
    state = {f"{part}.{n}_l0": both.state_dict()[f"{n}_l0{end}"] for part, end in names.items() for n in _LSTM}
    lstm.load_state_dict(state)
    close(lstm(x.transpose(1, 2).npu()), both(x.transpose(1, 2))[0])
    image = torch.randn(2, 3, 6, 8)
    focus = module.Focus(3, 5, 3).npu().eval()
    weight = focus.conv.conv.weight.detach().cpu()
    parts = torch.cat([image[..., i::2, j::2] for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))], 1)
    close(focus(image.npu()), F.leaky_relu(F.conv2d(parts, weight, padding=1) / math.sqrt(1 + 1e-5), 0.1))
    print("Mish SiLU Swish LabelSmoothingCrossEntropy ChannelShuffle BiLSTM Focus")


_LSTM = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def norms() -> None:
    for name, plain, shape in (
        ("FastBatchNorm1d", torch.nn.BatchNorm1d, (4, 3)),
        ("FastBatchNorm2d", torch.nn.BatchNorm2d, (4, 3, 2, 5)),
        ("FastBatchNorm3d", torch.nn.BatchNorm3d, (4, 3, 2, 2, 2)),
    ):
        norm, other = getattr(module, name)(3).npu(), plain(3)
        trained(norm, other, torch.randn(shape))
        close(norm.running_var, other.running_var)
        assert (norm.num_batches_tracked.dtype, norm.num_batches_tracked.item()) == (torch.int32, 1)
        print(name)
    model = torch.nn.Sequential(module.FastBatchNorm2d(3), torch.nn.ReLU())
    assert type(module.FastSyncBatchNorm.convert_sync_batchnorm(model)[0]) is torch.nn.SyncBatchNorm
    assert module.FastSyncBatchNorm(3).num_batches_tracked.dtype == torch.int32
    print("FastSyncBatchNorm")


def regions() -> None:
    maps, rois = torch.arange(1.0, 37).reshape(1, 1, 6, 6).npu().requires_grad_(), torch.tensor([[0, -2.0, -2, 22, 22]])
    out = module.ROIAlign((3, 3), 0.25, 2, aligned=False)(maps, rois.npu())
    close(out[0, 0], torch.tensor([[4.5, 6.5, 8.5], [16.5, 18.5, 20.5], [28.5, 30.5, 32.5]]))
    out.sum().backward()
    close(maps.grad, torch.full((1, 1, 6, 6), 0.25))
    pool = module.PSROIPool(2, 2, 1.0, 2, 3)
    constant = torch.arange(12.0).reshape(1, 12, 1, 1).expand(1, 12, 8, 8).contiguous().npu()
    close(pool(constant, torch.tensor([[[0.0], [1], [1], [6], [6]]]).npu()), torch.arange(12.0).reshape(1, 3, 2, 2))
    refuses(ValueError, "pooled_height == pooled_width", lambda: module.PSROIPool(2, 3))
    deform = module.DCNv2(2, 3, 3, 2, 1).npu()
    weight = deform.weight.detach().cpu()
    trained(deform, lambda t: F.conv2d(t, weight, None, 2, 1) * 0.5, torch.randn(2, 2, 5, 5))
    assert module.ModulatedDeformConv is module.DCNv2
    print("ROIAlign PSROIPool DCNv2 ModulatedDeformConv")


def quantised() -> None:
    x, weight = torch.randint(-9, 9, (3, 5), dtype=torch.int8), torch.randint(-9, 9, (4, 5), dtype=torch.int8)
    scale = torch.rand(4)
    expected = (x.double() @ weight.double().T) * scale
    for kind in (module.LinearQuant, module.LinearA8W8Quant):
        layer = kind(5, 4, bias=False, output_dtype=torch.float16).npu()
        layer.weight.data, layer.scale.data = weight.npu(), scale.npu()
        close(layer(x.npu()), expected, 2e-3)
        refuses(ValueError, "both torch.int32 or both torch.int8", lambda layer=layer: layer(x.float().npu()))
    layer.scale.data = scale.half().npu()
    refuses(ValueError, "scale should be torch.int64, torch.float32 or torch.bfloat16 datatype", lambda: layer(x.npu()))
    other = module.LinearWeightQuant(5, 4, bias=False, antiquant_offset=True).npu()
    offset, factor, rows = torch.randn(4).half(), torch.rand(4).half(), torch.randn(3, 5).half()
    other.weight.data, other.antiquant_scale.data = weight.npu(), factor.npu()
    other.antiquant_offset.data = offset.npu()
    close(other(rows.npu()), rows.double() @ ((weight.T + offset.double()) * factor.double()), 5e-2)
    image, kernel = torch.randint(-9, 9, (2, 2, 5, 5)).to(torch.int8), torch.randint(-9, 9, (3, 2, 3, 3)).to(torch.int8)
    conv = module.QuantConv2d(2, 3, 3, torch.float16, stride=2, padding=1, bias=False).npu()
    conv.weight.data, conv.scale.data = kernel.npu(), scale[:3].npu()
    exact = F.conv2d(image.double(), kernel.double(), None, 2, 1)
    close(conv(image.npu()), exact * scale[:3, None, None], 2e-3)
    print("LinearQuant LinearA8W8Quant LinearWeightQuant QuantConv2d")


def dropouts() -> None:
    for kind in (module.NpuCachedDropout, _ensemble_dropout.NpuPreGenDropout):
        model, drop = torch.nn.Linear(4, 4).npu(), kind(0.5)
        kind.enable_dropout_ensemble(model)
        x = torch.ones(64, 4).npu()
        if kind is module.NpuCachedDropout:
            assert drop(x) is x  # the first pass tells the shapes
            model(x)
        found = drop(x).cpu()
        assert set(found.flatten().tolist()) == {0.0, 2.0}, found
    assert module.NpuFairseqDropout is module.NpuCachedDropout
    refuses(RuntimeError, "You Only Register prob", lambda: _ensemble_dropout.NpuPreGenDropout(0.3)(x))
    model, path = torch.nn.Identity(), module.NpuDropPath(0.5)
    module.NpuDropPath.enable_droppath_ensemble(model)
    assert path(x) is x
    model(x)
    kept = path(x).cpu()
    assert set(kept.flatten().tolist()) == {0.0, 2.0}
    assert torch.equal(kept[:, 0], kept[:, 3])
    print("NpuCachedDropout NpuFairseqDropout NpuPreGenDropout NpuDropPath")


def attention_module() -> None:
    layer = module.MultiheadAttention(256, 16, dropout=0.0, self_attention=True).npu()
    x, mask = torch.randn(2 * 16, 256), torch.randn(2, 1, 16, 16)
    assert layer(x.npu(), x.npu(), x.npu(), 2, 16, 16, mask.npu()) == (None, None)
    multihead_attention._MHAConfig.set_fussion()
    found, weights = layer(x.npu(), x.npu(), x.npu(), 2, 16, 16, mask.npu())
    plain = {name: value.cpu() for name, value in layer.state_dict().items()}

    def projected(name: str) -> torch.Tensor:
        rows = F.linear(x, plain[f"{name}.weight"], plain[f"{name}.bias"])
        return rows.reshape(2, 16, 16, 16).transpose(1, 2)

    shares = (projected("q_proj") @ projected("k_proj").mT / 4 + mask).softmax(-1)
    context = (shares @ projected("v_proj")).transpose(1, 2).reshape(32, 256)
    close(found, F.linear(context, plain["out_proj.weight"], plain["out_proj.bias"]), 1e-4)
    assert weights is None
    refuses(ValueError, "embed_dim must be divisible by num_heads", lambda: module.MultiheadAttention(10, 3))
    print("MultiheadAttention")


def data() -> None:
    pairs = [(torch.full((2,), float(i)), torch.tensor(i)) for i in range(3)]
    prefetcher = module.Prefetcher(pairs)
    found = []
    while (pair := prefetcher.next())[0] is not None:
        found.append((pair[0].tolist(), pair[1].item()))
    assert found == [([float(i)] * 2, i) for i in range(3)], found
    image = np.random.default_rng(1).integers(0, 255, (5, 4, 3)).astype(np.float32)
    same = module.FusedColorJitter(0, 0, 0, 0)(image)
    assert np.abs(same - image).max() < 0.6  # the matrix of the identity has three decimals
    bright = module.FusedColorJitter((0.5, 0.5), (1.0, 1.0), (1.0, 1.0), (0.0, 0.0))(image)
    assert np.abs(bright - image / 2).max() < 0.6
    print("Prefetcher FusedColorJitter")


for part in (boxes, functions, fused_attention, layers, norms, regions, quantised, dropouts, attention_module, data):
    part()
assert len(function.__all__) + len(module.__all__) == 45
