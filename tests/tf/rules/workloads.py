"""
What scripts run on TensorFlow: sessions, an Estimator and Keras, with the operator types that were executed.

Started by ``test_executed.py`` in a process of its own: ``python workloads.py OUT.json [GROUP...]`` writes for every
group the types of all nodes that ran, and for sessions what the rules need to know of each node.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.python.profiler import profiler_v2
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from drynpu_tf.rules import attributes_of, dtype_name

tf1 = tf.compat.v1
RNG = np.random.default_rng(7)
GRAPHS: list[list[dict[str, Any]]] = []
"""The nodes of every run of a session."""
OFF = rewriter_config_pb2.RewriterConfig.OFF


def _config() -> Any:
    config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.remapping = OFF
    return config


def _nodes(metadata: Any) -> list[dict[str, Any]]:
    """Return the executed nodes of a run: type, where inputs come from, what was returned, attributes."""
    made: dict[str, dict[int, Any]] = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:  # in a loop once per turn, with the outputs of that turn
            made.setdefault(node.node_name, {}).update({o.slot: o.tensor_description for o in node.output})
    return [
        {
            "name": node.name,
            "op": node.op,
            "inputs": [_place(text) for text in node.input if not text.startswith("^")],
            "outputs": [
                [dtype_name(t.dtype), [dim.size for dim in t.shape.dim]] if t is not None else None
                for t in (made[node.name].get(i) for i in range(max(made[node.name], default=-1) + 1))
            ],
            "attrs": attributes_of(node),
        }
        for graph in metadata.partition_graphs
        for node in graph.node
        if node.name in made
    ]


def _place(text: str) -> tuple[str, int]:
    name, colon, slot = text.rpartition(":")
    return (name, int(slot)) if colon else (text, 0)


def _session_types(session: Any, fetches: Any, feed: dict[Any, Any] | None = None) -> set[str]:
    """Run once with a full trace and return the types of the nodes that ran."""
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = tf1.RunMetadata()
    session.run(fetches, feed_dict=feed, options=options, run_metadata=metadata)
    types = {
        stats.timeline_label.split(" = ", 1)[1].split("(", 1)[0]
        for device in metadata.step_stats.dev_stats
        for stats in device.node_stats
        if " = " in stats.timeline_label
    }
    for graph in metadata.partition_graphs:
        types |= {node.op for node in graph.node}
    GRAPHS.append(_nodes(metadata))
    return types


def _run_graph(build: Callable[[], tuple[Any, dict[Any, Any]]], *, resource: bool) -> set[str]:
    graph = tf.Graph()
    with graph.as_default():
        tf1.set_random_seed(1)
        (tf1.enable_resource_variables if resource else tf1.disable_resource_variables)()
        fetches, feed = build()
        with tf1.Session(config=_config()) as session:
            types = _session_types(session, tf1.global_variables_initializer())
            types |= _session_types(session, fetches, feed)
    tf1.enable_resource_variables()
    return types


def _optimizers() -> list[Any]:
    train = tf1.train
    return [
        train.GradientDescentOptimizer(0.1),
        train.MomentumOptimizer(0.1, 0.9),
        train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        train.AdamOptimizer(0.01),
        train.RMSPropOptimizer(0.01),
        train.AdagradOptimizer(0.01),
    ]


def _dense(x: Any, width: int, name: str, activation: Any = None) -> Any:
    weight = tf1.get_variable(f"{name}/kernel", [x.shape[-1], width])
    bias = tf1.get_variable(f"{name}/bias", [width], initializer=tf1.zeros_initializer())
    out = tf1.nn.bias_add(tf1.matmul(x, weight), bias)
    return activation(out) if activation else out


def _mlp() -> tuple[Any, dict[Any, Any]]:
    x, y = tf1.placeholder(tf.float32, [None, 32]), tf1.placeholder(tf.int64, [None])
    hidden = tf1.nn.dropout(_dense(x, 64, "a", tf1.nn.relu), rate=0.2)
    hidden = _dense(_dense(hidden, 32, "b", tf1.nn.tanh), 16, "c", tf1.nn.sigmoid)
    logits = _dense(hidden, 10, "d")
    loss = tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    loss += 1e-4 * tf1.add_n([tf1.nn.l2_loss(v) for v in tf1.trainable_variables()])
    accuracy = tf1.reduce_mean(tf1.cast(tf1.equal(tf1.argmax(logits, 1), y), tf.float32))
    step = tf1.train.get_or_create_global_step()
    rate = tf1.train.exponential_decay(0.1, step, 10, 0.9)
    grads = tf1.train.GradientDescentOptimizer(rate).compute_gradients(loss)
    clipped, _ = tf1.clip_by_global_norm([g for g, _ in grads], 5.0)
    train = [
        tf1.train.GradientDescentOptimizer(rate).apply_gradients(
            zip(clipped, [v for _, v in grads], strict=True), global_step=step
        )
    ]
    train += [optimizer.minimize(loss) for optimizer in _optimizers()]
    fetches = [loss, accuracy, *train, tf1.nn.top_k(logits, 3), tf1.nn.softmax(logits)]
    return fetches, {x: RNG.normal(size=(8, 32)), y: RNG.integers(0, 10, 8)}


def _conv() -> tuple[Any, dict[Any, Any]]:
    x, y = tf1.placeholder(tf.float32, [8, 16, 16, 3]), tf1.placeholder(tf.float32, [8, 10])

    def conv(inputs: Any, channels: int, name: str, stride: int = 1) -> Any:
        weight = tf1.get_variable(f"{name}/kernel", [3, 3, inputs.shape[-1], channels])
        return tf1.nn.conv2d(inputs, weight, [1, stride, stride, 1], "SAME")

    def norm(inputs: Any, name: str, *, training: bool = True) -> Any:
        width = inputs.shape[-1]
        scale = tf1.get_variable(f"{name}/gamma", [width], initializer=tf1.ones_initializer())
        offset = tf1.get_variable(f"{name}/beta", [width], initializer=tf1.zeros_initializer())
        mean = tf1.get_variable(f"{name}/mean", [width], trainable=False, initializer=tf1.zeros_initializer())
        var = tf1.get_variable(f"{name}/var", [width], trainable=False, initializer=tf1.ones_initializer())
        if not training:
            return tf1.nn.fused_batch_norm(inputs, scale, offset, mean, var, is_training=False)[0]
        out, m, v = tf1.nn.fused_batch_norm(inputs, scale, offset)
        tf1.add_to_collection(tf1.GraphKeys.UPDATE_OPS, tf1.assign(mean, mean * 0.9 + m * 0.1))
        tf1.add_to_collection(tf1.GraphKeys.UPDATE_OPS, tf1.assign_sub(var, (var - v) * 0.1))
        return out

    h = tf1.nn.relu(norm(conv(x, 16, "a"), "a_bn"))
    h = tf1.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    bias = tf1.get_variable("b/bias", [16])
    h = tf1.nn.relu(h + tf1.nn.relu(tf1.nn.bias_add(conv(h, 16, "b"), bias)))
    h = tf1.nn.relu6(norm(conv(h, 32, "c", 2), "c_bn", training=False))
    h = tf1.nn.depthwise_conv2d(h, tf1.get_variable("d/kernel", [3, 3, 32, 1]), [1, 1, 1, 1], "SAME")
    h = tf1.nn.leaky_relu(tf1.nn.avg_pool(h, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"))
    up = tf1.nn.conv2d_transpose(h, tf1.get_variable("u/kernel", [3, 3, 8, 32]), [8, 8, 8, 8], [1, 2, 2, 1])
    h = tf1.concat([tf1.reduce_mean(h, [1, 2]), tf1.reduce_max(up, [1, 2])], 1)
    loss = tf1.reduce_mean(tf1.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=_dense(h, 10, "e")))
    with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
        train = tf1.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    return [loss, train], {x: RNG.normal(size=(8, 16, 16, 3)), y: np.eye(10)[RNG.integers(0, 10, 8)]}


def _recurrent() -> tuple[Any, dict[Any, Any]]:
    x, y = tf1.placeholder(tf.int32, [4, 6]), tf1.placeholder(tf.int32, [4])
    embedded = tf1.nn.embedding_lookup(tf1.get_variable("embedding", [50, 16]), x)
    cell = tf1.nn.rnn_cell
    out, _ = tf1.nn.dynamic_rnn(cell.LSTMCell(8), embedded, dtype=tf.float32, scope="l")
    out, state = tf1.nn.dynamic_rnn(cell.GRUCell(8), out, sequence_length=[6, 5, 4, 3], dtype=tf.float32, scope="g")
    loss = tf1.reduce_sum(
        tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=_dense(state, 3, "h")) * tf1.one_hot(0, 4)
    ) + tf1.reduce_mean(out)
    trains = [optimizer.minimize(loss) for optimizer in _optimizers()[1:4:2]]
    return [loss, *trains], {x: RNG.integers(0, 50, (4, 6)), y: RNG.integers(0, 3, 4)}


def _sparse() -> tuple[Any, dict[Any, Any]]:
    """An embedding alone: the gradient has rows, and every optimizer its own operator for that."""
    x = tf1.placeholder(tf.int32, [4])
    loss = tf1.reduce_sum(tf1.square(tf1.nn.embedding_lookup(tf1.get_variable("embedding", [50, 16]), x)))
    return [loss, *(optimizer.minimize(loss) for optimizer in _optimizers())], {x: RNG.integers(0, 50, 4)}


def _transformer() -> tuple[Any, dict[Any, Any]]:
    tokens = tf1.placeholder(tf.int32, [2, 6])
    width, heads = 16, 4

    def norm(x: Any, name: str) -> Any:
        mean, variance = tf1.nn.moments(x, [-1], keepdims=True)
        scale, offset = tf1.get_variable(f"{name}/g", [width]), tf1.get_variable(f"{name}/b", [width])
        return tf1.nn.batch_normalization(x, mean, variance, offset, scale, 1e-6)

    def dense(x: Any, to: int, name: str) -> Any:
        return tf1.tensordot(x, tf1.get_variable(f"{name}/k", [x.shape[-1], to]), 1) + tf1.get_variable(
            f"{name}/b", [to]
        )

    def split(x: Any) -> Any:
        return tf1.transpose(tf1.reshape(x, [2, 6, heads, width // heads]), [0, 2, 1, 3])

    x = tf1.gather(tf1.get_variable("table", [50, width]), tokens) + tf1.get_variable("positions", [6, width])
    h = norm(x, "n1")
    q, k, v = (split(t) for t in tf1.split(dense(h, 3 * width, "qkv"), 3, -1))
    scores = tf1.matmul(q, k, transpose_b=True) / np.sqrt(width / heads)
    mask = tf1.linalg.band_part(tf1.ones([6, 6]), -1, 0)
    weights = tf1.nn.dropout(tf1.nn.softmax(scores + (1.0 - mask) * -1e9), rate=0.1)
    context = tf1.reshape(tf1.transpose(tf1.matmul(weights, v), [0, 2, 1, 3]), [2, 6, width])
    x = x + dense(context, width, "o")
    f = dense(norm(x, "n2"), 32, "f1")
    gelu = 0.5 * f * (1.0 + tf1.tanh(np.sqrt(2 / np.pi) * (f + 0.044715 * tf1.pow(f, 3))))
    x = x + dense(gelu * tf1.erf(f), width, "f2")
    logits = tf1.einsum("bsh,vh->bsv", x, tf1.get_variable("out", [50, width]))
    losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=tokens, logits=logits)
    keep = tf1.cast(tf1.not_equal(tokens, 0), tf.float32)
    loss = tf1.reduce_sum(losses * keep) / (tf1.reduce_sum(keep) + 1e-5)
    return [loss, tf1.train.AdamOptimizer(1e-3).minimize(loss)], {tokens: RNG.integers(0, 50, (2, 6))}


def sessions() -> set[str]:
    """Graphs run by sessions, with both kinds of variables."""
    types: set[str] = set()
    with tf.Graph().as_default():
        tf1.disable_control_flow_v2()
    for build in (_mlp, _conv, _recurrent, _transformer):
        types |= _run_graph(build, resource=True)
    for build in (_mlp, _sparse):
        types |= _run_graph(build, resource=False)
    types |= _run_graph(_sparse, resource=True)
    return types


class _Traced(tf1.train.SessionRunHook):  # type: ignore[misc]
    """Asks for a full trace of every run and keeps the types."""

    def __init__(self, types: set[str]) -> None:
        self.types = types

    def before_run(self, run_context: Any) -> Any:
        """Ask for the trace."""
        del run_context
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
        return tf1.train.SessionRunArgs(None, options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Keep the types."""
        del run_context
        for graph in run_values.run_metadata.partition_graphs:
            self.types |= {node.op for node in graph.node}


