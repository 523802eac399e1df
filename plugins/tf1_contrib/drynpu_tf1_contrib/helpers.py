"""``tf.contrib.seq2seq``: what chooses a decoder's samples and feeds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import DType, Shape, State, Tensor, TensorLike
from drynpu_tf.inside import transpose_batch_time


class Helper:
    """What chooses a decoder's samples and next inputs."""

    @property
    def batch_size(self) -> Tensor:
        """Number of sequences, a scalar."""
        raise NotImplementedError

    @property
    def sample_ids_shape(self) -> Shape:
        """Shape of one sample, without the sequences."""
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> DType:
        """Type of samples."""
        return tf.int32

    def initialize(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return which sequences are empty, and the first inputs."""
        raise NotImplementedError

    def sample(self, time: TensorLike, outputs: TensorLike, state: State, name: str | None = None) -> Tensor:
        """Return the samples of a step."""
        raise NotImplementedError

    def next_inputs(
        self, time: TensorLike, outputs: TensorLike, state: State, sample_ids: TensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """Return which sequences have ended, the next inputs and the state."""
        raise NotImplementedError


class TrainingHelper(Helper):
    """Feeds the inputs that are given, ``(count, time, ...)``, as long as each sequence is."""

    def __init__(
        self, inputs: TensorLike, sequence_length: TensorLike, time_major: bool = False, name: str | None = None
    ) -> None:
        with tf.name_scope(name, "TrainingHelper"):
            inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
            if not time_major:
                inputs = tf.nest.map_structure(transpose_batch_time, inputs)
            self._inputs = tf.nest.map_structure(
                lambda value: tf.TensorArray(value.dtype, tf.shape(value)[0], element_shape=value.shape[1:]).unstack(
                    value
                ),
                inputs,
            )
            self._sequence_length = tf.convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError("Expected sequence_length to be a vector, but received another shape.")
            self._zero_inputs = tf.nest.map_structure(lambda value: tf.zeros_like(value[0]), inputs)
            self._batch_size = tf.size(self._sequence_length)

    @property
    def batch_size(self) -> Tensor:
        """Number of sequences."""
        return self._batch_size

    @property
    def sequence_length(self) -> Tensor:
        """Lengths of the sequences."""
        return self._sequence_length

    def initialize(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return which sequences are empty, and the first inputs."""
        finished = tf.equal(0, self._sequence_length)
        return finished, self._inputs_at(0, finished)

    def sample(self, time: TensorLike, outputs: TensorLike, state: State, name: str | None = None) -> Tensor:
        """Return the places of the largest outputs."""
        return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(
        self,
        time: TensorLike,
        outputs: TensorLike,
        state: State,
        sample_ids: TensorLike = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, State]:
        """Return the inputs of the next step, zeros where all sequences have ended."""
        following = time + 1
        finished = following >= self._sequence_length
        return finished, self._inputs_at(following, finished), state

    def _inputs_at(self, time: TensorLike, finished: TensorLike) -> Tensor:
        return tf.cond(
            tf.reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: tf.nest.map_structure(lambda array: array.read(time), self._inputs),
        )


class GreedyEmbeddingHelper(Helper):
    """
    Feeds the embedding of the most likely sample, until it is *end_token*.

    Parameters
    ----------
    embedding:
        A function from ids to inputs, or the table of them.
    start_tokens, end_token:
        First ids, int32 ``(count,)``, and the id that ends a sequence.
    """

    def __init__(self, embedding: Any, start_tokens: TensorLike, end_token: TensorLike) -> None:
        self._embedding: Callable[[Any], Any] = (
            embedding if callable(embedding) else lambda ids: tf.nn.embedding_lookup(embedding, ids)
        )
        self._start_tokens = tf.convert_to_tensor(start_tokens, dtype=tf.int32, name="start_tokens")
        self._end_token = tf.convert_to_tensor(end_token, dtype=tf.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = tf.size(self._start_tokens)
        self._start_inputs = self._embedding(self._start_tokens)

    @property
    def batch_size(self) -> Tensor:
        """Number of sequences."""
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return that no sequence has ended, and the first inputs."""
        return tf.fill([self._batch_size], False), self._start_inputs

    def sample(self, time: TensorLike, outputs: TensorLike, state: State, name: str | None = None) -> Tensor:
        """Return the places of the largest outputs."""
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(
        self, time: TensorLike, outputs: TensorLike, state: State, sample_ids: TensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """Return the embeddings of the samples, the first inputs where all sequences have ended."""
        finished = tf.equal(sample_ids, self._end_token)
        inputs = tf.cond(tf.reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding(sample_ids))
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Feeds the embedding of a sample that is drawn from the outputs as logits, divided by *softmax_temperature*."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: TensorLike,
        end_token: TensorLike,
        softmax_temperature: TensorLike = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: TensorLike, outputs: TensorLike, state: State, name: str | None = None) -> Tensor:
        """Return samples that are drawn."""
        logits = outputs if self._softmax_temperature is None else outputs / self._softmax_temperature
        return tf.cast(tf.squeeze(tf.random.categorical(logits, 1, seed=self._seed), 1), tf.int32)


class CustomHelper(Helper):
    """Calls functions of the script for the first inputs, the samples and the next inputs."""

    def __init__(
        self,
        initialize_fn: Callable[[], Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Shape = None,
        sample_ids_dtype: DType = None,
    ) -> None:
        self._functions = initialize_fn, sample_fn, next_inputs_fn
        self._shape = tf.TensorShape(sample_ids_shape or [])
        self._dtype = sample_ids_dtype or tf.int32
        self._batch_size: Any = None

    @property
    def batch_size(self) -> Tensor:
        """Number of sequences, known after `initialize`."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Shape:
        """Shape of one sample, without the sequences."""
        return self._shape

    @property
    def sample_ids_dtype(self) -> DType:
        """Type of samples."""
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return what the script's function does."""
        finished, inputs = self._functions[0]()
        if self._batch_size is None:
            self._batch_size = tf.size(finished)
        return finished, inputs

    def sample(self, time: TensorLike, outputs: TensorLike, state: State, name: str | None = None) -> Tensor:
        """Return what the script's function does."""
        return self._functions[1](time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: TensorLike, outputs: TensorLike, state: State, sample_ids: TensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """Return what the script's function does."""
        result: tuple[Any, Any, Any] = self._functions[2](
            time=time, outputs=outputs, state=state, sample_ids=sample_ids
        )
        return result
