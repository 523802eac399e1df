"""The hint for scripts that end because there is no CUDA."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from drynpu.cli._cuda_scripts import hint_at_transfer


@pytest.mark.parametrize(("script", "is_named"), [
    ("assert cuda_is_available, 'no GPU'", True),
    ("if not cuda_is_available:\n    print('use a GPU')\n    raise SystemExit(1)", True),
    ("raise AssertionError('Torch not compiled with CUDA enabled')", True),
    ("cuda_is_available\n\n\n\nraise ValueError('something else')", False),
])  # fmt: skip
@pytest.mark.parametrize(("variable", "imported"), [("", True), ("1", True), ("", False)])
def test_a_script_that_ends_for_want_of_cuda_gets_a_hint(
    script: str,
    is_named: bool,
    variable: str,
    imported: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TORCH_TRANSFER_TO_NPU", variable)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if imported:
        monkeypatch.setitem(sys.modules, "torch", sys)
    file = tmp_path / "script.py"
    file.write_text(script + "\n")
    with pytest.raises(BaseException) as ended:  # noqa: PT011 - whatever the script ends with
        exec(compile(script, str(file), "exec"), {"cuda_is_available": False})
    hint_at_transfer(ended.value)
    said = "TORCH_TRANSFER_TO_NPU=1" in capsys.readouterr().err
    assert said == (is_named and imported and not variable)
