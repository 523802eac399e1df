"""mmengine's Runner, which puts model and data on the device that it finds."""

import json

import torch
from mmengine.dataset import DefaultSampler
from mmengine.device import get_device
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn

losses = []


class Model(BaseModel):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, inputs, labels, mode):
        loss = nn.functional.cross_entropy(self.layers(inputs), labels)
        losses.append(loss.item())
        return {"loss": loss}


torch.manual_seed(3)
data = torch.utils.data.TensorDataset(torch.randn(24, 6), torch.randint(0, 3, (24,)))
loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=DefaultSampler(data, shuffle=False))
runner = Runner(
    model=Model(),
    work_dir="work",
    train_dataloader=loader,
    optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.05, "momentum": 0.9}},
    train_cfg={"by_epoch": True, "max_epochs": 1},
    default_hooks={"checkpoint": None, "logger": {"type": "LoggerHook", "interval": 100}},
    randomness={"seed": 3},
    log_level="ERROR",
)
runner.train()
print("RESULT", json.dumps({"losses": losses, "device": get_device()}))
