"""``tf.contrib.learn.preprocessing``: texts as rows of numbers."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)
Tokenizer = Callable[[Iterable[str]], Iterable[list[str]]]


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each text."""
    for text in iterator:
        yield TOKENIZER_RE.findall(text)


class CategoricalVocabulary:
    """
    Numbers of words, in the order in which they came; 0 stands for what is not known.

    Parameters
    ----------
    unknown_token:
        The word of number 0.
    support_reverse:
        Whether words can be had by number.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[str, int] = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping = [unknown_token] if support_reverse else []
        self._freq: dict[str, int] = {}
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Take no new words from now on, or take them again."""
        self._freeze = freeze

    def get(self, category: str) -> int:
        """Return the number of a word, which is new if it was not known, or 0 if none is taken."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: str, count: int = 1) -> None:
        """Count a word, unless it is not known and none is taken."""
        if self.get(category) > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency: float, max_frequency: float = -1) -> None:
        """Keep words that came more than *min_frequency* times and less than *max_frequency*, frequent ones first."""
        kept = [
            (word, count)
            for word, count in sorted(sorted(self._freq.items()), key=lambda pair: pair[1], reverse=True)
            if count > min_frequency and (max_frequency <= 0 or count < max_frequency)
        ]
        self._freq = dict(kept)
        words = [self._unknown_token, *self._freq]
        self._mapping = {word: number for number, word in enumerate(words)}
        if self._support_reverse:
            self._reverse_mapping = words

    def reverse(self, class_id: int) -> str:
        """Return the word of a number; ``ValueError`` if that was not wanted."""
        if not self._support_reverse:
            raise ValueError("This vocabulary wasn't initialized with support_reverse to support reverse() function.")
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """
    Turn texts into rows of *max_document_length* numbers: longer ones are cut, shorter ones filled with 0.

    Parameters
    ----------
    max_document_length:
        Columns of the rows.
    min_frequency:
        Words that come so often or less are not known, after `fit`.
    vocabulary:
        Of numbers; an empty one if not given.
    tokenizer_fn:
        From texts to lists of words; `tokenizer` if not given.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Tokenizer | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary if vocabulary is not None else CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: object = None) -> VocabularyProcessor:
        """Learn the words of texts, and return this object."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Iterable[str], unused_y: object = None) -> Iterator[np.ndarray[Any, Any]]:
        """Learn the words of texts, and yield their rows."""
        texts = list(raw_documents)
        return self.fit(texts).transform(texts)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray[Any, Any]]:
        """Yield a row, int64, for each text."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            known = [self.vocabulary_.get(word) for word in words[: self.max_document_length]]
            row[: len(known)] = known
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yield the words of each row, with spaces between them."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: str) -> None:
        """Write this object to a file, as a pickle."""
        Path(filename).write_bytes(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Return what `save` wrote."""
        processor: VocabularyProcessor = pickle.loads(Path(filename).read_bytes())
        return processor
