"""
Run a decoder layer of vLLM-Ascend's parts on the NPU: norms, rotary embedding, paged attention, gated activation.

Two prompts of different length go through it, then one token for each. The CPU computes the same from formulas.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import Any

import torch

WIDTH, HEADS, SIZE, INNER, LENGTHS = 64, 4, 16, 96, (5, 3)
BLOCK, BLOCKS, EPSILON, BASE = 128, 4, 1e-6, 10000.0


def weights() -> dict[str, torch.Tensor]:
    """Return the weights of the layer."""
    torch.manual_seed(3)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 2 * INNER), "down": (INNER, WIDTH)}
    found = {name: torch.randn(shape) / shape[0] ** 0.5 for name, shape in shapes.items()}
    return {name: tensor.half() for name, tensor in found.items()}


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tokens of the prompts and those that follow."""
    torch.manual_seed(4)
    return torch.randn(sum(LENGTHS), WIDTH).half(), torch.randn(len(LENGTHS), WIDTH).half()


def on_cpu() -> list[torch.Tensor]:
    """Compute the layer for each sequence as a whole, in single precision."""
    known = {name: tensor.float() for name, tensor in weights().items()}
    prompts, following = inputs()
    results = []
    for part, token in zip(prompts.float().split(LENGTHS), following.float(), strict=True):
        results.append(one_sequence(torch.cat((part, token[None])), known))
    return [torch.cat([r[:-1] for r in results]), torch.stack([r[-1] for r in results])]


