"""transformers' Trainer on a small decoder; the argument is a JSON object of further training arguments."""

import json
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

set_seed(3)
config = LlamaConfig(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=61,
    max_position_embeddings=64,
)
generator = torch.Generator().manual_seed(5)
rows = [{"input_ids": ids, "labels": ids} for ids in torch.randint(0, 61, (24, 11), generator=generator)]
arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=4,
    max_steps=4,
    logging_steps=1,
    learning_rate=3e-3,
    report_to=[],
    seed=3,
    save_strategy="no",
    disable_tqdm=True,
    **json.loads(sys.argv[1]),
)
trainer = Trainer(model=LlamaForCausalLM(config), args=arguments, train_dataset=rows)
trainer.train()
losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
weights = [parameter.double().abs().sum().item() for parameter in trainer.model.parameters()]
print("RESULT", json.dumps({"losses": losses, "weights": weights, "device": arguments.device.type}))
