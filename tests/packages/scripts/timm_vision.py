"""Two vision models of timm, trained for two steps each."""

import json

import torch

# torchvision is compiled for CUDA. timm uses none of its operators, but cannot be imported without these two names.
for name in ("nms", "qnms"):
    torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import timm
import timm.loss
import timm.optim
from timm.utils import ModelEmaV3

device = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cpu"
losses = []
for name, options in (
    ("resnet10t", {}),
    ("vit_tiny_patch16_224", {"img_size": 32, "embed_dim": 24, "depth": 2, "num_heads": 3}),
):
    torch.manual_seed(3)
    model = timm.create_model(name, num_classes=5, **options).to(device)
    average = ModelEmaV3(model, decay=0.9)
    optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=0.01)
    images = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(1)).to(device)
    labels = torch.arange(4).to(device)
    for _ in range(2):
        loss = timm.loss.LabelSmoothingCrossEntropy()(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        losses.append(loss.item())
    with torch.no_grad():
        losses.append(average.module.eval()(images).float().sum().item())
print("RESULT", json.dumps({"losses": losses, "device": device}))
