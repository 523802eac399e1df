"""
Trains a small classifier with NumPy, profiled through MindSpore's profiler and callbacks, without MindSpore.

    drynpu run examples/mindspore/train_like.py

The script says `mindspore` and gets drynpu's mindspore_like, because there is no MindSpore here. Outside `drynpu run`
it would be `import mindspore_like as mindspore`. The gradients are written out by hand; every operator of a tensor is
reported to the profiler, and the loss with its gradient, which NumPy computes in one go, by `timed_operator`.
"""

import argparse

import mindspore
import numpy as np
from mindspore import Callback, Model, Profiler, Tensor, ops
from mindspore.profiler import ProfilerActivity, ProfilerLevel

WIDTH, HIDDEN, CLASSES, ROWS = 32, 64, 4, 128


class Recorded(Callback):
    """Records the steps from the first to the last one given, and analyses them when the training ends."""

    def __init__(self, first, last, output):
        super().__init__()
        self.first, self.last = first, last
        self.profiler = Profiler(
            start_profile=False,
            output_path=output,
            profiler_level=ProfilerLevel.Level1,
            activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        )

    def on_train_step_begin(self, run_context):
        if run_context.original_args().cur_step_num == self.first:
            self.profiler.start()

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        print(f"epoch {params.cur_epoch_num} step {params.cur_step_num}: loss {params.net_outputs:.4f}")
        if params.cur_step_num == self.last:
            self.profiler.stop()

    def on_train_end(self, run_context):
        self.profiler.analyse()


class Classifier:
    """Two layers; called with a batch it does one step of gradient descent and returns the loss."""

    def __init__(self, rate=0.1):
        random = np.random.default_rng(1)
        self.w1 = Tensor(random.normal(0, 0.2, (WIDTH, HIDDEN)).astype(np.float32))
        self.w2 = Tensor(random.normal(0, 0.2, (HIDDEN, CLASSES)).astype(np.float32))
        self.b1 = Tensor(np.zeros(HIDDEN, np.float32))
        self.rate = rate

    def __call__(self, x, labels):
        with mindspore.scope("Default/network-Classifier"):
            hidden = x @ self.w1 + self.b1
            active = ops.relu(hidden)
            logits = active @ self.w2
            loss, d_logits = cross_entropy(logits, labels)
        with mindspore.scope("Gradients/Default/network-Classifier"):
            d_w2 = active.T @ d_logits
            d_hidden = (d_logits @ self.w2.T) * (hidden > 0).astype(mindspore.float32)
            d_w1, d_b1 = x.T @ d_hidden, d_hidden.sum(0)
        self.w1 -= d_w1 * self.rate
        self.w2 -= d_w2 * self.rate
        self.b1 -= d_b1 * self.rate
        return loss


def cross_entropy(logits, labels):
    """Return the mean loss and its gradient: one operator on a device, reported as that."""
    with mindspore.timed_operator("SoftmaxCrossEntropyWithLogits", [logits, labels]) as operator:
        scores = logits.asnumpy() - logits.asnumpy().max(1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(1, keepdims=True)
        rows = -(labels.asnumpy() * np.log(shares)).sum(1)
        gradient = Tensor((shares - labels.asnumpy()) / len(rows))
        operator.outputs = [rows, gradient]
    return float(rows.mean()), gradient


def batches(steps):
    random = np.random.default_rng(2)
    centres = random.normal(0, 1, (CLASSES, WIDTH))
    for _ in range(steps):
        kinds = random.integers(0, CLASSES, ROWS)
        x = centres[kinds] + random.normal(0, 0.5, (ROWS, WIDTH))
        yield Tensor(x.astype(np.float32)), Tensor(np.eye(CLASSES, dtype=np.float32)[kinds])


parser = argparse.ArgumentParser()
parser.add_argument("--output", default="./demo_out")
arguments = parser.parse_args()
mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="Ascend")
Model(Classifier()).train(2, list(batches(4)), callbacks=[Recorded(3, 5, arguments.output)])
