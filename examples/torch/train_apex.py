"""
Train a small network with the vendor's apex, as scripts for Ascend's PyTorch of 2020 to 2023 do.

    drynpu run --profile examples/torch/train_apex.py

Level O2: the network computes in float16, the optimizer keeps float32 masters in one buffer.
"""

import argparse

import torch
import torch_npu  # noqa: F401 - it brings the device
from apex import amp
from apex.optimizers import NpuFusedSGD
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt-level", default="O2")
    parser.add_argument("--loss-scale", default="dynamic")
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(256, 10),
    ).npu()
    optimizer = NpuFusedSGD(model.parameters(), lr=0.05, momentum=0.9)
    model, optimizer = amp.initialize(
        model, optimizer, opt_level=arguments.opt_level, loss_scale=arguments.loss_scale, combine_grad=True
    )
    images = torch.randn(32, 3, 16, 16).npu()
    labels = torch.randint(10, (32,)).npu()
    for step in range(arguments.steps):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        norm = optimizer.clip_optimizer_grad_norm_fused(5.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f} gradients {norm.item():.3f}")


if __name__ == "__main__":
    main()
