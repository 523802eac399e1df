"""Which scripts were written for TensorFlow 1."""

from __future__ import annotations

import pytest

from drynpu_tf.face import only_in_v1

V1, PRIVATE = "tensorflow.compat.v1", "tensorflow.python"
LATE = (
    "if npu:\n    from npu_bridge.npu_init import *",
    "try:\n    import npu_bridge\nexcept ImportError:\n    pass",
    "def main():\n    from npu_bridge.estimator import npu_ops",
)
"""Imports of npu_bridge that may not run, or late."""
ENDS_EAGER = ("disable_v2_behavior", "disable_eager_execution")


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
        *((f"import tensorflow.compat.v1 as tf\ntf.placeholder(1)\n{late}", (V1,)) for late in LATE),
        ("from tensorflow.compat import v1 as tf\nif 1:\n    import npu_bridge", (V1,)),
        *((f"import tensorflow.compat.v1 as tf\ntf.{end}()\n{LATE[0]}", ()) for end in ENDS_EAGER),
        ("import tensorflow.compat.v1 as tf", ()),
        (
            f"from tensorflow.python.framework.ops import IndexedSlices\n{LATE[0]}",
            (f"{PRIVATE}.framework.ops.IndexedSlices",),
        ),
        (f"from tensorflow.python.util import nest\n{LATE[1]}", ()),
        (f"import tensorflow.python.training.tracking.base\n{LATE[2]}", (f"{PRIVATE}.training.tracking.base",)),
        ("from tensorflow.python.framework.ops import IndexedSlices", ()),
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
