"""A seed in, varied English texts and pairs out, to set scales by: invented and public ones."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path

# Sets whose terms ask for attribution at most; the share-alike ones beside them are left out.
PERMITTED_SETS = {
    "fairytaleqa": "Apache-2.0",
    "friendsqa": "Apache-2.0",
    "qmsum": "MIT",
    "selqa": "Apache-2.0",
    "squadshifts": "CC BY 4.0",
    "timeqa": "BSD-3-Clause",
}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

_SLOTS = {
    "person": "Priya Rajesh Mum Dad Grandma Leo Ana Tomás Mei Uncle_Sam Noor Ben Aunt_Ruth Zoe "
    "the_plumber the_neighbours Dr_Okafor Coach_Lindqvist Mrs_Patel",
    "place": "the_dentist the_pharmacy school the_airport Lisbon the_cabin the_garage the_attic "
    "the_kitchen_drawer IKEA the_allotment Platform_9 the_community_pool room_204",
    "thing": "the_spare_key the_blue_folder Leo's_inhaler the_passport the_router_manual "
    "a_stroller the_warranty_card her_violin the_bike_lock two_suitcases the_tax_letter "
    "a_birthday_cake "
    "the_dog's_vaccination_book an_EpiPen",
    "food": "peanuts oat_milk lasagne spicy_ramen strawberries gluten dal_makhani blue_cheese "
    "decaf sourdough shellfish",
    "when": "yesterday on_Tuesday last_March on_3_May at_6:30_pm tomorrow_morning in_2021 tonight "
    "next_weekend every_other_Thursday at_noon on_2024-11-02 before_Christmas after_school",
    "hobby": "chess ceramics bouldering piano swimming birdwatching Lego football baking ballet",
    "amount": "12_euros $1,249.99 about_300_km three_hours 2.5_kg 45_minutes £80 half_a_cup",
    "feeling": "relieved furious proud a_bit_sad exhausted thrilled nervous grateful homesick",
    "code": "WIFI-7Q2X 0044_20_7946_0018 BA2490 order_#88213 priya@example.org 4471 https://ex.org/a",
}

_TEMPLATES = (
    "{person} is allergic to {food}.",
    "{person} left {thing} in {place} {when}.",
    "Remind me to take {thing} to {place} {when}",
    "I told {person} we can do it {when}",
    "{person} started {hobby} {when} and is {feeling} about it.",
    "Where did I put {thing}?",
    "what did {person} say about {place}",
    "When does {person} go to {place}?",
    "Who is allergic to {food}?",
    "How much did {thing} cost?",
    "{thing} cost {amount} at {place}, receipt is with {person}.",
    "The code for {place} is {code}",
    "flight {code} leaves {when}, {person} drives us to {place}",
    "{person} hates {food} but loves {food}.",
    "Dinner {when}: {food} and {food} for {person}",
    "did {person} ever finish {hobby}?",
    "{person}: I was so {feeling} when we lost {thing} near {place}!",
    "we met {person} at {place} {when}; {person} was there too",
    "Appointment with {person} {when}, bring {thing} and {code}.",
    "Remember that {person} wants {thing} for the birthday, budget {amount}.",
    "why was {person} {feeling} {when}?",
    "It took {amount} to get from {place} to {place}.",
    "{person} said the {hobby} class moved to {place} {when}",
    "what is the number of {person}?",
    "{hobby} with {person} {when}",
    "lol yes!! {person} forgot {thing} AGAIN :(",
    "{when} {person} will pick up the kids from {place}, then {hobby} for {amount}.",
    "Is there anything I should know before cooking {food} for {person}?",
    "The boiler at {place} was serviced {when} by {person} for {amount}.",
    "{person}'s favourite is {food}",
    "{code}",
    "{food}, {food}, {food}, {amount} of rice",
)


def household_texts(n: int, rng: random.Random) -> list[str]:
    """`n` different invented lines of a household, questions among them."""
    slots = {name: words.split() for name, words in _SLOTS.items()}
    texts: dict[str, None] = {}
    while len(texts) < n:
        text = rng.choice(_TEMPLATES)
        while "{" in text:
            text = re.sub(r"{(\w+)}", lambda m: rng.choice(slots[m[1]]), text, count=1)
        text = text.replace("_", " ")
        texts[text if rng.random() < 0.7 else text.lower()] = None
    return list(texts)


def public_texts(folder: Path) -> dict[str, list[str]]:
    """The different questions and sentences of each permitted set under `folder`, in file order.

    Raises:
        FileNotFoundError: If `folder` has none of `PERMITTED_SETS`.
    """
    found: dict[str, list[str]] = {}
    for name in sorted(PERMITTED_SETS):
        path = folder / name / "pairs.jsonl.gz"
        if not path.is_file():
            continue
        texts: dict[str, None] = {}
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                pair = json.loads(line)
                texts[pair["query"].strip()] = None
                for sentence in SENTENCE_END.split(pair["positive"]):
                    texts[sentence.strip()] = None
        texts.pop("", None)
        found[name] = list(texts)
    if not found:
        raise FileNotFoundError(
            f"{folder}: none of {', '.join(sorted(PERMITTED_SETS))}/pairs.jsonl.gz is here"
        )
    return found


def mixed_texts(
    public: dict[str, list[str]], n: int, rng: random.Random, *, household_share: float = 0.4
) -> list[str]:
    """About `n` texts, a share invented, the rest in equal parts from each set, shuffled."""
    n_household = round(n * household_share)
    texts = household_texts(n_household, rng)
    for lines in public.values():
        texts += rng.sample(lines, min(len(lines), (n - n_household) // len(public)))
    rng.shuffle(texts)
    return texts


def pair_texts(folder: Path, n: int, rng: random.Random) -> list[tuple[str, str]]:
    """About `n` (question, text) pairs in equal parts from each permitted set, half of them wrong.

    Raises:
        FileNotFoundError: If `folder` has none of `PERMITTED_SETS`.
    """
    found: list[tuple[str, str]] = []
    paths = [folder / name / "pairs.jsonl.gz" for name in sorted(PERMITTED_SETS)]
    paths = [path for path in paths if path.is_file()]
    if not paths:
        raise FileNotFoundError(f"{folder}: no <set>/pairs.jsonl.gz is here")
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            pairs = [json.loads(line) for line in lines]
        for pair in rng.sample(pairs, min(len(pairs), n // len(paths))):
            wrong = pair["hard_negative"]
            text = rng.choice(wrong) if wrong and rng.random() < 0.5 else pair["positive"]
            found.append((pair["query"], text))
    rng.shuffle(found)
    return found
