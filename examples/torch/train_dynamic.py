"""
A training that is profiled while it runs, whenever you ask for it, with ``torch_npu.profiler.dynamic_profile``.

Start it in one terminal:

    python examples/torch/train_dynamic.py --config ./dynamic

It writes ``dynamic/profiler_config.json`` with every option. In a second terminal change the options you want and set
``start_step`` to -1 (the next step) or to a step that is still to come; the result appears in ``prof_dir``. Do it as
often as you like; ``dynamic/log`` tells what happened. Ctrl-C ends the training.
"""

import argparse
import time

import torch
import torch_npu
from torch_npu.profiler import dynamic_profile as dp


def train_one_step(model, optimizer):
    x = torch.rand(16, 128).npu()
    loss = (model(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--config", default="./dynamic", help="directory of profiler_config.json")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between steps")
    options = parser.parse_args()

    model = torch.nn.Sequential(torch.nn.Linear(128, 32), torch.nn.GELU(), torch.nn.Linear(32, 128)).npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    dp.init(options.config)
    print(f"edit {options.config}/profiler_config.json to record steps; Ctrl-C ends the training", flush=True)
    step = 0
    try:
        for step in range(1, options.steps + 1):
            loss = train_one_step(model, optimizer)
            # Ends the step; a recording begins, goes on or ends here.
            dp.step()
            if step % 100 == 0:
                print(f"step {step}: loss {loss.item():.4f}", flush=True)
            time.sleep(options.pause)
    except KeyboardInterrupt:
        print(f"stopped after {step} steps on {torch_npu.npu.get_device_name()}")


if __name__ == "__main__":
    main()
