"""
What recording costs under TensorFlow, beside TensorFlow's own profiler on the same training loops.

``python benchmarks/bench_tf.py [rounds]``. An MLP and a small convolution net train by ``sess.run``, by a
``tf.function`` and by Keras ``fit``. Every state has a process of its own; they take turns, one at work at a time. A
ratio is the median over the rounds of what was measured in the same round, so that a busy minute of the machine meets
all of them; beside it stands the ratio of the least values, which other programs disturb less. Absolute values are
medians of the rounds, for scale. One thread computes, and a step is the processor time of a stretch of steps divided by
their number: what is read in between is in it. From the end of a recording to its files it is the time that passes,
split by stage for ours.

``tf.profiler`` records with its defaults (operators without shapes) and at level 3 (with shapes); it leaves one trace.
Ours simulates a device and leaves raw records and tables. Remapping is off in all states, as porting guides have it, so
that all compute the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ratios import record_ratio

WAYS = ("session", "function", "keras")
STEPS = {"mlp": 300, "cnn": 60}
WARM_UP = 5
STATES = ("plain", "tf.profiler", "tf.profiler level 3", "drynpu, not profiling", "drynpu, recording")
PROFILER_LEVELS = {"tf.profiler": 2, "tf.profiler level 3": 3}
BATCH = 32
OPTIONS = '{"output":".","training_trace":"on","task_time":"on","aic_metrics":"PipeUtilization"}'

Steps = Callable[[int], None]
Result = dict[str, Any]


def data(model: str) -> tuple[Any, Any]:
    """Return one batch of inputs and labels."""
    random = np.random.default_rng(0)
    shape = (BATCH, 64) if model == "mlp" else (BATCH, 16, 16, 3)
    return random.random(shape, np.float32), random.integers(0, 10, BATCH)


def session_steps(model: str, state: str) -> tuple[Steps, Callable[[], None]]:
    """Return what trains by ``sess.run``, and what closes the session."""
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        inputs, labels = data(model)
        features, targets = tf.placeholder(tf.float32, [None, *inputs.shape[1:]]), tf.placeholder(tf.int64, [None])
        hidden = features
        sizes = ((256, 256, 10), ()) if model == "mlp" else ((10,), (16, 32))
        for number, channels in enumerate(sizes[1]):
            kernel = tf.get_variable(f"filter{number}", [3, 3, hidden.shape[-1], channels])
            bias = tf.get_variable(f"shift{number}", [channels])
            hidden = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(hidden, kernel, strides=1, padding="SAME"), bias))
            hidden = tf.nn.max_pool2d(hidden, 2, 2, padding="SAME")
        hidden = tf.reshape(hidden, [-1, int(np.prod(hidden.shape[1:]))])
        for number, units in enumerate(sizes[0]):
            kernel = tf.get_variable(f"kernel{number}", [hidden.shape[-1], units])
            hidden = tf.nn.bias_add(tf.matmul(hidden, kernel), tf.get_variable(f"bias{number}", [units]))
            hidden = hidden if units == sizes[0][-1] else tf.nn.relu(hidden)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=hidden))
        train, initial = tf.train.AdamOptimizer(0.01).minimize(loss), tf.global_variables_initializer()
    session = tf.Session(graph=graph, config=session_config(state))
    session.run(initial)

    def steps(number: int) -> None:
        for _ in range(number):
            session.run([loss, train], {features: inputs, targets: labels})

    return steps, session.close


def session_config(state: str) -> Any:
    """Return the configuration of a session in that state."""
    import tensorflow.compat.v1 as tf
    from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.remapping = RewriterConfig.OFF
    if state.startswith("drynpu"):
        import npu_bridge  # noqa: F401 - brings the NPU to TensorFlow

        parameters = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
        parameters["use_off_line"].b = True
        parameters["profiling_mode"].b = state == "drynpu, recording"
        parameters["profiling_options"].s = OPTIONS.encode()
    return config


def keras_model(model: str) -> Any:
    """Return the compiled model."""
    import tensorflow as tf

    layers = tf.keras.layers
    inputs = layers.Input(data(model)[0].shape[1:])
    body = (
        [layers.Dense(256, "relu"), layers.Dense(256, "relu"), layers.Dense(10)]
        if model == "mlp"
        else [
            *(layers.Conv2D(16, 3, activation="relu", padding="same"), layers.MaxPool2D()),
            *(layers.Conv2D(32, 3, activation="relu", padding="same"), layers.MaxPool2D()),
            *(layers.Flatten(), layers.Dense(10)),
        ]
    )
    made = tf.keras.Sequential([inputs, *body])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    made.compile(tf.keras.optimizers.legacy.Adam(0.01), loss)
    return made


def keras_steps(model: str) -> Steps:
    """Return what trains by ``fit``."""
    import tensorflow as tf

    made = keras_model(model)
    batches = tf.data.Dataset.from_tensors(tuple(map(tf.constant, data(model)))).repeat()
    return lambda number: made.fit(batches, steps_per_epoch=number, verbose=0)


def function_steps(model: str) -> Steps:
    """Return what trains by calls of a ``tf.function``."""
    import tensorflow as tf

    made = keras_model(model)
    inputs, labels = map(tf.constant, data(model))
    optimizer = tf.keras.optimizers.legacy.Adam(0.01)

    @tf.function
    def step(inputs: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = made.compiled_loss(labels, made(inputs, training=True))
        weights = made.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    def steps(number: int) -> None:
        for _ in range(number):
            step(inputs, labels)

    return steps


@contextlib.contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Add up the time inside each stage of a recording's end, in seconds."""
    from drynpu.products import _deliver
    from drynpu.recorder import _recorder
    from drynpu_tf.capture import _trace
    from drynpu_tf.recording import _engine_recording
    from drynpu_tf.sessions import _pending

    stages = (
        ("tracer stop and reading", _trace.XplaneTracer, "stop"),
        ("tables of runs", _trace.FunctionRuns, "tables"),
        ("reading of session runs", _pending.PendingRuns, "hand_over"),
        ("one timeline", _engine_recording, "join"),
        ("write PROF", _recorder, "write_devices"),
        ("load tables", _deliver, "load_profile"),
        ("export", _deliver, "export_msprof"),
    )
    spent = dict.fromkeys((title for title, *_ in stages), 0.0)
    originals = [getattr(owner, name) for _, owner, name in stages]
    for (title, owner, name), original in zip(stages, originals, strict=True):
        setattr(owner, name, timed(original, spent, title))
    try:
        yield spent
    finally:
        for (_, owner, name), original in zip(stages, originals, strict=True):
            setattr(owner, name, original)


