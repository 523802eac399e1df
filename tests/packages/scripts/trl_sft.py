"""Supervised fine-tuning with trl on a small decoder; the data set is tokenised already."""

import json

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

set_seed(3)
words = {f"w{index}": index for index in range(59)} | {"<pad>": 59, "<eos>": 60}
tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
config = LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=61)
tokens = torch.randint(0, 59, (16, 9), generator=torch.Generator().manual_seed(1)).tolist()
arguments = SFTConfig(
    output_dir="out",
    per_device_train_batch_size=4,
    max_steps=3,
    logging_steps=1,
    learning_rate=3e-3,
    report_to=[],
    save_strategy="no",
    disable_tqdm=True,
    bf16=False,
)
trainer = SFTTrainer(
    LlamaForCausalLM(config), arguments, train_dataset=Dataset.from_dict({"input_ids": tokens}), processing_class=fast
)
trainer.train()
losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
print("RESULT", json.dumps({"losses": losses, "device": arguments.device.type}))
