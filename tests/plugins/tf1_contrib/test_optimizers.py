"""Optimizers of ``tf.contrib.opt`` against their formulas in NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

SCRIPT = """
import json
import npu_bridge
import numpy as np
import tensorflow as tf

START = np.array([[1.0, -2.0], [3.0, 0.5], [0.25, -1.0]], np.float32)
SLOPE = np.array([[0.5, 1.0], [-2.0, 0.25], [1.5, -0.5]], np.float32)
STEPS = 3


def trained(build, sparse=False, resource=False):
    with tf.Graph().as_default() as graph:
        weights = tf.get_variable("weights", initializer=START, use_resource=resource)
        if sparse:
            loss = tf.reduce_sum(tf.gather(weights, [0, 2]) * SLOPE[[0, 2]])
        else:
            loss = tf.reduce_sum(weights * SLOPE)
        optimizer, options = build(weights)
        train = optimizer.minimize(loss, **options)
        kinds = sorted({operator.type for operator in graph.get_operations() if "Apply" in operator.type})
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                session.run(train)
            return [session.run(weights).tolist(), kinds]


opt = tf.contrib.opt
CASES = {
    "lars": lambda w: (opt.LARSOptimizer(0.1, 0.9, weight_decay=0.01, eeta=0.02), {}),
    "lars-skipped": lambda w: (opt.LARSOptimizer(0.1, 0.9, skip_list=["weigh"]), {}),
    "lazy": lambda w: (opt.LazyAdamOptimizer(0.1), {}),
    "nadam": lambda w: (opt.NadamOptimizer(0.1), {}),
    "adamw": lambda w: (opt.AdamWOptimizer(0.01, 0.1), {}),
    "adamw-kept": lambda w: (opt.AdamWOptimizer(0.01, 0.1), {"decay_var_list": [tf.Variable(1.0)]}),
    "momentumw": lambda w: (opt.MomentumWOptimizer(0.01, 0.1, 0.9), {}),
    "extended": lambda w: (
        opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)(0.01, 0.1), {}
    ),
}
for name, build in CASES.items():
    for sparse in (False, True):
        for resource in (False, True):
            found = trained(build, sparse, resource)
            print(f"{name}/{'sparse' if sparse else 'dense'}/{resource}=" + json.dumps(found))

with tf.Graph().as_default():
    weights = tf.get_variable("weights", initializer=START)
    optimizer = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), average_decay=0.5)
    try:
        optimizer.swapping_saver()
    except RuntimeError as error:
        print("early=" + json.dumps(str(error)))
    train = optimizer.minimize(tf.reduce_sum(weights * SLOPE))
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = saver.save(session, "./averaged")
print("averaged=" + json.dumps(tf.train.load_variable(path, "weights").tolist()))
try:
    opt.LARSOptimizer(0.1, momentum=-1.0)
except ValueError as error:
    print("negative=" + json.dumps(str(error)))
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run", "--quiet")
START = np.array([[1.0, -2.0], [3.0, 0.5], [0.25, -1.0]])
SLOPE = np.array([[0.5, 1.0], [-2.0, 0.25], [1.5, -0.5]])
ROWS = np.array([[True], [False], [True]])
STEPS = range(1, 4)


def lars(weights: np.ndarray, slope: np.ndarray, scaled: bool) -> np.ndarray:
    speed = np.zeros_like(weights)
    for _ in STEPS:
        length, steep = np.linalg.norm(weights), np.linalg.norm(slope)
        scale = 0.02 * length / (steep + 0.01 * length) if scaled else 1.0
        speed = 0.9 * speed + slope
        weights = weights - 0.1 * scale * speed
    return weights


def adam(weights: np.ndarray, slope: np.ndarray, decay: float = 0.0, nesterov: bool = False) -> np.ndarray:
    moment, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in STEPS:
        weights = weights * (1 - decay)
        moment = 0.9 * moment + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        ahead = 0.9 * moment + 0.1 * slope if nesterov else moment
        weights = weights - rate * ahead / (np.sqrt(square) + 1e-8)
    return weights


def momentum(weights: np.ndarray, slope: np.ndarray, decay: float, keep: float = 0.9) -> np.ndarray:
    speed = np.zeros_like(weights)
    for _ in STEPS:
        speed = keep * speed + slope
        weights = weights * (1 - decay) - 0.1 * speed
    return weights