def timed(function: Callable[..., Any], spent: dict[str, float], title: str) -> Callable[..., Any]:
    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        begin = time.perf_counter()
        try:
            return function(*arguments, **keywords)
        finally:
            spent[title] += time.perf_counter() - begin

    return wrapper


@contextlib.contextmanager
def recorded(state: str, result: Result) -> Iterator[None]:
    """Have TensorFlow's profiler, or the device of ``npu_device``, record what is inside, if the state says so."""
    import tensorflow as tf

    level = PROFILER_LEVELS.get(state)
    if state.startswith("drynpu"):
        import npu_device

        profiling = npu_device.global_options().profiling_config
        profiling.enable_profiling = state == "drynpu, recording"
        profiling.profiling_options = OPTIONS
        npu_device.open().as_default()
        yield
        stop: Callable[[], None] = npu_device.npu_device.close
    else:
        if level is not None:
            tf.profiler.experimental.start(".", tf.profiler.experimental.ProfilerOptions(host_tracer_level=level))
        yield
        stop = tf.profiler.experimental.stop if level is not None else lambda: None
    begin = time.perf_counter()
    stop()
    result["files_s"] = time.perf_counter() - begin


def measure(way: str, model: str, state: str, number: int) -> Result:
    """Return what *number* steps cost in that state: ``step_ms``, ``files_s``, and our ``stages``."""
    result: Result = {}

    def timed_steps(steps: Steps) -> None:
        steps(WARM_UP)
        begin = time.process_time()
        steps(number)
        result["step_ms"] = (time.process_time() - begin) * 1e3 / number

    with stopwatch() if state == "drynpu, recording" else contextlib.nullcontext({}) as spent:
        if way == "session" and state not in PROFILER_LEVELS:
            steps, close = session_steps(model, state)
            timed_steps(steps)
            begin = time.perf_counter()
            close()
            result["files_s"] = time.perf_counter() - begin
        elif way == "session":
            steps, _ = session_steps(model, state)
            with recorded(state, result):
                timed_steps(steps)
        else:
            with recorded(state, result):
                timed_steps(keras_steps(model) if way == "keras" else function_steps(model))
    return {**result, "stages": spent}


