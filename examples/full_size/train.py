"""
Train a model of a named configuration for two steps, the second of them profiled, as one rank of its job:

    drynpu run --no-compute --world 8 --ranks 0 examples/full_size/train.py llama2-7b

``table.py`` beside it runs all of them. Nothing here is drynpu's: the script is PyTorch, torch_npu and HCCL.
"""

import argparse
import json
import os
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.distributed as dist
import torch.nn.functional as F
import torch_npu
from decoder import Decoder
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from vision import Encoder, ResNet

CONFIGURATIONS = Path(__file__).with_name("configurations.json")
DEFAULTS = {"tp": 1, "ep": 1, "experts": 0, "micro_batches": 1, "image": 0, "classes": 0, "tokens": 0}
DEFAULTS |= {"bias": False, "head_norm": False, "recompute": False}


class Bucket:
    """
    Parameters in one flat tensor, their gradients in another; this rank updates its share (a distributed optimizer).

    The sum over the ranks begins when the last gradient of the step's last micro-batch is there, beside the
    backward pass.
    """

    def __init__(self, weights, group):
        self.group, self.size = group, dist.get_world_size(group)
        count = sum(weight.numel() for weight in weights)
        padded = -(-count // self.size) * self.size
        device, self.weights = weights[0].device, weights
        self.flat, self.gradient = (torch.zeros(padded, device=device, dtype=torch.bfloat16) for _ in range(2))
        self.part = torch.empty(padded // self.size, device=device, dtype=torch.bfloat16)
        self.master, self.mean, self.square = (torch.zeros(padded // self.size, device=device) for _ in range(3))
        start = 0
        for weight in weights:
            end = start + weight.numel()
            self.flat[start:end].copy_(weight.detach().flatten())
            weight.data = self.flat[start:end].view_as(weight)
            weight.grad = self.gradient[start:end].view_as(weight)
            weight.register_post_accumulate_grad_hook(self.ready)
            start = end
        self.last, self.missing, self.work = False, len(weights), None

    def ready(self, _):
        self.missing -= 1
        if self.missing == 0:
            self.missing = len(self.weights)
            if self.last:
                self.work = dist.reduce_scatter_tensor(self.part, self.gradient, group=self.group, async_op=True)

    def update(self, factor, number):
        gradient = self.part.float() * factor
        torch_npu.npu_apply_adam_w(
            *(0.9**number, 0.95**number, 1e-4, 0.1, 0.9, 0.95, 1e-8, gradient, None, False, False),
            out=(self.master, self.mean, self.square),
        )
        self.gradient.zero_()
        dist.all_gather_into_tensor(self.flat, self.master.to(torch.bfloat16), group=self.group)


class DecoderJob:
    def __init__(self, options, groups, device):
        self.options, self.device, self.number = options, device, 0
        with device:
            torch.set_default_dtype(torch.bfloat16)
            self.model = Decoder(options, groups)
            torch.set_default_dtype(torch.float32)
        self.extras = self.model.extras(device)
        self.buckets = [
            Bucket(weights, groups["expert_dp" if expert else "dp"]) for weights, expert in self.model.buckets()
        ]
        dp = dist.get_world_size() // options.tp
        self.count, self.unit = options.tokens * options.batch * options.micro_batches * dp, "tokens"

    def flops(self):
        """Return the operations of a step of this rank: products of forward and backward, no recomputing."""
        options = self.options
        attention = options.width * (2 * options.heads + 2 * options.groups) * options.size
        mlp = (
            3 * options.width * options.inner * (options.chosen if options.experts else 1)
            + options.width * options.experts
        )
        token = (
            2 * (options.layers * (attention + mlp) + options.width * options.words)
            + options.layers * 2 * options.tokens * options.heads * options.size
        )
        return 3 * token * self.count // dist.get_world_size()

    def step(self):
        options, self.number = self.options, self.number + 1
        for micro_batch in range(options.micro_batches):
            for bucket in self.buckets:
                bucket.last = micro_batch == options.micro_batches - 1
            words = torch.randint(options.words, (options.tokens + 1, options.batch), device=self.device)
            (self.model(words[:-1], words[1:], self.extras) / options.micro_batches).backward()
        for bucket in self.buckets:
            bucket.work.wait()
        norm = torch.stack(torch._foreach_norm([bucket.part for bucket in self.buckets])).float().square().sum()
        dist.all_reduce(norm)
        factor = (1.0 / (norm.sqrt() + 1e-6)).clamp(max=1.0)
        for bucket in self.buckets:
            bucket.update(factor, self.number)


class DataParallelJob:
    def __init__(self, options, device):
        self.options, self.device = options, device
        with device:
            model = ResNet(options) if options.kind == "resnet" else Encoder(options)
        self.products, self.spent = [], 0
        for module in model.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                module.register_forward_hook(self.add)
        self.model = DistributedDataParallel(model, device_ids=[device.index])
        if options.kind == "resnet":
            self.optimizer = torch_npu.optim.NpuFusedSGD(self.model.parameters(), lr=0.1, momentum=0.9)
        else:
            self.optimizer = torch_npu.optim.NpuFusedAdamW(self.model.parameters(), lr=1e-4)
        self.tokens = getattr(model, "tokens", 0)
        self.data = self.draw()
        self.unit = "images" if options.image else "tokens"
        self.count = options.batch * dist.get_world_size() * (1 if options.image else self.tokens)

    def draw(self):
        """Return a batch and its targets; every step takes the same, as if a loader had brought it in time."""
        options = self.options
        if not options.image:
            return tuple(
                torch.randint(options.words, (options.batch, options.tokens), device=self.device) for _ in range(2)
            )
        images = torch.randn(options.batch, 3, options.image, options.image, device=self.device)
        return images, torch.randint(options.classes, (options.batch,), device=self.device)

    def add(self, module, _, output):
        columns = module.weight[0].numel()
        self.spent += 2 * columns * output.numel()

    def flops(self):
        """Return the operations of the last step of this rank: products of forward and backward."""
        options = self.options
        attention = (
            4 * self.tokens**2 * options.width * options.layers * options.batch if options.kind == "encoder" else 0
        )
        return 3 * (self.spent + attention)

    def step(self):
        self.spent = 0
        x, targets = self.data
        with torch.autocast("npu", dtype=torch.bfloat16):
            scores = self.model(x)
        F.cross_entropy(scores.float().flatten(0, -2), targets.flatten()).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def make_groups(options):
    """Create the groups of all ranks in one order; return this rank's. Neighbours share tensors or experts."""
    world, rank, groups = dist.get_world_size(), dist.get_rank(), {}
    strides = {"tp": (1, options.tp), "dp": (options.tp, world // options.tp)}
    strides |= {"ep": (1, options.ep), "expert_dp": (options.ep, world // options.ep)}
    for name, (stride, size) in strides.items():
        for start in range(world):
            if start // stride % size == 0:
                members = [start + stride * place for place in range(size)]
                group = dist.new_group(members, group_desc=name)
                if rank in members:
                    groups[name] = group
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--configurations", type=Path, default=CONFIGURATIONS)
    parser.add_argument("--output", type=Path, default=Path("full_size_out"))
    chosen = parser.parse_args()
    options = SimpleNamespace(**DEFAULTS | json.loads(chosen.configurations.read_text())[chosen.name])
    device = torch.device("npu", int(os.environ["LOCAL_RANK"]))
    torch.npu.set_device(device)
    dist.init_process_group("hccl")
    job = (
        DecoderJob(options, make_groups(options), device)
        if options.kind == "decoder"
        else DataParallelJob(options, device)
    )
    profiler = torch_npu.profiler
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(str(chosen.output)),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    ) as recording:
        for _ in range(2):
            job.step()
            recording.step()
    document = {"unit": job.unit, "count": job.count, "flops": job.flops()}
    document["peak_gib"] = round(torch.npu.max_memory_allocated() / 2**30, 1)
    (chosen.output / "step.json").write_text(json.dumps(document))
    print(document)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
