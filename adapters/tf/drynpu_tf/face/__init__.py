"""Scripts for earlier releases as they are: TensorFlow's v1 face, and names that stand elsewhere today."""

from __future__ import annotations

from drynpu_tf.face._moved import restore_names
from drynpu_tf.face._recognise import CONTRIB, only_in_v1
from drynpu_tf.face._serve import TF1_VARIABLE, is_served, serve_script, serve_v1, tensorflow_1

__all__ = [
    "CONTRIB",
    "TF1_VARIABLE",
    "is_served",
    "only_in_v1",
    "restore_names",
    "serve_script",
    "serve_v1",
    "tensorflow_1",
]
