"""Encoders of images and texts, and a residual net: what is trained with DistributedDataParallel and autocast."""

import torch
import torch.nn.functional as F
import torch_npu
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        query, key, value = self.qkv(self.before_attention(x)).chunk(3, -1)
        scale = (x.shape[-1] // self.heads) ** -0.5
        x = x + self.out(torch_npu.npu_fusion_attention(query, key, value, self.heads, "BSH", scale=scale)[0])
        return x + self.down(F.gelu(self.up(self.before_mlp(x)), approximate="tanh"))


class Encoder(nn.Module):
    """A vision transformer where the options have an image, else BERT, which learns words that were masked."""

    def __init__(self, options):
        super().__init__()
        width = options.width
        self.image = options.image
        self.tokens = (options.image // options.patch) ** 2 if self.image else options.tokens
        if self.image:
            self.first = nn.Conv2d(3, width, options.patch, options.patch)
        else:
            self.first = nn.Embedding(options.words, width)
        self.places = nn.Parameter(torch.zeros(1, self.tokens, width))
        self.layers = nn.Sequential(*(Layer(width, options.heads) for _ in range(options.layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, options.classes or options.words)

    def forward(self, x):
        x = self.first(x)
        x = x.flatten(2).transpose(1, 2) if self.image else x
        x = self.norm(self.layers(x + self.places))
        return self.head(x.mean(1) if self.image else x)


class Bottleneck(nn.Module):
    def __init__(self, width, inner, stride):
        super().__init__()
        self.way = nn.Sequential(
            *(nn.Conv2d(width, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(inplace=True)),
            *(nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(inplace=True)),
            *(nn.Conv2d(inner, 4 * inner, 1, bias=False), nn.BatchNorm2d(4 * inner)),
        )
        self.beside = None
        if stride > 1 or width != 4 * inner:
            self.beside = nn.Sequential(nn.Conv2d(width, 4 * inner, 1, stride, bias=False), nn.BatchNorm2d(4 * inner))

    def forward(self, x):
        return F.relu(self.way(x) + (x if self.beside is None else self.beside(x)), inplace=True)


class ResNet(nn.Module):
    def __init__(self, options):
        super().__init__()
        width, inner, blocks = options.width, options.width, []
        for stage, count in enumerate(options.stages):
            for place in range(count):
                blocks.append(Bottleneck(width, inner, 2 if stage and not place else 1))
                width = 4 * inner
            inner *= 2
        first = options.width
        self.first = nn.Sequential(
            nn.Conv2d(3, first, 7, 2, 3, bias=False),
            nn.BatchNorm2d(first),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(width, options.classes)

    def forward(self, x):
        return self.head(self.blocks(self.first(x)).mean((2, 3)))
