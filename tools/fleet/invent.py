"""Invent households of different ages, sizes, names and calendars, the same on every machine.

A home is written as a dataset for `family-recall fleet eval` (memories.jsonl, queries.jsonl,
household.json), or with --files as a household's file for the other steps. Home 7 is the same in a
fleet of ten and of ten thousand. Its people talk about the cards of `tools/train/cards`. Those that
models were trained on, and small talk, fill its years. Questions are about cards held out, each
told once by one person, at any time of its life; as many have no answer, since they ask the same
about another person.

Examples:
  python -m tools.fleet.invent --out ./invented --homes 200
  python -m tools.fleet.invent --out ./invented --homes 12 --years 1 --years 10 --week 20
  python -m tools.fleet.invent --out ./homes --homes 200 --files --most 12
"""

from __future__ import annotations

import argparse
import datetime as dt
import functools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from family_recall import FamilyRecall
from family_recall.apps.evaluation import load_dataset
from family_recall.apps.evaluation.testbed import furnish, region_of
from family_recall.encoders.base import Encoder
from family_recall.encoders.static import StaticEncoder
from tools.common import parser_of
from tools.fleet.places_of_homes import REGIONS, Region
from tools.train.cards.loader import CARDS, HELD_OUT, Card, Fact, read_cards
from tools.train.conversations import FilledCard
from tools.train.spoken import as_spoken

LAST_DAY = dt.datetime(2026, 3, 1, 21)  # noqa: DTZ001  in each home's own zone
YEARS = (0.25, 1.0, 3.0, 10.0)
MEMORIES_A_WEEK = (3.0, 10.0, 30.0)
MOST_ASKED = 20
SPACE = "home"
_TURNS = 6  # memories of a session
Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Home:
    """An invented home: where it is, who lives there, how long it has been kept, and how busy."""

    name: str
    region: Region
    people: tuple[str, ...]
    years: float
    a_week: float

    @property
    def size(self) -> int:
        """How many memories it has, at least one session."""
        return max(round(self.years * 365.25 / 7.0 * self.a_week), _TURNS)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the homes into OUT."""
    args = parser().parse_args(argv)
    for home, rng in invented(args.homes, args.seed, years=args.years, a_week=args.week):
        if args.files:
            write_file(home, rng, args.out / f"{home.name}.db", most=args.most)
        else:
            write_dataset(home, rng, args.out / home.name, most=args.most)
    return 0


def invented(
    n: int,
    seed: int,
    *,
    years: Sequence[float] | None = None,
    a_week: Sequence[float] | None = None,
) -> Iterator[tuple[Home, Random]]:
    """Yield n homes, each with the random numbers that its memories are made from.

    Ages and memories a week go through what is given in turn, so that each combination has its
    share.
    """
    years, a_week = years or YEARS, a_week or MEMORIES_A_WEEK
    for number in range(n):
        rng = Random(f"{seed}/{number}")
        region = rng.choice(REGIONS)
        family = rng.choice(region.families)
        names = rng.sample(region.names, rng.randint(2, 6))
        people = tuple(f"{name} {family}" if rng.random() < 0.2 else name for name in names)
        yield (
            Home(
                f"home-{number:06d}",
                region,
                people,
                years[number % len(years)],
                a_week[number // len(years) % len(a_week)],
            ),
            rng,
        )


def write_dataset(home: Home, rng: Random, folder: Path, *, most: int | None = None) -> None:
    """Write a home as a dataset."""
    memories, queries = talk_of(home, rng, most)
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (("memories", memories), ("queries", queries)):
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    household = {
        "timezone": home.region.timezone,
        "country": home.region.country,
        "hemisphere": home.region.hemisphere,
        "now": LAST_DAY.isoformat(),
        "people": [[f"p{i}", name, []] for i, name in enumerate(home.people)],
        "spaces": {SPACE: {"kind": "shared"}},
    }
    (folder / "household.json").write_text(json.dumps(household, ensure_ascii=False), "utf-8")


def write_file(
    home: Home, rng: Random, path: Path, *, most: int | None = None, encoder: Encoder | None = None
) -> None:
    """Write a home as a household's file, with vectors of the static embedder, and of one given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / home.name
        write_dataset(home, rng, folder, most=most)
        dataset = load_dataset(folder)
        made = Path(scratch) / "home.db"
        place = region_of(dataset)
        with FamilyRecall.open(made, encoder=encoder, static=_static(), **place) as opened:
            furnish(opened, dataset)
        shutil.move(made, path)


