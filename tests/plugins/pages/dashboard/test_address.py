"""Addresses hold all that is shown, whatever the names are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drynpu_pages.dashboard._address import LOOK_KEYS, Address, path_of, query_of, read_address

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NAMES = TEXTS.filter(lambda name: name and "/" not in name and name not in ("rank", "step", "token", *LOOK_KEYS))


@given(TEXTS, NAMES, TEXTS, TEXTS, st.dictionaries(NAMES, TEXTS.filter(bool), max_size=3))
def test_what_is_written_is_read(run: str, page: str, rank: str, step: str, choices: dict[str, str]) -> None:
    found = read_address(path_of(run, page), query_of(rank, step, choices))
    assert found == Address(run, page, rank, step, choices)


def test_everything_else_is_the_list_of_runs() -> None:
    assert read_address("/", "") == read_address(None, None) == read_address("/favicon.ico", "") == Address()
    assert read_address("/", "?token=secret&rank=1") == Address(rank="1")


def test_where_a_reader_is_on_a_page_is_kept_apart_from_the_page() -> None:
    found = read_address("/run/a/timeline", "?step=2&from=5&to=9&find=mat&where=host")
    assert found.look == {"from": "5", "to": "9", "find": "mat"}
    assert found.choices == {"where": "host"}
