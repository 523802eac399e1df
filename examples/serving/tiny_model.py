"""
Make a tiny language model with random weights and a tokenizer, so that an engine can be tried without any hub.

    python tiny_model.py FOLDER [--kind qwen3] [--layers 2] [--words 512] [--type bfloat16]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

WIDTH, HEADS, GROUPS, INNER, HEAD, LONGEST = 128, 8, 4, 256, 32, 1024
SHAPE = {
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_key_value_heads": GROUPS,
    "intermediate_size": INNER,
    "max_position_embeddings": LONGEST,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "norm_topk_prob": True}
KINDS = {
    "llama": ("Llama", {"head_dim": WIDTH // HEADS}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": HEAD}),
    "qwen3_moe": ("Qwen3Moe", {"head_dim": HEAD, **EXPERTS}),
}
"""The names of the classes in transformers, and what their configurations need besides :data:`SHAPE`."""


def make_model(folder: Path, kind: str = "qwen3", layers: int = 2, words: int = 512, dtype: str = "bfloat16") -> Path:
    """Write the model and its tokenizer into *folder*, which an engine takes in place of a name."""
    torch.manual_seed(11)
    name, more = KINDS[kind]
    config = getattr(transformers, f"{name}Config")(**SHAPE, **more, vocab_size=words, num_hidden_layers=layers)
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    for parameter in model.parameters():  # Wide enough that the best words of a step differ clearly
        torch.nn.init.normal_(parameter, mean=float(parameter.dim() == 1), std=0.1)
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    make_tokenizer(words).save_pretrained(folder)
    return folder


def make_tokenizer(words: int) -> transformers.PreTrainedTokenizerFast:
    """Return a tokenizer whose words are ``w0`` to the end of the vocabulary."""
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    plain = [f"w{number}" for number in range(words - len(special))]
    numbers = {word: number for number, word in enumerate([*special, *plain])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    fast.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    return fast


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", choices=sorted(KINDS), default="qwen3")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--words", type=int, default=512)
    parser.add_argument("--type", default="bfloat16")
    options = parser.parse_args()
    print(make_model(options.folder, options.kind, options.layers, options.words, options.type))
