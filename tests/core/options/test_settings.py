from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import Clock, NoticeCode, Settings


def test_defaults() -> None:
    assert Settings.from_environ({}) == Settings()
    settings = Settings()
    assert (settings.chip, settings.devices, settings.clock) == ("Ascend910B2", 8, Clock.MODELLED)
    assert (settings.seed, settings.strict, settings.quiet, settings.notices) == (0, False, False, ())
    assert (settings.compute, settings.values, settings.computed_bytes) == (True, 1.0, 1_048_576)


def test_all_variables() -> None:
    environ = {
        "DRYNPU_CHIP": "Ascend310P3",
        "DRYNPU_DEVICES": "2",
        "DRYNPU_CLOCK": "Wall",
        "DRYNPU_SEED": "7",
        "DRYNPU_STRICT": "yes",
        "DRYNPU_QUIET": "0",
        "DRYNPU_PLUGINS": "-acme",
        "DRYNPU_AUTOLOAD": "1",
        "OTHER": "x",
    }
    settings = Settings.from_environ(environ)
    expected = Settings(chip="Ascend310P3", devices=2, clock=Clock.WALL, seed=7, strict=True, quiet=False)
    assert settings == expected
    assert settings.notices == ()


def test_runs_without_values() -> None:
    environ = {"DRYNPU_COMPUTE": "0", "DRYNPU_VALUES": "2.5e-1", "DRYNPU_COMPUTED_BYTES": "4096"}
    settings = Settings.from_environ(environ)
    assert (settings.compute, settings.values, settings.computed_bytes) == (False, 0.25, 4096)
    with pytest.raises(OptionError) as caught:
        Settings.checked({"DRYNPU_VALUES": "nan", "DRYNPU_COMPUTED_BYTES": "-1"})
    assert caught.value.problems == (
        "DRYNPU_VALUES: 'nan' is not allowed; allowed: a finite number.",
        "DRYNPU_COMPUTED_BYTES: '-1' is not allowed; allowed: an integer from 0 to 1125899906842624.",
    )


def test_empty_counts_as_unset() -> None:
    assert Settings.from_environ({"DRYNPU_DEVICES": "", "DRYNPU_CLOCK": " "}) == Settings()


def test_all_bad_values_together() -> None:
    environ = {"DRYNPU_CLOCK": "projectd", "DRYNPU_DEVICES": "64", "DRYNPU_STRICT": "maybe", "DRYNPU_SEED": "-1"}
    with pytest.raises(OptionError) as caught:
        Settings.checked(environ)
    assert caught.value.problems == (
        "DRYNPU_DEVICES: '64' is not allowed; allowed: an integer from 0 to 63.",
        "DRYNPU_CLOCK: 'projectd' is not allowed; allowed: projected, modelled or wall. Did you mean 'projected'?",
        "DRYNPU_SEED: '-1' is not allowed; allowed: an integer from 0 to 18446744073709551615.",
        "DRYNPU_STRICT: 'maybe' is not allowed; allowed: 1, true, on, yes, 0, false, off, no.",
    )


def test_a_recording_goes_on_with_defaults_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"DRYNPU_CLOCK": "wal", "DRYNPU_DEVICES": "3", "DRYNPU_SEED": "9" * 30}
    assert Settings.from_environ(environ) == Settings(devices=3)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        (
            "[drynpu] DRYNPU_CLOCK: 'wal' is not allowed; allowed: projected, modelled or wall. Did you mean 'wall'? "
            "The default is used instead."
        ),
        (
            f"[drynpu] DRYNPU_SEED: '{'9' * 30}' is not allowed; allowed: an integer from 0 to 18446744073709551615. "
            "The default is used instead."
        ),
    ]
    Settings.from_environ(environ)
    assert not capsys.readouterr().err


def test_misspelt_names_are_noticed() -> None:
    settings = Settings.from_environ({"DRYNPU_CHIPS": "a", "drynpu_seed": "1", "DRYNPU_WEATHER": "fine"})
    assert [(notice.path, notice.code) for notice in settings.notices] == [
        ("DRYNPU_CHIPS", NoticeCode.MISSPELT),
        ("drynpu_seed", NoticeCode.MISSPELT),
    ]
    assert "Did you mean 'DRYNPU_CHIP'?" in settings.notices[0].message


names = st.sampled_from(["CHIP", "DEVICES", "CLOCK", "SEED", "STRICT", "QUIET", "SEEED"]).map("DRYNPU_{}".format)


@given(st.dictionaries(names, st.text(max_size=12) | st.integers().map(str)))
def test_any_environment_gives_settings_or_an_option_error(environ: dict[str, str]) -> None:
    settings = Settings.from_environ(environ)
    assert 0 <= settings.devices <= 63
    try:
        assert Settings.checked(environ) == settings
    except OptionError as error:
        assert all(line.startswith("DRYNPU_") for line in error.problems)
