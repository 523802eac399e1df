"""One session that runs operators of images, volumes and texts: test_modelzoo_operators.py reads what it leaves."""

from __future__ import annotations

import json

import npu_bridge  # noqa: F401
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
proto = tf.ConfigProto()
proto.graph_options.rewrite_options.custom_optimizers.add().name = "NpuOptimizer"
parameters = proto.graph_options.rewrite_options.custom_optimizers[0].parameter_map
parameters["profiling_mode"].b = True
parameters["profiling_options"].s = tf.compat.as_bytes(json.dumps({"output": "./out", "training_trace": "on"}))

raw = tf.raw_ops
image = tf.placeholder(tf.float32, [2, 4, 6, 3], name="image")
volume = tf.placeholder(tf.float32, [2, 4, 5, 6, 3], name="volume")
filters = tf.get_variable("filters", [3, 3, 3, 3, 8], initializer=tf.ones_initializer())
table = tf.get_variable("table", [50, 4], initializer=tf.ones_initializer(), use_resource=True)

bilinear = tf.image.resize_bilinear(image, [8, 12], name="bilinear")
nearest = tf.image.resize_nearest_neighbor(image, [8, 12], name="nearest")
mirrored = tf.pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT", name="mirrored")
lrn = tf.nn.lrn(image, name="lrn")
convolved = tf.nn.conv3d(volume, filters, [1, 1, 1, 1, 1], "SAME", name="convolved")
pooled = tf.nn.max_pool3d(convolved, 2, 2, "SAME", name="pooled3d")
averaged = tf.nn.avg_pool3d(convolved, 2, 2, "SAME", name="averaged3d")
loss = sum(tf.reduce_sum(each * each) for each in (bilinear, nearest, mirrored, lrn, pooled, averaged))
gradients = tf.gradients(loss, [image, filters, volume])
others = [
    tf.space_to_depth(image, 2),
    tf.depth_to_space(tf.space_to_depth(image, 2), 2),
    tf.space_to_batch_nd(image, [2, 2], [[0, 0], [0, 0]]),
    tf.batch_to_space_nd(tf.space_to_batch_nd(image, [2, 2], [[0, 0], [0, 0]]), [2, 2], [[0, 0], [0, 0]]),
    tf.image.extract_patches(image, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"),
    tf.nn.max_pool_with_argmax(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[1],
    raw.RGBToHSV(images=image),
    raw.HSVToRGB(images=image),
    raw.AdjustHue(images=image, delta=0.1),
    raw.AdjustSaturation(images=image, scale=1.5),
    raw.AdjustContrastv2(images=image, contrast_factor=2.0),
    tf.image.resize_bicubic(image, [8, 12]),
]
choice = tf.where(tf.equal(tf.placeholder(tf.string, [], name="text"), "a"), "b", "c")
sparse = raw.ResourceSparseApplyProximalGradientDescent(
    var=table.handle, alpha=0.1, l1=0.0, l2=0.0, grad=tf.ones([3, 4]), indices=[1, 5, 9]
)

with tf.Session(config=proto) as session:
    session.run(tf.global_variables_initializer())
    feed = {image: np.random.RandomState(0).rand(2, 4, 6, 3), volume: np.ones([2, 4, 5, 6, 3])}
    values = session.run([loss, *gradients, *others, choice], {**feed, "text:0": "a"})
    session.run(sparse)
print("found=" + json.dumps([float(values[0]), values[-1].decode()]))
