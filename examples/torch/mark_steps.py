"""
Marks of your own in a profile, with ``torch_npu.npu.mstx``.

A training loop marks its data, its forward and backward pass and its optimizer, each in its own way. With
``Level_none`` the profile holds these marks and nothing else, which is what one records on many devices at once;
``--level Level1`` records the kernels as well.

    python examples/torch/mark_steps.py --output ./marks_out
    drynpu run examples/torch/mark_steps.py --level Level1

Then look at ``ASCEND_PROFILER_OUTPUT/trace_view.json``, and at ``msprof_tx_*.csv`` below ``PROF_*``.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import torch
import torch_npu
from torch_npu.npu import mstx


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(64, 128)
        self.outer = torch.nn.Linear(128, 10)

    # A range around every call, by decorator; with a stream it is seen on the device too.
    @mstx.mstx_range("forward", torch.npu.current_stream())
    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


def load(batch_size):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(batch_size, 64, generator=generator), torch.randint(0, 10, (batch_size,), generator=generator)


def train(steps, batch_size, prof):
    model = Digits().npu()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    stream = torch.npu.current_stream()
    with ThreadPoolExecutor(1) as loader:
        for _ in range(steps):
            # A domain groups marks: mstx_domain_include and mstx_domain_exclude choose among domains.
            waiting = mstx.range_start("wait for data", domain="data")
            pixels, digits = loader.submit(load, batch_size).result()
            mstx.range_end(waiting, domain="data")

            loss = torch.nn.functional.cross_entropy(model(pixels.npu()), digits.npu())

            # Ranges inside each other, as a stack of this thread.
            mstx.range_push("update")
            mstx.range_push("backward", stream)
            loss.backward()
            mstx.range_pop()
            with mstx.annotate("optimizer", stream):
                optimizer.step()
                optimizer.zero_grad()
            mstx.range_pop()

            # An instant.
            mstx.mark(f"loss {loss.item():.4f}")
            prof.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--level", choices=["Level_none", "Level0", "Level1", "Level2"], default="Level_none")
    parser.add_argument("--output", default="./marks_out")
    options = parser.parse_args()

    config = torch_npu.profiler._ExperimentalConfig(
        profiler_level=getattr(torch_npu.profiler.ProfilerLevel, options.level),
        aic_metrics=torch_npu.profiler.AiCMetrics.AiCoreNone,
        mstx=True,
        data_simplification=False,
    )
    with torch_npu.profiler.profile(
        schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(options.output),
        experimental_config=config,
    ) as prof:
        train(options.steps, options.batch_size, prof)


if __name__ == "__main__":
    main()
