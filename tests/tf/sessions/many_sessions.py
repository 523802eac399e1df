"""One process, many sessions: the script whose directories test_session_run.py reads."""

from __future__ import annotations

import json
import threading
import time

import npu_bridge  # noqa: F401
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def config(output, off_line=True, mode=True, text=None, **options):
    """Return a configuration with the given profiling options."""
    proto = tf.ConfigProto()
    custom_op = proto.graph_options.rewrite_options.custom_optimizers.add()
    custom_op.name = "NpuOptimizer"
    custom_op.parameter_map["use_off_line"].b = off_line
    custom_op.parameter_map["profiling_mode"].b = mode
    text = text or json.dumps({"output": f"./{output}", "training_trace": "on", **options})
    custom_op.parameter_map["profiling_options"].s = tf.compat.as_bytes(text)
    return proto


def error_of(call):
    """Return what a call raises: name and text."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, the test names it
        return [type(error).__name__, str(error)]
    return None


def show(name, value):
    """Print a value for the test."""
    print(f"{name}={json.dumps(value)}")


features = tf.placeholder(tf.float32, [None, 8], name="features")
weights = tf.get_variable("w", [8, 4], initializer=tf.constant_initializer(0.5))
logits = tf.matmul(features, weights, name="matmul")
total = tf.reduce_sum(logits, name="total")
grow = tf.assign_add(weights, tf.fill([8, 4], 1.5), name="grow")
loss = tf.reduce_mean(tf.nn.softmax(logits, name="softmax")[:, 0])
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
numbers = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next()
three, five = np.ones((3, 8), np.float32), np.ones((5, 8), np.float32)

refused = [
    '{"output":"./bad","task_time":"maybe"}',
    '{"output":"./bad",task_trace":"on"}',
    '{"output":"./bad","foo":"on"}',
    '{"training_trace":"on"}',
    '{"output":"./b;ad"}',
]
show("refused", [error_of(lambda text=text: tf.Session(config=config("bad", text=text))) for text in refused])

for proto in (config("off", off_line=False), config("off", mode=False), None):
    with tf.Session(config=proto) as sess:
        sess.run(weights.initializer)

with tf.Session(config=config("training")) as sess:
    sess.run(tf.global_variables_initializer())
    for batch in (three,) * 5 + (five,):
        sess.run([loss, train], {features: batch})

for output, end in (("named", "gradients/matmul_grad/MatMul_1"), ("nowhere", "nowhere")):
    with tf.Session(config=config(output, fp_point="softmax", bp_point=end)) as sess:
        sess.run(weights.initializer)
        sess.run([loss, train], {features: three})


def slow(row):
    """Return a row, late."""
    time.sleep(0.03)
    return row


proto = config("schedule")
proto.graph_options.rewrite_options.custom_optimizers[0].parameter_map["enable_data_pre_proc"].b = True
with tf.Graph().as_default(), tf.Session(config=proto) as sess:
    late = tf.data.Dataset.from_tensors(three).repeat().map(lambda row: tf.py_function(slow, [row], tf.float32))
    iterator = tf.data.make_initializable_iterator(late)
    batch = tf.reshape(iterator.get_next(), [3, 8])
    step = tf.train.get_or_create_global_step()
    rate = tf.multiply(tf.math.exp(-tf.cast(step, tf.float32)), 0.1, name="rate")
    scheduled = tf.get_variable("w", [8, 4], initializer=tf.constant_initializer(0.5))
    cost = tf.reduce_mean(tf.matmul(batch, scheduled, name="mm") ** 2)
    update = tf.train.GradientDescentOptimizer(rate).minimize(cost, step)
    sess.run([tf.global_variables_initializer(), iterator.initializer])
    for _ in range(3):
        sess.run([cost, update])

with tf.Session(config=config("callables")) as sess:
    sess.run(weights.initializer)
    of_feed, of_tensor = sess.make_callable(total, [features]), sess.make_callable(grow)
    of_operation, of_list = sess.make_callable(weights.initializer), sess.make_callable([total], [features])
    values = [of_feed(three), of_feed(five), of_list(three)[0], total.eval({features: three}), of_tensor().sum()]
    show("callables", [*map(float, values), of_operation()])
    errors = [
        error_of(lambda: sess.run(total)),
        error_of(lambda: [sess.run(numbers) for _ in range(3)]),
        error_of(of_feed),
        error_of(lambda: of_feed(three, three)),
    ]
    show("errors", [name for name, _ in errors])

with tf.Session(config=config("metadata")) as sess:
    sess.run(weights.initializer)
    asked = {
        "nothing": None,
        "graphs": tf.RunOptions(output_partition_graphs=True),
        "trace": tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
    }
    found = {}
    for name, options in asked.items():
        metadata = tf.RunMetadata()
        sess.run(total, {features: three}, options=options, run_metadata=metadata)
        found[name] = [len(metadata.step_stats.dev_stats), len(metadata.partition_graphs)]
    show("metadata", found)
    sums = []
    for _ in range(2):
        handle = sess.partial_run_setup([logits, total], [features])
        sums += [float(sess.partial_run(handle, logits, {features: three}).sum())]
        sums += [float(sess.partial_run(handle, total))]
    show("partial", sums)

first, second = tf.Session(config=config("first")), tf.Session(config=config("second"))
first.run(weights.initializer)
second.run(weights.initializer)
first.close()
second.run(total, {features: three})
second.close()
second.close()

for _ in range(2):
    with tf.Session(config=config("one_by_one")) as sess:
        sess.run(weights.initializer)

with tf.Session(config=config("threads")) as sess:
    sess.run(weights.initializer)
    threads = [
        threading.Thread(target=lambda: [sess.run(total, {features: three}) for _ in range(10)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

with tf.Graph().as_default(), tf.Session(config=config("keras")) as sess:
    tf.keras.backend.set_session(sess)
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(8,)), tf.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(np.ones((12, 8)), np.zeros((12, 2)), batch_size=4, epochs=1, verbose=0)

left_open = tf.Session(config=config("left_open"))
left_open.run(weights.initializer)
left_open.run(total, {features: three})
raise SystemExit(3)
