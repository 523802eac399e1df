"""Which scripts were written for TensorFlow 1."""

from __future__ import annotations

import pytest

from drynpu_tf.face import only_in_v1


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import tensorflow as tf\nimport npu_bridge\ntf.Session(tf.placeholder)", ("tf.Session", "tf.placeholder")),
        ("import tensorflow\nfrom npu_bridge.hccl import x\ntensorflow.app.run()", ("tensorflow.app",)),
        ("from npu_bridge.npu_init import *\ntf.get_variable('a')", ("tf.get_variable",)),
        ("import tensorflow as tf\ntf.Session()", ()),
        ("import tensorflow as tf\nimport npu_bridge\ntf.function(1)\ntf.compat.v1.Session()", ()),
        ("import tensorflow.compat.v1 as tf\nfrom npu_bridge.npu_init import *\ntf.Session()", ()),
        ("import npu_bridge\nother.Session()", ()),
        ("import npu_bridge\nimport tensorflow as tf\ntf.Session(", ()),
        ("import npu_bridge\nfrom tensorflow.contrib import slim", ("tensorflow.contrib",)),
        ("import npu_bridge\nfrom tensorflow import contrib", ("tensorflow.contrib",)),
        ("import npu_bridge\ndef f():\n    import tensorflow.contrib.rnn", ("tensorflow.contrib",)),
        ("import npu_bridge\ntry:\n    import tensorflow.contrib.rnn\nexcept ImportError:\n    pass", ()),
        ("import npu_bridge\nimport tensorflow.contributed", ()),
        ("from tensorflow.contrib import slim", ()),
        ("", ()),
    ],
)
def test_recognition(source: str, names: tuple[str, ...]) -> None:
    assert only_in_v1(source) == names


def test_the_names_are_those_that_only_tensorflow_1_has() -> None:
    tf = pytest.importorskip("tensorflow")
    from drynpu_tf.face._recognise import _NAMES

    assert [name for name in sorted(_NAMES) if hasattr(tf, name)] == []
    assert [name for name in sorted(_NAMES) if not hasattr(tf.compat.v1, name)] == ["contrib"]
