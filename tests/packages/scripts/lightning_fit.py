"""Lightning's Trainer; Lightning has no accelerator for npu, so the script brings the one that its documents show."""

import json

import lightning
import torch
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import nn


class Npu(Accelerator):
    def setup_device(self, device):
        torch.npu.set_device(device)

    def teardown(self):
        torch.npu.empty_cache()

    @staticmethod
    def parse_devices(devices):
        return list(range(devices)) if isinstance(devices, int) else devices

    @staticmethod
    def get_parallel_devices(devices):
        return [torch.device("npu", index) for index in devices]

    @staticmethod
    def auto_device_count():
        return torch.npu.device_count()

    @staticmethod
    def is_available():
        return hasattr(torch, "npu") and torch.npu.is_available()

    @staticmethod
    def name():
        return "npu"


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 3))
        self.losses = []

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        self.losses.append(loss.item())
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


lightning.seed_everything(3)
model = Model()
data = torch.utils.data.TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
trainer = lightning.Trainer(
    strategy=SingleDeviceStrategy("npu:0", accelerator=Npu()) if Npu.is_available() else "auto",
    accelerator="auto" if Npu.is_available() else "cpu",
    devices=1,
    max_epochs=1,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=8))
device = "npu" if isinstance(trainer.accelerator, Npu) else "cpu"
print("RESULT", json.dumps({"losses": model.losses, "device": device}))
