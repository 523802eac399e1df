"""Make a tiny decoder with a tokenizer, and questions with answers, so that a trainer needs no hub."""

import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, set_seed

folder = Path(sys.argv[1])
set_seed(3)
special = ["<pad>", "<|im_start|>", "<|im_end|>", "<unk>", "user", "assistant", "system"]
words = {word: number for number, word in enumerate([*special, *(f"w{each}" for each in range(89))])}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer.decoder = decoders.Fuse()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<pad>", unk_token="<unk>")
fast.chat_template = "{% for m in messages %}<|im_start|> {{ m['role'] }} {{ m['content'] }} <|im_end|> {% endfor %}"
fast.save_pretrained(folder)
config = Qwen2Config(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=len(words),
    max_position_embeddings=128,
    eos_token_id=2,
    pad_token_id=0,
)
Qwen2ForCausalLM(config).save_pretrained(folder)
draw = random.Random(5)
rows = [
    {part: " ".join(f"w{draw.randrange(89)}" for _ in range(7)) for part in ("query", "response")} for _ in range(24)
]
(folder / "talks.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
columns = {"prompt": "query", "response": "response"}
(folder / "dataset_info.json").write_text(json.dumps({"talks": {"file_name": "talks.jsonl", "columns": columns}}))
