"""
Make from a tiny model what an engine takes besides it, or in its place.

    python parts.py eagle|eagle3|adapter|int8 MODEL FOLDER
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

RANK = 4


def make_draft(model: Path, folder: Path, method: str) -> None:
    """Write a model of one layer with random weights that drafts words for another one."""
    config = json.loads((model / "config.json").read_text())
    width, heads, groups, head, inner = (
        config[name]
        for name in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size")
    )
    inputs = width * 2 if method == "eagle3" else width  # Eagle-3 joins the word with the state
    shapes = {
        "fc.weight": (width, width * 2),
        "layers.0.self_attn.q_proj.weight": (heads * head, inputs),
        "layers.0.self_attn.k_proj.weight": (groups * head, inputs),
        "layers.0.self_attn.v_proj.weight": (groups * head, inputs),
        "layers.0.self_attn.o_proj.weight": (width, heads * head),
        "layers.0.mlp.gate_proj.weight": (inner, width),
        "layers.0.mlp.up_proj.weight": (inner, width),
        "layers.0.mlp.down_proj.weight": (width, inner),
        "layers.0.post_attention_layernorm.weight": (width,),
    }
    if method == "eagle3":
        norms = ("layers.0.input_layernorm", "layers.0.hidden_norm", "norm")
        shapes |= {f"{norm}.weight": (width,) for norm in norms} | {"lm_head.weight": (config["vocab_size"], width)}
    torch.manual_seed(5)
    weights = {name: 0.1 * torch.randn(shape) + float(len(shape) == 1) for name, shape in shapes.items()}
    folder.mkdir()
    save_file({name: weight.bfloat16() for name, weight in weights.items()}, folder / "model.safetensors")
    architecture = "LlamaForCausalLMEagle3" if method == "eagle3" else "LlamaForCausalLM"
    changes = {"num_hidden_layers": 1, "model_type": "llama", "architectures": [architecture]}
    changes |= {"draft_vocab_size": config["vocab_size"], "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1]}}
    (folder / "config.json").write_text(json.dumps(config | changes))


def make_adapter(model: Path, folder: Path) -> None:
    """Write a LoRA of the attention's projections to *folder*, and the model with the LoRA in it beside it."""
    torch.manual_seed(7)
    weights, adapter = load_file(model / "model.safetensors"), {}
    names = [name for name in weights if name.endswith(("q_proj.weight", "v_proj.weight"))]
    for name in names:
        columns, rows = weights[name].shape
        down, up = (0.1 * torch.randn(shape) for shape in ((RANK, rows), (columns, RANK)))
        place = f"base_model.model.{name.removesuffix('.weight')}"
        adapter |= {f"{place}.lora_A.weight": down, f"{place}.lora_B.weight": up}
        weights[name] = (weights[name].float() + up @ down).to(weights[name].dtype)
    folder.mkdir()
    save_file(adapter, folder / "adapter_model.safetensors")
    about = {"peft_type": "LORA", "r": RANK, "lora_alpha": RANK, "target_modules": ["q_proj", "v_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(about))
    merged = folder.with_name(f"{folder.name}_merged")
    shutil.copytree(model, merged)
    save_file(weights, merged / "model.safetensors", {"format": "pt"})


def quantise(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tensor as whole numbers of INT8, and the scale of each row."""
    scale = tensor.float().abs().amax(-1, keepdim=True) / 127  # the largest number of INT8
    return (tensor.float() / scale).round().to(torch.int8), scale


def make_int8(model: Path, folder: Path) -> None:
    """Write the model with weights of INT8 and a scale for each row, as the vendor's tool for quantising does."""
    shutil.copytree(model, folder)
    weights, kinds = load_file(model / "model.safetensors"), {}
    quantised = dict(weights)
    for name, weight in weights.items():
        kinds[name] = "W8A8_DYNAMIC" if name.endswith("_proj.weight") else "FLOAT"
        if kinds[name] == "FLOAT":
            continue
        quantised[name], scale = quantise(weight)
        quantised[f"{name}_scale"], quantised[f"{name}_offset"] = scale, torch.zeros_like(scale)
        kinds |= dict.fromkeys((f"{name}_scale", f"{name}_offset"), "W8A8_DYNAMIC")
    save_file(quantised, folder / "model.safetensors", {"format": "pt"})
    (folder / "quant_model_description.json").write_text(json.dumps({"model_quant_type": "W8A8_DYNAMIC", **kinds}))


if __name__ == "__main__":
    what, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if what == "adapter":
        make_adapter(source, target)
    elif what == "int8":
        make_int8(source, target)
    else:
        make_draft(source, target, what)
