"""The mutants of the designs' claims: each changes what is in the code, for a claim of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.common import ROOT
from tools.mutation import mutants
from tools.mutation.claims import claims
from tools.mutation.mutants import PROFILES, every_mutant, of_profiles


def test_every_claim_has_a_mutant_that_changes_the_code() -> None:
    """Each listed text stands once in its file, and no row of the page is left without a mutant.

    A text that was edited away is an error that names it.
    """
    every = every_mutant(ROOT)
    texts = {path: (ROOT / path).read_text("utf-8") for path in {each.path for each in every}}

    assert {claim.says for claim in claims(ROOT)} <= {each.says for each in every}
    assert all(claim.tests for claim in claims(ROOT))
    assert all(each.applied(texts[each.path]) != texts[each.path] for each in every)
    assert len(every) > 300


def test_every_number_of_a_profile_is_changed_in_three_ways() -> None:
    """Zero, the other sign and half as much again, of weights and of constants."""
    text = (ROOT / PROFILES).read_text("utf-8")
    changes: dict[str, list[str]] = {}
    for each in of_profiles(ROOT):
        changes.setdefault(each.says.rpartition(" is ")[0], []).append(each.new)
        assert text[each.start : each.end].replace(".", "").isdigit()

    assert changes["profile family_os: weight of recency"] == ["0.0", "-0.3", "0.45"]
    assert changes["profile annie: half_life_days"] == ["0.0", "-30.0", "45.0"]
    assert changes["profile opening: evergreen_floor"] == ["0.0", "-0.3", "0.45"]


@pytest.mark.parametrize(
    ("says", "old", "message"),
    [("No such claim", "K1 = 1.2", "0 rows"), ("BM25 with k1", "K1 = 9.9", "0 times"),
     ("BM25 with k1", "K1", "times, expected once")],
)  # fmt: skip
def test_a_table_that_no_longer_fits_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, old: str, message: str
) -> None:
    """An unknown claim, and a text that its file does not hold, or holds more than once."""
    change = f"{{ in = 'family_recall/recall/ranking/bm25.py', old = '{old}', new = '' }}"
    table = tmp_path / "table.toml"
    table.write_text(f"[[claim]]\nsays = '{says}'\nmutants = [{change}]\n", "utf-8")
    monkeypatch.setattr(mutants, "TABLES", tmp_path)

    with pytest.raises(ValueError, match=message):
        mutants.listed(ROOT)
