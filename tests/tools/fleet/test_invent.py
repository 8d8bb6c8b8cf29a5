"""tools/fleet/invent.py: households of different ages and sizes, the same on every machine."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from family_recall.apps.evaluation import load_dataset
from tests.conftest import open_home
from tools.fleet.invent import invented, main, talk_of, write_file


def test_a_home_is_the_same_in_a_fleet_of_any_size() -> None:
    """Its number and the seed make it; another seed makes another."""
    few, many = (
        [(home, talk_of(home, rng, 30)) for home, rng in invented(n, 7)][:3] for n in (3, 20)
    )
    other = [talk_of(home, rng, 30) for home, rng in invented(3, 8)]

    assert few == many
    assert [talk for _, talk in few] != other


def test_ages_and_sizes_are_those_asked_for() -> None:
    """Each combination has its share; a home of two years and ten a week has 1,044 memories."""
    homes = [home for home, _ in invented(8, 0, years=(0.5, 2.0), a_week=(1.0, 10.0))]

    assert sorted({(home.years, home.a_week) for home in homes}) == [
        (0.5, 1.0), (0.5, 10.0), (2.0, 1.0), (2.0, 10.0),
    ]  # fmt: skip
    assert {home.size for home in homes} == {26, 261, 104, 1044}
    assert len({home.region.timezone for home, _ in invented(40, 0)}) >= 8


def test_a_dataset_has_its_answers(tmp_path: Path) -> None:
    """A question is answered by a memory of the asker's home, or by none: never by two."""
    main(["--out", str(tmp_path), "--homes", "4", "--years", "3", "--week", "3", "--most", "90"])

    for folder in sorted(tmp_path.iterdir()):
        dataset = load_dataset(folder)
        texts = [memory.text for memory in dataset.memories]
        ids = {memory.id: memory for memory in dataset.memories}
        told = [query for query in dataset.queries if query.category == "told"]
        other = [query for query in dataset.queries if query.category == "of another"]
        assert len(texts) == 90
        assert len(told) == 11
        assert {len(query.gold) for query in told} == {1}
        assert {query.gold for query in other} == {()}
        for query in told:
            assert texts.count(ids[query.gold[0]].text) == 1
        assert dataset.household is not None
        assert all(dataset.household.person_id_of(query.asker) for query in dataset.queries)
        moments = [memory.occurred_at for memory in dataset.memories if memory.occurred_at]
        assert moments == sorted(moments)
        assert moments[-1] - moments[0] > dt.timedelta(days=2.5 * 365)


def test_a_file_is_a_household(tmp_path: Path) -> None:
    """It opens, holds the memories, and lies where the home is."""
    ((home, rng),) = invented(1, 3)
    write_file(home, rng, tmp_path / "home.db", most=10)

    with open_home(tmp_path / "home.db", create=False) as opened:
        assert opened.maintenance.stats()["memories"] == 10
        assert opened.region.country == home.region.country
        assert [person.name for person in opened.people.all()] == list(home.people)
