"""tools/docs/run_examples.py: run the examples of a page, and compare them with what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.docs import run_examples as run_pages

PAGE = """
```sh
export NAME=\"a b\"
cat > notes.txt <<'END'
one
END
```

```sh
cat notes.txt; echo $NAME
```

```text
one
a b
```

<!-- not run: installs -->
```sh
false
```

```python
from pathlib import Path
```

```python
print(3, Path("notes.txt").read_text().strip())
```

```text
3 two
```
"""


def test_a_page_runs_in_order_and_differences_are_found(tmp_path: Path) -> None:
    """Files, variables and names live on; the last block prints "3 one" and shows "3 two"."""
    ran = run_pages.run(PAGE, tmp_path)

    assert [block.as_shown for block in ran] == [True, True, True, False]
    assert ran[-1].printed == "3 one\n"


def test_a_block_runs_where_the_reason_not_to_does_not_hold(tmp_path: Path) -> None:
    """Another reason leaves it out; the page's own runs it, and it fails as it says."""
    assert len(run_pages.run(PAGE, tmp_path, here={"uses the network"})) == 4

    with pytest.raises(run_pages.PageError, match=r"^false\nended with 1"):
        run_pages.run(PAGE, tmp_path, here={"installs"})


def test_a_rewritten_page_shows_what_was_printed(tmp_path: Path) -> None:
    """Only the block that differed changes."""
    now = run_pages.rewritten(PAGE, run_pages.run(PAGE, tmp_path))

    assert now == PAGE.replace("3 two", "3 one")


def test_a_command_that_fails_ends_the_page(tmp_path: Path) -> None:
    """With the command and what it printed, unless the page shows an error."""
    failing = "```sh\necho why; exit 3\n```\n"

    with pytest.raises(run_pages.PageError, match=r"exit 3\nended with 3:\nwhy"):
        run_pages.run(failing, tmp_path)


def test_no_command_of_a_page_reads_the_users_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable for another household is removed."""
    monkeypatch.setenv("FAMILY_RECALL_DB", "/nobody/else.db")
    page = "```sh\nfamily-recall config\n```\n"

    (ran,) = run_pages.run(page, tmp_path)

    assert "else.db" not in ran.printed


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("ok, 0.64, … ms\n", "ok, 0.64, 7.1 ms\n", True),
        ("ok, 0.64\n", "ok, 0.65\n", False),
        ("ran    … ms\n", "ran 1234.5 ms\n", True),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nz\n", True),
        ("a\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_dots_stand_for_anything_on_a_line_and_lines_for_lines(
    shown: str, printed: str, *, same: bool
) -> None:
    """And nothing else does."""
    assert run_pages.agrees(shown, printed) is same


@given(st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="…"), min_size=1))
def test_a_line_agrees_with_itself(line: str) -> None:
    """Whatever marks are in it."""
    assert run_pages.agrees(f"{line}\n", f"{line}\n")