def work(state: str) -> None:
    """Answer requests ``way model steps`` on stdin, one JSON document a line, until there are none."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.optimizer.set_experimental_options({"remapping": False})
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    for line in sys.stdin:
        way, model, number = line.split()
        folder = tempfile.mkdtemp(prefix="drynpu-")
        os.chdir(folder)
        measurement = measure(way, model, state, int(number))
        if state != "plain":
            written = [path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()]
            measurement["written_mb"] = sum(written) / 1e6
        os.chdir(tempfile.gettempdir())
        shutil.rmtree(folder)
        print(json.dumps(measurement), file=answers, flush=True)


class Worker:
    """A process that measures in one of the states."""

    def __init__(self, state: str) -> None:
        environment = {**os.environ, "DRYNPU_QUIET": "1", "TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--work", state],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def ask(self, way: str, model: str, number: int) -> Result:
        """Have one stretch of steps measured."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(way, model, number, file=self._process.stdin, flush=True)
        result: Result = json.loads(self._process.stdout.readline())
        return result

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def ratios(name: str, times: list[float], bases: list[float]) -> str:
    """Return the median ratio of what was measured in the same round, and the ratio of the least values."""
    rounds = [time / base for time, base in zip(times, bases, strict=True)]
    record_ratio(name, rounds)
    median = statistics.median(rounds)
    return f"{median:8.2f} x {min(times) / min(bases):6.2f} x"


def report(title: str, measurements: dict[str, list[Result]]) -> None:
    """Print the medians of one way and model, and as multiples of plain TensorFlow and of ``tf.profiler``."""

    def line(label: str, unit: str, state: str, key: str, *bases: str) -> None:
        values = [result[key] for result in measurements[state]]
        compared = "".join(
            ratios(f"{title}: {label} / {base}", values, [result[key] for result in measurements[base]])
            for base in bases
        )
        print(f"  {label:44} {statistics.median(values):9.2f} {unit:2} ({min(values):.2f}-{max(values):.2f}){compared}")

    print(title)
    for state in STATES:
        line(f"step, {state}", "ms", state, "step_ms", "plain")
    beside = "tf.profiler level 3"
    for label, unit, key in (("end to files", "s", "files_s"), ("written", "MB", "written_mb")):
        line(f"{label}, {beside}", unit, beside, key)
        line(f"{label}, drynpu", unit, "drynpu, recording", key, beside)
    for stage in measurements["drynpu, recording"][0]["stages"]:
        times = [result["stages"][stage] for result in measurements["drynpu, recording"]]
        print(f"    {stage:42} {statistics.median(times):9.2f} s")


def main() -> None:
    """Measure in turn and print."""
    if "--work" in sys.argv:
        work(sys.argv[-1])
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print("ratios to plain TensorFlow; what is left, to tf.profiler at level 3")
    workers = {state: Worker(state) for state in STATES}
    try:
        for way in WAYS:
            for model, number in STEPS.items():
                measurements: dict[str, list[Result]] = defaultdict(list)
                for turn in range(rounds):
                    for state in STATES[:: -1 if turn % 2 else 1]:
                        measurements[state].append(workers[state].ask(way, model, number))
                report(f"{model} by {way}, {number} steps", measurements)
    finally:
        for worker in workers.values():
            worker.close()


if __name__ == "__main__":
    main()
