"""DeepSpeed on a small network; the argument is the stage of ZeRO."""

import json
import os
import sys

import deepspeed
import torch
from deepspeed.accelerator import get_accelerator
from torch import nn

for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1"}.items():
    os.environ.setdefault(name, value)
os.environ.setdefault("MASTER_PORT", "29553")
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 3))
config = {
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {"type": "AdamW", "params": {"lr": 0.01, "torch_adam": True}},
    "zero_optimization": {"stage": int(sys.argv[1])},
    "zero_allow_untested_optimizer": True,
    "gradient_clipping": 1.0,
}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
generator = torch.Generator().manual_seed(1)
losses = []
for _ in range(4):
    inputs = torch.randn(4, 6, generator=generator).to(engine.device)
    labels = torch.randint(0, 3, (4,), generator=generator).to(engine.device)
    loss = nn.functional.cross_entropy(engine(inputs), labels)
    engine.backward(loss)
    engine.step()
    losses.append(loss.item())
print("RESULT", json.dumps({"losses": losses, "device": get_accelerator().device_name()}))
torch.distributed.destroy_process_group()