def one_sequence(x: torch.Tensor, known: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the layer's result for one sequence."""
    rms = torch.nn.functional.rms_norm
    query, key, value = (rms(x, [WIDTH], eps=EPSILON) @ known["qkv"]).view(len(x), 3, HEADS, SIZE).unbind(1)
    angles = torch.outer(torch.arange(len(x)), BASE ** -(torch.arange(0, SIZE, 2) / SIZE))
    turn = torch.polar(torch.ones_like(angles), angles)[:, None]
    query, key = (turned(t, turn).transpose(0, 1) for t in (query, key))
    seen = torch.nn.functional.scaled_dot_product_attention(query, key, value.transpose(0, 1), is_causal=True)
    x = x + seen.transpose(0, 1).reshape(len(x), WIDTH) @ known["out"]
    gate, up = (rms(x, [WIDTH], eps=EPSILON) @ known["up"]).chunk(2, -1)
    return x + (torch.nn.functional.silu(gate) * up) @ known["down"]


def turned(x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """Turn the pairs (i, i + half) by angles."""
    first, second = x.chunk(2, -1)
    pairs = torch.complex(first.contiguous(), second.contiguous()) * turn
    return torch.cat((pairs.real, pairs.imag), -1)


def on_npu() -> list[torch.Tensor]:
    """Compute by the parts of vLLM-Ascend, through its cache of keys and values."""
    build = types.ModuleType("vllm_ascend._build_info")  # setup.py writes it for the device that it builds for
    build.__device_type__ = "A2"  # type: ignore[attr-defined]
    sys.modules[build.__name__] = build
    import vllm_ascend
    from vllm import platforms

    vllm_ascend._build_info = build
    from vllm_ascend.platform import NPUPlatform

    platforms._current_platform = NPUPlatform()  # its entry point exists where the package is installed
    from vllm.config import VllmConfig, set_current_vllm_config
    from vllm.forward_context import set_forward_context
    from vllm_ascend.ascend_config import init_ascend_config

    config = VllmConfig()
    with set_current_vllm_config(config):
        init_ascend_config(config)
        with set_forward_context(None, config):
            return decode(Layer())


class Layer:
    """The parts of one layer."""

    def __init__(self) -> None:
        from vllm.v1.attention.backend import AttentionType
        from vllm_ascend.attention.attention_v1 import AscendAttentionBackendImpl
        from vllm_ascend.ops.activation import AscendSiluAndMul
        from vllm_ascend.ops.layernorm import AscendRMSNorm
        from vllm_ascend.ops.rotary_embedding import AscendRotaryEmbedding

        self.known = {name: tensor.npu() for name, tensor in weights().items()}
        self.norms = [AscendRMSNorm(WIDTH, EPSILON).half().npu() for _ in range(2)]
        self.activation = AscendSiluAndMul()
        self.rotary = AscendRotaryEmbedding(SIZE, SIZE, 64, BASE, True, torch.float16).npu()
        options: tuple[Any, ...] = (None, None, "auto", None, AttentionType.DECODER, None)
        self.attention = AscendAttentionBackendImpl(HEADS, SIZE, SIZE**-0.5, HEADS, *options)
        shape = (BLOCKS, BLOCK, HEADS, SIZE)
        self.cache = (torch.zeros(shape).half().npu(), torch.zeros(shape).half().npu())
        self.scales = types.SimpleNamespace(_k_scale_float=1.0, _v_scale_float=1.0, layer_name="layer")

    def __call__(self, x: torch.Tensor, positions: torch.Tensor, metadata: Any) -> torch.Tensor:
        """Return the layer's result for the tokens *x*."""
        query, key, value = (self.norms[0].forward_oot(x) @ self.known["qkv"]).chunk(3, -1)
        query, key = self.rotary.forward_oot(positions, query.contiguous(), key.contiguous())
        heads = [t.reshape(-1, HEADS, SIZE).contiguous() for t in (query, key, value)]
        seen = torch.empty_like(heads[0])
        self.attention.forward(self.scales, *heads, self.cache, metadata, seen)
        x, kept = self.norms[1].forward_oot(seen.view(-1, WIDTH) @ self.known["out"], x)
        return kept + self.activation.forward_oot(x @ self.known["up"]) @ self.known["down"]


def decode(layer: Layer) -> list[torch.Tensor]:
    """Run the prompts and the tokens that follow."""
    from vllm_ascend.attention.attention_v1 import AscendAttentionState, AscendMetadata

    prompts, following = inputs()
    mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1).npu()
    places = torch.cat([torch.arange(n) for n in LENGTHS])
    slots = torch.cat([torch.arange(n) + i * BLOCK for i, n in enumerate(LENGTHS)])
    ends = torch.tensor(LENGTHS).cumsum(0).tolist()
    prefill = AscendMetadata(
        attn_mask=mask,
        attn_state=AscendAttentionState.PrefillNoCache,
        num_actual_tokens=ends[-1],
        seq_lens=torch.tensor(LENGTHS),
        seq_lens_list=list(LENGTHS),
        actual_seq_lengths_q=ends,
        slot_mapping=slots.int().npu(),
    )
    first = layer(prompts.npu(), places.npu(), prefill)
    lengths = [n + 1 for n in LENGTHS]
    step = AscendMetadata(
        attn_mask=mask,
        attn_state=AscendAttentionState.DecodeOnly,
        num_actual_tokens=len(LENGTHS),
        seq_lens=torch.tensor(lengths),
        seq_lens_list=lengths,
        actual_seq_lengths_q=list(range(1, len(LENGTHS) + 1)),
        block_tables=torch.arange(len(LENGTHS)).int()[:, None].npu(),
        slot_mapping=torch.tensor([n + i * BLOCK for i, n in enumerate(LENGTHS)]).int().npu(),
    )
    second = layer(following.npu(), torch.tensor(LENGTHS).npu(), step)
    return [first, second]


def main() -> None:
    """Print both results."""
    on_device = os.environ.get("DRYNPU_AUTOLOAD") == "1"
    first, second = on_npu() if on_device else on_cpu()
    tables = {"prompts": first.flatten().tolist(), "following": second.flatten().tolist()}
    print("RESULT", json.dumps({"device": "npu" if on_device else "cpu", **tables}))


main()
