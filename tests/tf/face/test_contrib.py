"""What a script for TensorFlow 1 is told of ``tf.contrib``, and whether it is there."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from drynpu_tf.face._contrib import NAMES, _wanted

SCRIPT = """
import json
import npu_bridge
import numpy as np
import tensorflow as tf
from drynpu_tf.face._contrib import NAMES

def error_of(do):
    try:
        do()
    except (AttributeError, ImportError) as error:
        return str(error)

def imported():
    from tensorflow.contrib.rnn import GRUCell, LSTMCell as Cell

def initial():
    return tf.get_variable("w", [3, 4], initializer=tf.contrib.layers.xavier_initializer())

print("told=" + json.dumps([error_of(initial), error_of(imported), hasattr(tf, "contrib")]))
missing = []
for place in NAMES.values():
    try:
        eval(place.partition("(")[0])
    except AttributeError:
        missing.append(place)
print("missing=" + json.dumps(missing))
x = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)
with tf.Session() as session:
    wide = session.run(tf.glorot_uniform_initializer(seed=1)([300, 200]))
    # contrib: scale times the sum of absolute values; scale times half of the sum of squares.
    both = session.run([tf.keras.regularizers.l1(0.3)(x), tf.keras.regularizers.l2(0.3 / 2)(x)])
print("numbers=" + json.dumps([float(np.abs(wide).max()), float(wide.std()), *map(float, both)]))
"""
RUN = (sys.executable, "-W", "ignore", "-m", "drynpu", "run")


def test_the_line_that_looks_for_it_gets_the_names_of_today(scripts: Any) -> None:
    run = scripts(SCRIPT, program=(*RUN, "--quiet"))
    used, imported, there = run.printed("told")
    assert "In place of tf.contrib.layers.xavier_initializer write tf.glorot_uniform_initializer()." in used
    assert "tf.contrib.rnn.GRUCell write tf.nn.rnn_cell.GRUCell." in imported
    assert "tf.contrib.rnn.LSTMCell write tf.nn.rnn_cell.LSTMCell." in imported
    assert not there
    assert run.printed("missing") == []
    largest, spread, first, second = run.printed("numbers")
    # Xavier: uniform within sqrt(6 / (300 + 200)), whose standard deviation is sqrt(2 / (300 + 200)).
    assert (largest, spread) == (pytest.approx(0.10954, rel=1e-3), pytest.approx(0.063246, rel=1e-2))
    assert (first, second) == (pytest.approx(0.3 * 6.5), pytest.approx(0.3 * 14.25 / 2))


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("cell = tf.contrib.rnn.GRUCell(8)", ["rnn.GRUCell"]),
        ("a(tf.contrib.layers.flatten(tf.contrib.framework.nest.flatten(x)))", ["layers.flatten", "framework.nest"]),
        ("from tensorflow.contrib.rnn import GRUCell, LSTMCell as Cell", ["rnn.GRUCell", "rnn.LSTMCell"]),
        ("import tensorflow.contrib.slim as slim", []),
    ],
)
def test_names_are_found_in_a_line(line: str, names: list[str]) -> None:
    assert [name for name in _wanted(line) if name in NAMES] == names