def talk_of(home: Home, rng: Random, most: int | None = None) -> tuple[list[Record], list[Record]]:
    """Return a home's memories in the order of their days, and its questions.

    Args:
        home: The home.
        rng: Its random numbers.
        most: The most memories; as many as its age and habits make, when left out.
    """
    size = home.size if most is None else min(home.size, most)
    asked = rng.sample(_cards(HELD_OUT), min(MOST_ASKED, max(size // 8, 1)))
    told: list[tuple[str, str, int | None]] = []  # speaker, text, its question's number
    queries: list[Record] = []
    for number, card in enumerate(asked):
        me, you = rng.sample(home.people, 2)
        filled = FilledCard(card, me, you, rng)
        fact = rng.choice(card.facts)
        told.append((me, filled.fill(filled.say_fact(fact, rng)), number))
        queries.append(_query(home, number, "told", _question(filled, fact, rng), me, rng))
        other = filled.question_of_other(fact, rng)
        if other is not None:
            queries.append(_query(home, number, "of another", other, me, rng))
    filler = _small_talk(home.people, rng)
    told += [next(filler) for _ in range(size - len(told))]
    rng.shuffle(told)
    memories, place = _dated(home, told, rng)
    for query in queries:
        answer = place[query.pop("number")]
        query["gold"] = [answer] if query["category"] == "told" else []
    return memories, queries


def _small_talk(people: Sequence[str], rng: Random) -> Iterator[tuple[str, str, None]]:
    """Yield turns about the cards that models were trained on: facts and what lies near them."""
    cards = _cards(CARDS)
    while True:
        me, you = rng.sample(people, 2)
        card: Card = rng.choice(cards)
        filled = FilledCard(card, me, you, rng)
        if rng.random() < 0.5:
            yield me, filled.fill(filled.say_fact(rng.choice(card.facts), rng)), None
        else:
            speaker = rng.choice((me, you))
            yield speaker, filled.fill(rng.choice(card.near), speaker), None


def _dated(
    home: Home, told: Sequence[tuple[str, str, int | None]], rng: Random
) -> tuple[list[Record], dict[object, str]]:
    """Return the memories with moments, in sessions; and the id of each that is asked about."""
    days = home.years * 365.25
    begun = sorted(rng.uniform(0.0, days) for _ in range(-(-len(told) // _TURNS)))
    memories: list[Record] = []
    place: dict[object, str] = {}
    for at, (speaker, text, number) in enumerate(told):
        session = at // _TURNS
        moment = LAST_DAY - dt.timedelta(days=days - begun[session], minutes=-(at % _TURNS))
        memory_id = f"{home.name}/{at:06d}"
        if number is not None:
            place[number] = memory_id
        memories.append(
            {
                "id": memory_id,
                "text": text,
                "speaker": speaker,
                "occurred_at": moment.replace(microsecond=0).isoformat(),
                "session": f"S{session:06d}",
                "space": SPACE,
            }
        )
    return memories, place


def _query(home: Home, number: int, category: str, text: str, me: str, rng: Random) -> Record:
    asker = rng.choice([person for person in home.people if person != me] or [me])
    return {
        "number": number,
        "id": f"{home.name}/q{number}-{category.replace(' ', '-')}",
        "text": text,
        "space": SPACE,
        "as_of": None,
        "category": category,
        "asker": asker,
        "session": None,
    }


def _question(filled: FilledCard, fact: Fact, rng: Random) -> str:
    """Draw a question that names the person whom the fact is about."""
    return as_spoken(filled.fill(rng.choice(fact.asks)), rng)


@functools.cache
def _cards(path: Path) -> list[Card]:
    return read_cards(path)


@functools.cache
def _static() -> StaticEncoder:
    return StaticEncoder.load(None)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("--out", type=Path, required=True, help="folder to write into")
    made.add_argument("--homes", type=int, default=200, help="how many (default: 200)")
    made.add_argument("--seed", type=int, default=0, help="of every draw (default: 0)")
    made.add_argument(
        "--years",
        type=float,
        action="append",
        help="age of a home; repeat for several, taken in turn (default: 0.25, 1, 3, 10)",
    )
    made.add_argument(
        "--week",
        type=float,
        action="append",
        help="memories a week; repeat for several, taken in turn (default: 3, 10, 30)",
    )
    made.add_argument("--most", type=int, help="the most memories of a home (default: no limit)")
    made.add_argument(
        "--files", action="store_true", help="write households' files (default: datasets)"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
