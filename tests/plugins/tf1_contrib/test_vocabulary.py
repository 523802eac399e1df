"""``tf.contrib.learn.preprocessing``: which numbers stand for which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drynpu_tf1_contrib.vocabulary import CategoricalVocabulary, VocabularyProcessor, tokenizer

TEXTS = ["the cat sat", "the dog", "It's the cat-flap of the OldHouse"]


def test_rows_of_numbers(tmp_path: Path) -> None:
    processor = VocabularyProcessor(4)
    rows = np.array(list(processor.fit_transform(TEXTS)))
    assert rows.tolist() == [[1, 2, 3, 0], [1, 4, 0, 0], [5, 1, 6, 7]]
    assert len(processor.vocabulary_) == 10  # Old and House are two words
    assert next(processor.transform(["the bird sat on the dog"])).tolist() == [1, 0, 3, 0]
    assert list(processor.reverse(rows[1:2])) == ["the dog <UNK> <UNK>"]
    processor.save(str(tmp_path / "vocabulary"))
    restored = VocabularyProcessor.restore(str(tmp_path / "vocabulary"))
    assert next(restored.transform(["dog the"])).tolist() == [4, 1, 0, 0]


def test_rare_words_are_not_known() -> None:
    processor = VocabularyProcessor(3, min_frequency=1).fit(["b a c", "a b", "a d"])
    assert [row.tolist() for row in processor.transform(["a b c", "d"])] == [[1, 2, 0], [0, 0, 0]]


def test_words_of_a_text() -> None:
    assert list(tokenizer(["USA-bound NewYork, 3 x"])) == [["USA", "-bound", "New", "York", "3", "x"]]
    with pytest.raises(ValueError, match="support_reverse"):
        CategoricalVocabulary(support_reverse=False).reverse(0)
