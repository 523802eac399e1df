"""Colours of things on pages."""

from __future__ import annotations

from drynpu_pages.colours import COLOURS, colour_of, colours_of


def test_names_side_by_side_have_colours_of_their_own_while_there_are_any() -> None:
    names = [f"operator {number}" for number in range(40)]
    colours = colours_of(names)
    free = len({colour_of(f"anything {number}") for number in range(2000)})
    assert len(set(colours[:free])) == free
    assert colours[free:] == [colour_of(name) for name in names[free:]], "then each has its usual one"


def test_a_known_name_keeps_its_colour_whoever_has_it_already() -> None:
    """Computing and AI_CORE have one colour."""
    assert colours_of(["computing", "AI_CORE", "MIX_AIC"]) == [
        COLOURS[name] for name in ("computing", "AI_CORE", "MIX_AIC")
    ]
    stranger = next(name for name in map(str, range(1000)) if colour_of(name) == COLOURS["computing"])
    first, second = colours_of(["computing", stranger])
    assert first == COLOURS["computing"] != second
