"""What constants are tuned on stays apart from what trains models."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from family_recall.apps.evaluation import load_dataset
from tools.fit import separation
from tools.fit.calibration import LICENCES
from tools.train import mine_negatives

HOUSEHOLDS = sorted(path.parent for path in separation.HOUSEHOLDS.glob("*/dev"))
HELD_OUT = sorted(path.parent for path in separation.HELD_OUT.glob("*/dev"))


def test_no_card_repeats_a_household(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a run of eight words nor a whole question, in cards that train or choose weights."""
    assert separation.main([]) == 0
    assert "5 households" in capsys.readouterr().out


@pytest.mark.parametrize("household", [*HOUSEHOLDS, *HELD_OUT], ids=lambda path: path.name)
def test_a_copied_line_is_found(
    household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pair whose text repeats a household's memory inside a longer one ends with status 1."""
    folder = household / "dev"
    lines = (folder / "memories.jsonl").read_text("utf-8").splitlines()
    texts = (json.loads(line)["text"] for line in lines)
    long = next(text for text in texts if len(text.split()) > 12)
    pair = {"query": "Is that so?", "positive": f"Well, {long.upper()}!", "hard_negative": []}
    with gzip.open(tmp_path / "pairs.jsonl.gz", "wt", encoding="utf-8") as out:
        out.write(json.dumps(pair) + "\n")

    assert separation.main([str(tmp_path)]) == 1
    assert f"{household.name} and {tmp_path} share: " in capsys.readouterr().out


@pytest.mark.parametrize("household", HELD_OUT, ids=lambda path: path.name)
def test_nothing_may_be_fitted_on_what_is_held_out(household: Path) -> None:
    """It is a whole dataset, and no set that constants may be fitted on."""
    read = load_dataset(household / "dev")

    assert household.name not in LICENCES
    assert len(read.memories) >= 200
    assert read.household is not None
    assert all(read.household.person_id_of(query.asker) for query in read.queries)
    now = [query for query in read.queries if query.category == "changed_now"]
    assert len(now) >= 50
    assert all(len(query.gold) == 1 and query.stale for query in now)


@pytest.mark.parametrize("household", HOUSEHOLDS, ids=lambda path: path.name)
def test_a_household_is_whole(household: Path) -> None:
    """300 memories and 100 questions at least, asked by its people, with stale ones known."""
    read = load_dataset(household / "dev")

    assert household.name in LICENCES
    assert len(read.memories) >= 300
    assert len(read.queries) >= 100
    assert read.household is not None
    assert all(read.household.person_id_of(query.asker) for query in read.queries)
    changed = [query for query in read.queries if query.category == "changed"]
    assert all(len(query.gold) == 1 and query.stale for query in changed)


def test_no_pairs_are_mined_from_a_household(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script that makes training pairs refuses, and says why."""
    arguments = [str(separation.HOUSEHOLDS), "--sets", HOUSEHOLDS[0].name, "--out", str(tmp_path)]

    with pytest.raises(SystemExit):
        mine_negatives.main(arguments)

    assert "no model is trained on them" in capsys.readouterr().err