def estimator() -> set[str]:
    """An Estimator that trains, evaluates and predicts from a dataset."""
    types: set[str] = set()

    def input_fn() -> Any:
        data = {"x": RNG.normal(size=(64, 8)).astype(np.float32)}, RNG.integers(0, 3, 64)
        return tf.data.Dataset.from_tensor_slices(data).shuffle(64).repeat(2).batch(16).prefetch(1)

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        hidden = _dense(features["x"], 16, "a", tf1.nn.relu)
        logits = _dense(hidden, 3, "b")
        classes = tf1.argmax(logits, 1)
        if mode == "infer":
            return tf1.estimator.EstimatorSpec(
                mode, predictions={"classes": classes}, prediction_hooks=[_Traced(types)]
            )
        loss = tf1.losses.sparse_softmax_cross_entropy(labels, logits)
        train = tf1.train.AdamOptimizer(0.01).minimize(loss, global_step=tf1.train.get_global_step())
        return tf1.estimator.EstimatorSpec(
            mode,
            loss=loss,
            train_op=train,
            eval_metric_ops={"accuracy": tf1.metrics.accuracy(labels, classes)},
            training_hooks=[_Traced(types)],
            evaluation_hooks=[_Traced(types)],
        )

    with tempfile.TemporaryDirectory() as folder:
        run = tf1.estimator.RunConfig(model_dir=folder, session_config=_config(), save_summary_steps=2)
        model = tf1.estimator.Estimator(model_fn, config=run)
        model.train(input_fn, steps=4)
        model.evaluate(input_fn, steps=2)
        next(iter(model.predict(lambda: input_fn().map(lambda x, _: x))))
    return types


