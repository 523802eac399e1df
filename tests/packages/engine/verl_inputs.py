"""
Make what verl's trainer takes: a tiny Qwen2, whose words are bytes, and questions.

    python verl_inputs.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import torch
from tokenizers.pre_tokenizers import ByteLevel
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer

folder = Path(sys.argv[1])
numbers = {letter: number for number, letter in enumerate(sorted(ByteLevel.alphabet()))}
tokenizer = Qwen2Tokenizer(vocab=numbers, merges=[])
tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"], "eos_token": "<|im_end|>"})
tokenizer.chat_template = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
tokenizer.save_pretrained(folder / "model")
torch.manual_seed(3)
config = Qwen2Config(
    hidden_size=128,
    intermediate_size=256,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=len(tokenizer),
    max_position_embeddings=128,
    bos_token_id=None,
    eos_token_id=tokenizer.eos_token_id,
    pad_token_id=tokenizer.pad_token_id,
)
Qwen2ForCausalLM(config).save_pretrained(folder / "model")
rows = [
    {
        "data_source": "letters",
        "prompt": [{"role": "user", "content": "abcdefgh"[: 3 + row % 5]}],
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {"index": row},
    }
    for row in range(8)
]
pd.DataFrame(rows).to_parquet(folder / "questions.parquet")
