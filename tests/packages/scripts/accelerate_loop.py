"""A training loop of one's own with accelerate, on one process or several."""

import json

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn

accelerator = Accelerator()
set_seed(7)
model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(48, 6), torch.randint(0, 3, (48,)))
loader = torch.utils.data.DataLoader(data, batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
losses = []
for inputs, labels in loader:
    with accelerator.accumulate(model):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    losses.append(accelerator.gather(loss.detach()).mean().item())
if accelerator.is_main_process:
    processes = accelerator.num_processes
    print("RESULT", json.dumps({"losses": losses, "device": accelerator.device.type, "processes": processes}))
accelerator.end_training()