def _profiled(work: Callable[[], object]) -> set[str]:
    """Return the types of the nodes that ran meanwhile, from the profiler of TensorFlow's runtime."""
    with tempfile.TemporaryDirectory() as folder:
        profiler_v2.start(folder, profiler_v2.ProfilerOptions(host_tracer_level=3, python_tracer_level=0))
        try:
            work()
        finally:
            profiler_v2.stop()
        types: set[str] = set()
        for path in Path(folder).rglob("*.xplane.pb"):
            space = xplane_pb2.XSpace.FromString(path.read_bytes())
            for plane in space.planes:
                names = {number: (meta.name, meta.display_name) for number, meta in plane.event_metadata.items()}
                for line in plane.lines:
                    for event in line.events:
                        name, display = names[event.metadata_id]
                        if name.startswith("EagerLocalExecute: "):
                            types.add(name.split(": ", 1)[1])
                        elif display and name.endswith(":" + display):
                            types.add(display)
        return types


def _keras_models() -> list[tuple[Any, Any, Any, Any]]:
    keras = tf.keras
    layers, optimizers = keras.layers, keras.optimizers
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    image, labels = RNG.normal(size=(8, 12, 12, 3)), RNG.integers(0, 4, 8)
    tokens = RNG.integers(0, 30, (8, 5))
    mlp = keras.Sequential([layers.Dense(16, "relu"), layers.Dropout(0.2), layers.Dense(4)])
    conv = keras.Sequential(
        [
            layers.Rescaling(0.5),
            layers.Conv2D(8, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(8, 3, padding="same"),
            layers.AveragePooling2D(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4),
        ]
    )

    def recurrent(layer: Any) -> Any:
        return keras.Sequential([layers.Embedding(30, 8), layer, layers.Dense(4)])

    inputs = keras.Input([5], dtype=tf.int32)
    x = layers.Embedding(30, 16)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8, dropout=0.1)(x, x, use_causal_mask=True))
    x = layers.LayerNormalization()(x + layers.Dense(16)(layers.Dense(32, "gelu")(x)))
    block = keras.Model(inputs, layers.Dense(4)(layers.GlobalAveragePooling1D()(x)))
    return [
        (mlp, optimizers.SGD(0.1), (RNG.normal(size=(8, 6)), labels), sparse),
        (conv, optimizers.SGD(0.1, momentum=0.9), (image, labels), sparse),
        (recurrent(layers.LSTM(8)), optimizers.Adam(), (tokens, labels), sparse),
        (recurrent(layers.GRU(8)), optimizers.legacy.SGD(0.1, 0.9), (tokens, labels), sparse),
        (block, optimizers.AdamW(), (tokens, labels), sparse),
    ]


