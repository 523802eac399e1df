"""AlexNet as in the genuine recording of two ranks: batch 32, SGD with momentum, accuracy of the first and five."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
import torch_npu
from torch import nn

rank = int(os.environ["RANK"])
torch.set_num_threads(1)
torch.npu.set_device(rank)
dist.init_process_group("hccl")


class AlexNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2)),
            *(nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(True)),
            *(nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2)),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            *(nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096)),
            *(nn.ReLU(True), nn.Linear(4096, 1000)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), 1))


@torch.no_grad()
def accuracy(output: torch.Tensor, labels: torch.Tensor) -> list[torch.Tensor]:
    _, found = output.topk(5, 1, True, True)
    correct = found.t().eq(labels.view(1, -1).expand_as(found.t()))
    return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / labels.size(0)) for k in (1, 5)]


class Average:
    total: torch.Tensor | float = 0.0
    count = 0

    def update(self, value: torch.Tensor | float, count: int) -> None:
        self.total += value * count
        self.count += count
        self.average = self.total / self.count


torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(AlexNet().npu(), device_ids=[rank])
criterion = nn.CrossEntropyLoss().npu()
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
losses, top1, top5 = Average(), Average(), Average()
with torch_npu.profiler.profile(
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
    record_shapes=True,
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("."),
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
) as profile:
    for _ in range(2):
        images = torch.randn(32, 3, 224, 224).npu(rank, non_blocking=True)
        labels = torch.randint(0, 1000, (32,)).npu(rank, non_blocking=True)
        output = model(images)
        loss = criterion(output, labels)
        first, five = accuracy(output, labels)
        losses.update(loss.item(), 32)
        top1.update(first[0], 32)
        top5.update(five[0], 32)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profile.step()
dist.destroy_process_group()
