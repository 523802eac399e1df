"""What a normalisation has to say: notices, and where each effective value came from."""

from __future__ import annotations

import enum

from attrs import frozen


class Severity(enum.Enum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class NoticeCode(enum.Enum):
    """What kind of thing a notice says, for programs that want to react to it."""

    RESET = "reset"
    """A given value was replaced."""
    RULE = "rule"
    """A value follows from a rule although nobody gave it."""
    IGNORED = "ignored"
    """A given value has no effect."""
    DEPRECATED = "deprecated"
    PYTHON_WARNING = "python-warning"
    """The vendor says this through ``warnings.warn`` instead of printing it; the facade does likewise."""
    LENIENT = "lenient"
    """Accepted here; the current collector refuses it."""
    UNSUPPORTED = "unsupported"
    """The chip or this release cannot do it."""
    CHIP = "chip"
    """A limit of the chosen chip that does not change the value."""
    MISSPELT = "misspelt"
    NEVER_RECORDS = "never-records"
    INCOMPLETE_CYCLE = "incomplete-cycle"
    NO_WARMUP = "no-warmup"
    MANY_DIRECTORIES = "many-directories"
    INFORMATION = "information"


@frozen
class Notice:
    """One remark about one option. ``message`` is a vendor text verbatim where the vendor has one."""

    severity: Severity
    path: str
    message: str
    code: NoticeCode

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.path}: {self.message}"


def warning(path: str, message: str, code: NoticeCode = NoticeCode.RESET) -> Notice:
    """Return a notice that warns."""
    return Notice(Severity.WARNING, path, message, code)


def remark(path: str, message: str, code: NoticeCode = NoticeCode.INFORMATION) -> Notice:
    """Return a notice that informs."""
    return Notice(Severity.INFO, path, message, code)


class Origin(enum.Enum):
    """Where an effective value came from."""

    GIVEN = "given"
    DEFAULT = "default"
    ENVIRONMENT = "environment"
    RULE = "rule"