def keras() -> set[str]:
    """Keras models that are fitted, evaluated and asked."""
    types: set[str] = set()
    models: list[tuple[Any, Any, Any, Any]] = []
    types |= _profiled(lambda: models.extend(_keras_models()))
    for model, optimizer, (x, y), loss in models:
        model.compile(optimizer, loss, metrics=["accuracy"])
        data = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a, b)).batch(4).prefetch(1)

        def work(model: Any = model, data: Any = data, *, more: bool = model is models[0][0]) -> None:
            model.fit(data, verbose=0)
            if more:
                model.evaluate(data, verbose=0)
                model.predict(data, verbose=0)

        types |= _profiled(work)
    return types


def functions() -> set[str]:
    """A step of one's own: a function, and the same eagerly."""
    weight, bias = tf.Variable(RNG.normal(size=(6, 4)), dtype=tf.float32), tf.Variable(tf.zeros([4]))
    optimizer = tf.keras.optimizers.Adam()

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(tf.matmul(x, weight) + bias)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, [weight, bias]), [weight, bias], strict=True))
        return loss

    compiled = tf.function(step)
    x, y = tf.constant(RNG.normal(size=(8, 6)), tf.float32), tf.constant(RNG.integers(0, 4, 8))

    @tf.function
    def many(n: Any) -> Any:
        total = tf.constant(0.0)
        for _ in tf.range(n):
            total += compiled(x, y)
        return total if total > 0 else -total

    return _profiled(lambda: (step(x, y), compiled(x, y), many(tf.constant(3))))


GROUPS: dict[str, Callable[[], set[str]]] = {
    "sessions": sessions,
    "estimator": estimator,
    "keras": keras,
    "functions": functions,
}


def main(out: str, *groups: str) -> None:
    """Write the executed types of each group."""
    found = {group: sorted(GROUPS[group]()) for group in groups or GROUPS}
    Path(out).write_text(json.dumps({"types": found, "graphs": GRAPHS}))


if __name__ == "__main__":
    main(*sys.argv[1:])
