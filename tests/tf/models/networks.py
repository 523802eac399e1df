"""
Trains a network in one of four ways and prints the losses; ``networks.py WAY NETWORK DEVICE``.

WAY is session, estimator, function or keras; NETWORK is resnet50, bert, lstm or llama; DEVICE is Ascend, which profiles
into ``out``, or CPU, where nothing of the vendor's is imported. With RANK_SIZE each rank takes its part of the batch.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import tensorflow as tf

v1, layers, keras = tf.compat.v1, tf.keras.layers, tf.keras
WORDS, TOKENS, WIDTH, HEADS, CLASSES, BATCH, STEPS = 50, 7, 24, 3, 5, 4, 3
RATE = 0.05
OPTIONS = '{"output":"out","training_trace":"on","task_time":"on","aic_metrics":"PipeUtilization"}'
RANKS, RANK = int(os.environ.get("RANK_SIZE", "1")), int(os.environ.get("RANK_ID", "0"))


def initial(seed):
    """Return an initialiser whose numbers do not depend on what was made before."""
    return keras.initializers.RandomNormal(stddev=0.1, seed=seed)


def dense(units, seed, activation=None, **more):
    return layers.Dense(units, activation, kernel_initializer=initial(seed), **more)


def attention(x, seed, *, causal):
    """Return what heads make of x, [batch, tokens, width]."""
    size = WIDTH // HEADS

    def heads(number):
        parts = tf.reshape(dense(WIDTH, seed + number, use_bias=not causal)(x), [-1, TOKENS, HEADS, size])
        return tf.transpose(parts, [0, 2, 1, 3])

    query, key, value = map(heads, range(3))
    if causal:
        query, key = rotated(query), rotated(key)
    scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(size).astype(np.float32)
    if causal:
        scores += np.triu(np.full((TOKENS, TOKENS), -1e9, np.float32), 1)
    joined = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
    return dense(WIDTH, seed + 3, use_bias=not causal)(tf.reshape(joined, [-1, TOKENS, WIDTH]))


def rotated(x):
    """Return queries or keys turned by their places."""
    half = x.shape[-1] // 2
    angles = np.arange(TOKENS)[:, None] / 100.0 ** (np.arange(half) / half)
    cosines, sines = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    low, high = x[..., :half], x[..., half:]
    return tf.concat([low * cosines - high * sines, high * cosines + low * sines], -1)


class Places(layers.Layer):
    """Adds a learned vector to each place of a text."""

    def build(self, shape):
        self.places = self.add_weight("places", list(shape[1:]), initializer=initial(2))

    def call(self, x):
        return x + self.places


class RootMeanSquare(layers.Layer):
    """Scales by the root of the mean square."""

    def build(self, shape):
        self.gamma = self.add_weight("gamma", [shape[-1]], initializer="ones")

    def call(self, x):
        return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-5) * self.gamma


def bert(words):
    x = Places()(layers.Embedding(WORDS, WIDTH, embeddings_initializer=initial(1))(words))
    x = layers.LayerNormalization()(x)
    for seed in (10, 20):
        x = layers.LayerNormalization()(x + attention(x, seed, causal=False))
        hidden = dense(4 * WIDTH, seed + 4, lambda y: tf.nn.gelu(y, approximate=True))(x)
        x = layers.LayerNormalization()(x + dense(WIDTH, seed + 5)(hidden))
    return dense(CLASSES, 3)(x[:, 0])


def llama(words):
    x = layers.Embedding(WORDS, WIDTH, embeddings_initializer=initial(1))(words)
    for seed in (10, 20):
        x += attention(RootMeanSquare()(x), seed, causal=True)
        y = RootMeanSquare()(x)
        gate = dense(2 * WIDTH, seed + 4, tf.nn.silu, use_bias=False)(y)
        x += dense(WIDTH, seed + 6, use_bias=False)(gate * dense(2 * WIDTH, seed + 5, use_bias=False)(y))
    return dense(CLASSES, 3, use_bias=False)(RootMeanSquare()(x)[:, -1])


def lstm(words):
    x = layers.Embedding(WORDS, WIDTH, embeddings_initializer=initial(1))(words)
    for seed in (10, 20):
        cell = layers.LSTMCell(16, kernel_initializer=initial(seed), recurrent_initializer=initial(seed + 1))
        x = layers.RNN(cell, return_sequences=seed == 10, unroll=True)(x)
    return dense(CLASSES, 3)(x)


def resnet50(images):
    """Return the logits of a ResNet-50, version 1.5: strides in the convolutions of 3 by 3."""

    def convolution(x, channels, size, stride, seed):
        x = layers.Conv2D(channels, size, stride, "same", use_bias=False, kernel_initializer=initial(seed))(x)
        return layers.BatchNormalization()(x, training=True)

    x = layers.MaxPool2D(3, 2, "same")(tf.nn.relu(convolution(images, 64, 7, 2, 1)))
    seed = 10
    for channels, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            stride = first if block == 0 else 1
            y = tf.nn.relu(convolution(x, channels, 1, 1, seed))
            y = tf.nn.relu(convolution(y, channels, 3, stride, seed + 1))
            y = convolution(y, 4 * channels, 1, 1, seed + 2)
            x = convolution(x, 4 * channels, 1, stride, seed + 3) if block == 0 else x
            x, seed = tf.nn.relu(x + y), seed + 4
    return dense(CLASSES, 3)(tf.reduce_mean(x, [1, 2]))


def data(network):
    """Return the inputs and the labels of every step, of this rank."""
    draw = np.random.RandomState(3)
    shape = (STEPS, BATCH, 32, 32, 3) if network == "resnet50" else (STEPS, BATCH, TOKENS)
    inputs = draw.randn(*shape).astype(np.float32) if network == "resnet50" else draw.randint(0, WORDS, shape)
    labels, part = draw.randint(0, CLASSES, (STEPS, BATCH)), BATCH // RANKS
    mine = slice(RANK * part, (RANK + 1) * part)
    return inputs[:, mine].astype(np.int32 if inputs.dtype.kind == "i" else np.float32), labels[:, mine].astype(
        np.int32
    )


def loss_of(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def session_config(device):
    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.remapping = 2
    if device == "Ascend":
        parameters = config.graph_options.rewrite_options.custom_optimizers.add(name="NpuOptimizer").parameter_map
        parameters["use_off_line"].b = True
        parameters["profiling_mode"].b = True
        parameters["profiling_options"].s = OPTIONS.encode()
    return config


def optimizer_of(device):
    optimizer = v1.train.MomentumOptimizer(RATE, 0.9)
    if device == "Ascend" and RANKS > 1:
        from npu_bridge.npu_init import npu_distributed_optimizer_wrapper

        return npu_distributed_optimizer_wrapper(optimizer)
    return optimizer


def by_session(build, network, device):
    if device == "Ascend":
        import npu_bridge.npu_init  # noqa: F401 - brings the NPU to TensorFlow
    v1.disable_eager_execution()
    inputs, labels = data(network)
    features = v1.placeholder(inputs.dtype, [None, *inputs.shape[2:]])
    targets = v1.placeholder(tf.int32, [None])
    loss = loss_of(build(features), targets)
    train = optimizer_of(device).minimize(loss)
    with v1.Session(config=session_config(device)) as session:
        session.run(v1.global_variables_initializer())
        return [session.run([loss, train], {features: x, targets: y})[0] for x, y in zip(inputs, labels, strict=True)]


def by_estimator(build, network, device):
    losses = []

    class Watch(v1.train.SessionRunHook):
        def before_run(self, context):
            return v1.train.SessionRunArgs(context.session.graph.get_tensor_by_name("watched:0"))

        def after_run(self, context, values):
            losses.append(values.results)

    def model(features, labels, mode):
        loss = tf.identity(loss_of(build(features), labels), "watched")
        train = optimizer_of(device).minimize(loss, v1.train.get_or_create_global_step())
        specification = v1.estimator.EstimatorSpec
        if device == "Ascend":
            from npu_bridge.npu_init import NPUEstimatorSpec as specification  # noqa: N813 - of one kind
        return specification(mode, loss=loss, train_op=train)

    def batches():
        return v1.data.Dataset.from_tensor_slices(data(network))

    if device == "Ascend":
        from npu_bridge.npu_init import NPUEstimator, NPURunConfig, ProfilingConfig

        profiling = ProfilingConfig(enable_profiling=True, profiling_options=OPTIONS)
        config = NPURunConfig(
            model_dir=f"model{RANK}", profiling_config=profiling, session_config=session_config("CPU"), tf_random_seed=1
        )
        estimator = NPUEstimator(model, config=config)
    else:
        plain = session_config("CPU")
        # NPURunConfig names these, as the vendor's does; they decide how sums are rounded.
        passes = ["pruning", "function", "constfold", "shape", "arithmetic", "loop", "dependency", "layout"]
        plain.graph_options.rewrite_options.optimizers.extend(passes)
        config = v1.estimator.RunConfig("model", tf_random_seed=1, session_config=plain)
        estimator = v1.estimator.Estimator(model, config=config)
    estimator.train(batches, hooks=[Watch()], steps=STEPS)
    return losses


def open_npu(device):
    if device != "Ascend":
        return
    import npu_device

    profiling = npu_device.global_options().profiling_config
    profiling.enable_profiling, profiling.profiling_options = True, OPTIONS
    npu_device.open().as_default()


def model_of(build, network):
    inputs, _ = data(network)
    features = layers.Input(inputs.shape[2:], dtype=inputs.dtype)
    return keras.Model(features, build(features))


def by_function(build, network, device):
    open_npu(device)
    model, optimizer = model_of(build, network), keras.optimizers.legacy.SGD(RATE, 0.9)
    if device == "Ascend" and RANKS > 1:
        import npu_device

        optimizer = npu_device.distribute.npu_distributed_keras_optimizer_wrapper(optimizer)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(model(x, training=True), y)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    return [step(tf.constant(x), tf.constant(y)).numpy() for x, y in zip(*data(network), strict=True)]


def by_keras(build, network, device):
    open_npu(device)
    losses = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            losses.append(logs["loss"])

    model, optimizer = model_of(build, network), keras.optimizers.legacy.SGD(RATE, 0.9)
    if device == "Ascend" and RANKS > 1:
        import npu_device

        optimizer = npu_device.distribute.npu_distributed_keras_optimizer_wrapper(optimizer)
    model.compile(optimizer, lambda y, logits: loss_of(logits, tf.reshape(y, [-1])))
    for x, y in zip(*data(network), strict=True):
        model.fit(x, y, batch_size=len(x), verbose=0, callbacks=[Watch()])
    return losses


def main(way, network, device):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(1)
    # Without it TensorFlow's own losses differ in the last places from run to run.
    tf.config.experimental.enable_op_determinism()
    tf.config.optimizer.set_experimental_options({"remapping": False})
    ways = {"session": by_session, "estimator": by_estimator, "function": by_function, "keras": by_keras}
    networks = {"resnet50": resnet50, "bert": bert, "lstm": lstm, "llama": llama}
    print("losses=" + json.dumps([float(loss) for loss in ways[way](networks[network], network, device)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
