"""A LoRA adapter on a small decoder, trained, merged and left out."""

import json

import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, set_seed

set_seed(3)
device = Accelerator().device
config = LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=61)
lora = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.0, task_type="CAUSAL_LM")
model = get_peft_model(LlamaForCausalLM(config), lora).to(device)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
tokens = torch.randint(0, 61, (4, 13), generator=torch.Generator().manual_seed(1)).to(device)
losses = []
for _ in range(4):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
with model.disable_adapter():
    losses.append(model(input_ids=tokens, labels=tokens).loss.item())
losses.append(model.merge_and_unload()(input_ids=tokens, labels=tokens).loss.item())
print("RESULT", json.dumps({"losses": losses, "device": device.type}))
