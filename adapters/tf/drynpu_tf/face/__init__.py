"""TensorFlow 1 scripts as they are: recognising them, and serving them ``tensorflow`` in its v1 face."""

from __future__ import annotations

from drynpu_tf.face._recognise import only_in_v1
from drynpu_tf.face._serve import TF1_VARIABLE, serve_script, serve_v1, tensorflow_1

__all__ = ["TF1_VARIABLE", "only_in_v1", "serve_script", "serve_v1", "tensorflow_1"]
