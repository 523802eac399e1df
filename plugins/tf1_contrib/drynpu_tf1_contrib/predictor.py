"""``tf.contrib.predictor.from_saved_model``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import ConfigProto, Graph
from drynpu_tf.quiet import without_deprecations


class SavedModelPredictor:
    """A saved model in a session of its own: a call takes a dictionary of arrays and returns one."""

    def __init__(
        self,
        export_dir: str,
        signature_def_key: str | None = None,
        signature_def: Any = None,
        input_names: Mapping[str, str] | None = None,
        output_names: Mapping[str, str] | None = None,
        tags: str | None = None,
        graph: Graph = None,
        config: ConfigProto = None,
    ) -> None:
        self.graph = graph or tf.Graph()
        with self.graph.as_default():
            self.session = tf.Session(config=config)
            wanted = tags.split(",") if tags else [tf.saved_model.tag_constants.SERVING]
            with without_deprecations():
                meta = tf.saved_model.loader.load(self.session, wanted, export_dir)
        key = signature_def_key or tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        if input_names is None or output_names is None:
            if signature_def is None and key not in meta.signature_def:
                raise ValueError(
                    f"Got signature_def_key {key!r}. Available signatures are {sorted(meta.signature_def)}."
                )
            signature = signature_def if signature_def is not None else meta.signature_def[key]
            input_names = {name: info.name for name, info in signature.inputs.items()}
            output_names = {name: info.name for name, info in signature.outputs.items()}
        self.feed_tensors = {name: self.graph.get_tensor_by_name(place) for name, place in input_names.items()}
        self.fetch_tensors = {name: self.graph.get_tensor_by_name(place) for name, place in output_names.items()}

    def __call__(self, input_dict: Mapping[str, object]) -> dict[str, Any]:
        """Return the outputs by name; ``ValueError`` for an input that the model does not have."""
        unknown = sorted(set(input_dict) - set(self.feed_tensors))
        if unknown:
            raise ValueError(f"Got unexpected keys in input_dict: {unknown}. Expected: {sorted(self.feed_tensors)}.")
        feed = {self.feed_tensors[name]: value for name, value in input_dict.items()}
        result: dict[str, Any] = self.session.run(self.fetch_tensors, feed)
        return result


def from_saved_model(
    export_dir: str,
    signature_def_key: str | None = None,
    signature_def: object = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: Graph = None,
    config: ConfigProto = None,
) -> SavedModelPredictor:
    """Return what predicts with a saved model."""
    return SavedModelPredictor(
        export_dir, signature_def_key, signature_def, input_names, output_names, tags, graph, config
    )
