"""Train a net of convolutions, recurrent cells, attention with a mask and an embedding under the profiler."""

from __future__ import annotations

import torch
import torch.nn.functional as F
import torch_npu
from torch import nn


class Nets(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolve = nn.Sequential(
            nn.Conv2d(3, 8, 5, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4)
        )
        self.recur = nn.LSTM(8, 12, batch_first=True)
        self.attend = nn.MultiheadAttention(12, 3, batch_first=True)
        self.words = nn.Embedding(50, 12)
        self.out = nn.Linear(12, 7)

    def forward(self, images: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        x = self.convolve(images).flatten(2).transpose(1, 2)
        x, _ = self.recur(x)
        mask = torch.ones(16, 16, device=x.device).triu(1).bool()
        x, _ = self.attend(x, x, x, attn_mask=mask, need_weights=False)
        return self.out(F.dropout(x.mean(1) + self.words(words).mean(1), 0.1))


torch.manual_seed(3)
nets = Nets().npu()
optimizer = torch.optim.AdamW(nets.parameters(), lr=1e-3)
with torch_npu.profiler.profile(
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=2),
    profile_memory=True,
    record_shapes=True,
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./out"),
) as recording:
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.bfloat16):
            scores = nets(torch.randn(5, 3, 33, 29).npu(), torch.randint(50, (5, 9)).npu())
        loss = F.cross_entropy(scores.float(), torch.randint(7, (5,)).npu(), label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(nets.parameters(), 1.0)
        optimizer.step()
        recording.step()
print(loss.item())
