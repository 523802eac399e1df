"""From cattrs' nested validation errors to one readable line per problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs
from cattrs import AttributeValidationNote, BaseValidationError, ForbiddenExtraKeysError, IterableValidationNote

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean

# A value in a message should not push the rest of the line off the screen.
_SHOWN_LENGTH = 60


class Refused(ValueError):
    """
    One value that a converter does not take.

    Attributes
    ----------
    value:
        What was given.
    allowed:
        What would have been taken, as readable text.
    valid:
        The valid spellings, where there is a list of them.
    """

    def __init__(self, value: object, allowed: str, valid: Iterable[str] = ()) -> None:
        self.value, self.allowed, self.valid = value, allowed, tuple(valid)
        super().__init__(allowed)

    def line(self, path: str) -> str:
        """Return the problem as one line that starts with *path*."""
        hint = did_you_mean(self.value, self.valid) if isinstance(self.value, str) else ""
        return f"{path or 'document'}: {shown(self.value)} is not allowed; allowed: {self.allowed}.{hint}"


def shown(value: object) -> str:
    """Return *value* as it goes into a message: its repr on one line, cut to a readable length."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # a self-containing document, an integer too long to print
        text = f"<{type(value).__name__}>"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."


def shown_key(key: object) -> str:
    """Return a key of a document as it goes into a path: itself where it is a plain word, else its repr."""
    plain = isinstance(key, str) and 0 < len(key) <= _SHOWN_LENGTH and key.isprintable() and not set(key) & set(" .:")
    return str(key) if plain else shown(key)


def reasons(error: OptionError) -> str:
    """Return the problems of *error* without their paths, in one text."""
    return " ".join(line.partition(": ")[2] for line in error.problems)


def join_path(where: str, name: str) -> str:
    """Append an attribute name to a path that may be empty."""
    return f"{where}.{name}" if where else name


def problem_lines(error: BaseException, path: str, root: str) -> Iterator[str]:
    """
    Yield one line per problem in *error*, in document order.

    Each line starts with its path: *path* is where *error* arose, *root* the path of the whole document.
    """
    if not isinstance(error, BaseValidationError):
        yield from _leaf_lines(error, path, root)
        return
    for inner in error.exceptions:
        note = _note(inner)
        if isinstance(note, IterableValidationNote):
            yield from problem_lines(inner, f"{path}[{note.index}]", root)
        elif isinstance(note, AttributeValidationNote):
            yield from problem_lines(inner, join_path(path, note.name), root)
        else:
            yield from problem_lines(inner, path, root)


def _note(error: BaseException) -> object:
    """Return cattrs' own note on where *error* arose, if there is one."""
    notes = getattr(error, "__notes__", ())
    return next((n for n in notes if isinstance(n, (AttributeValidationNote, IterableValidationNote))), None)


def _leaf_lines(error: BaseException, path: str, root: str) -> Iterator[str]:
    if isinstance(error, ForbiddenExtraKeysError):
        names = [attribute.name for attribute in attrs.fields(error.cl)]
        for extra in sorted(map(shown_key, error.extra_fields)):
            allowed = ", ".join(names)
            yield f"{join_path(path, extra)}: unknown option.{did_you_mean(extra, names)} Allowed here: {allowed}."
    elif isinstance(error, Refused):
        yield error.line(path)
    elif isinstance(error, OptionError):
        # Classes that check themselves name the path from the top of the document.
        yield from (join_path(root, line) for line in error.problems)
    else:
        yield f"{path}: {error}"