EXPECTED: dict[str, tuple[Any, str]] = {
    "lars": (lambda w, g, dense: lars(w, g, dense), "ApplyMomentum"),
    "lars-skipped": (lambda w, g, dense: lars(w, g, False), "ApplyMomentum"),
    "lazy": (lambda w, g, dense: adam(w, g), "ApplyAdam"),
    "nadam": (lambda w, g, dense: adam(w, g, nesterov=True), "ApplyAdam"),
    "adamw": (lambda w, g, dense: adam(w, g, 0.01), "ApplyAdam"),
    "adamw-kept": (lambda w, g, dense: adam(w, g), "ApplyAdam"),
    "momentumw": (lambda w, g, dense: momentum(w, g, 0.01), "ApplyMomentum"),
    # Gradient descent takes sparse gradients by a method that the extension leaves alone, in TensorFlow 1.15 as well.
    "extended": (lambda w, g, dense: momentum(w, g, 0.01 * dense, 0.0), "ApplyGradientDescent"),
}


@pytest.mark.slow
def test_steps_are_those_of_the_formulas(scripts: Any) -> None:
    run = scripts(SCRIPT, program=RUN)
    for name, (formula, kernel) in EXPECTED.items():
        for resource, prefix in ((False, ""), (True, "Resource")):
            weights, kinds = run.printed(f"{name}/dense/{resource}")
            np.testing.assert_allclose(weights, formula(START, SLOPE, True), rtol=2e-5, atol=3e-6, err_msg=name)
            assert kinds == [prefix + kernel]
            weights, _ = run.printed(f"{name}/sparse/{resource}")
            rows = np.where(ROWS, formula(START, SLOPE, False), START)
            np.testing.assert_allclose(weights, rows, rtol=2e-5, atol=3e-6, err_msg=f"{name} of some rows")
    # After one step the average is half of the start and half of where it went; the saver calls it `weights`.
    np.testing.assert_allclose(run.printed("averaged"), START - 0.05 * SLOPE, rtol=1e-6)
    assert run.printed("early").startswith("Must call apply_gradients or minimize")
    assert run.printed("negative") == "momentum should be positive: -1.0"


def test_words_of_hyperparameters() -> None:
    pytest.importorskip("tensorflow")
    from drynpu_tf1_contrib.hyperparameters import HParams

    params = HParams(rate=0.1, layers=2, sizes=[1, 2], kind="relu", deep=False)
    assert params.parse("rate=1,layers=3,sizes=[4,5,6],kind=tanh,deep=true") is params
    assert params.values() == {"rate": 1.0, "layers": 3, "sizes": [4, 5, 6], "kind": "tanh", "deep": True}
    params.parse("sizes[1]=9,rate=1e-3")
    assert (params.sizes, params.rate, "rate" in params, "other" in params) == ([4, 9, 6], 0.001, True, False)
    params.override_from_dict({"layers": 7})
    assert HParams(layers=1).parse_json('{"layers": 4}').to_json() == '{"layers": 4}'
    assert (params.get("layers"), params.get("other", 5)) == (7, 5)
    params.add_hparam("new", 1)
    params.del_hparam("rate")
    assert str(HParams(b=1, a=2)) == "[('a', 2), ('b', 1)]"
    for text, message in {
        "layers=x": "Could not parse hparam 'layers' of type 'int' with value 'x' in layers=x",
        "none=1": "Unknown hyperparameter type for none",
        "layers": "Malformed hyperparameter value: layers",
        "layers=[1,2]": "Must not pass a list for single-valued parameter: layers",
        "sizes=1": "Must pass a list for multi-valued parameter: sizes",
        "layers=1,layers=2": "Multiple assignments to variable 'layers'",
    }.items():
        with pytest.raises(ValueError, match=message.replace("[", r"\[")):
            params.parse(text)
    with pytest.raises(ValueError, match="Could not cast hparam 'layers'"):
        params.set_hparam("layers", 1.5)
    with pytest.raises(ValueError, match="Hyperparameter name is reserved: values"):
        HParams(values=1)
    with pytest.raises(NotImplementedError, match="as keywords"):
        HParams(hparam_def=object())
