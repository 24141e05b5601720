"""The outcome of a driver elsewhere is read by another process, which may fail for a while."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakehouse_provider.launch import outcome

READER = """
import pathlib, sys
left = pathlib.Path(sys.argv[1])
codes = left.read_text().split()
left.write_text(" ".join(codes[1:]))
code = int(codes[0])
if code == 0:
    print('{{"exit_code": {code}, "line": "{line}"}}')
sys.exit(code)
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Read with a reader that ends with these codes, one after the other."""

    def reading(codes: str, *, code: int = 0, line: str = "{}") -> int | None:
        (tmp_path / "some_reader.py").write_text(READER.format(code=code, line=line), encoding="utf-8")
        (tmp_path / "codes").write_text(codes, encoding="utf-8")
        return outcome.report_outcome(str(tmp_path / "codes"))

    monkeypatch.setattr(outcome, "READER", "some_reader")
    monkeypatch.setattr(outcome, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return reading


@pytest.mark.parametrize("codes", ["0", "1 0", "2 1 0"])
def test_what_is_read_in_the_end_counts(read, capfd: pytest.CaptureFixture[str], codes: str) -> None:
    assert read(codes, line="done") == 0
    assert capfd.readouterr().out == "done\n"


@pytest.mark.parametrize(("codes", "expected"), [("1 1 1", 1), ("1 1 2", 2), ("2 2 2", 2), ("1 1 99", 1)])
def test_what_cannot_be_read_at_last_is_the_exit_code(read, codes: str, expected: int) -> None:
    assert read(codes) == expected


@pytest.mark.parametrize("code", [1, 2])
def test_an_error_of_the_driver_is_its_exit_code_and_no_result(
    read, capfd: pytest.CaptureFixture[str], code: int
) -> None:
    assert read("0", code=code, line="error: why") == code
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "error: why\n")
