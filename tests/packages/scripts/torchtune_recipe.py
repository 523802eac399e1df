"""A decoder of torchtune with its LoRA modules and its chunked loss, trained with its own utilities."""

import json

import torch
from torchtune import training, utils
from torchtune.models.llama3 import lora_llama3
from torchtune.modules.loss import CEWithChunkedOutputLoss
from torchtune.modules.peft import get_adapter_params, set_trainable_params

device = utils.get_device()
training.set_seed(3)
model = lora_llama3(
    lora_attn_modules=["q_proj", "v_proj"],
    vocab_size=61,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    embed_dim=32,
    max_seq_len=32,
    intermediate_dim=48,
    lora_rank=4,
    lora_alpha=8,
).to(device)
set_trainable_params(model, get_adapter_params(model))
loss_function = CEWithChunkedOutputLoss(num_output_chunks=4)
model.set_num_output_chunks(loss_function.num_output_chunks)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
schedule = training.get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=1, num_training_steps=5)
tokens = torch.randint(0, 61, (2, 13), generator=torch.Generator().manual_seed(1)).to(device)
losses = []
for _ in range(4):
    loss = loss_function(model(tokens[:, :-1]), tokens[:, 1:])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()
    losses.append(loss.item())
print("RESULT", json.dumps({"losses": losses, "device": device.type}))
