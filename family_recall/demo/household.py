"""The household of the demo: two years with the Nairs of Bengaluru, as heard at home.

Rajesh and Priya live with Arjun (14), Mira (8) and a dog called Biscuit. Priya's mother Kamala
is *Paati* to the children and lives in Chennai; Priya's brother is Vikram, whose
wife Leela is never spoken of by name. All of it is invented.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from family_recall.types import Grant, Memory, Person, Relation, Space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from family_recall.api import FamilyRecall

TIMEZONE = "Asia/Kolkata"
NOW = dt.datetime(2026, 1, 10, 18, 0, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
HOME = "shared:household"

PEOPLE = (
    Person("rajesh", "Rajesh", ("Raj", "Papa")),
    Person("priya", "Priya", ("Amma",)),
    Person("arjun", "Arjun", ("Ajju",)),
    Person("mira", "Mira", ("Mimi",)),
    Person("kamala", "Kamala", ("Paati", "Grandma")),
    Person("vikram", "Vikram", ("Vicky",)),
)
ROLES = {"rajesh": "adult", "priya": "adult", "arjun": "child", "mira": "child"}

SPACES = (
    Space(HOME, "shared", "The household"),
    *(Space(f"private:{person_id}", "private") for person_id in ROLES),
)
GRANTS = (
    *(Grant(person_id, HOME, role) for person_id, role in ROLES.items()),
    *(Grant(person_id, f"private:{person_id}", "owner") for person_id in ROLES),
)

KINSHIP = (
    Relation("Rajesh", "married to", "Priya", HOME),
    Relation("Arjun", "child of", "Rajesh", HOME),
    Relation("Arjun", "child of", "Priya", HOME),
    Relation("Mira", "child of", "Rajesh", HOME),
    Relation("Mira", "child of", "Priya", HOME),
    Relation("Kamala", "mother of", "Priya", HOME),
    Relation("Vikram", "brother of", "Priya", HOME),
    Relation("Leela", "married to", "Vikram", HOME),
)
"""Who is who, told when they move in."""

UNDERSTOOD = (
    Relation("Rajesh", "plans vacation with", "Priya", HOME, evidence=("march-1", "goa-1")),
    Relation("Leela", "lives in", "Pune", HOME, evidence=("kothrud",)),
)
"""What was understood from memories, with the memories that say so."""


def talk(name: str, moment: str, category: str, *lines: tuple[str, str]) -> Iterator[Memory]:
    """Give a talk at home, one memory a line, two minutes apart: ``name-1``, then ``name-2``."""
    start = dt.datetime.fromisoformat(moment)
    for n, (author, text) in enumerate(lines, 1):
        yield Memory(
            text=text,
            space_id=HOME,
            doc_id=f"{name}-{n}",
            author=author,
            category=category,
            session_id=f"{moment[:10]} {name}",
            source="kitchen speaker",
            occurred_at=start + dt.timedelta(minutes=2 * (n - 1)),
        )


def note(doc_id: str, moment: str, author: str, text: str, **more: Any) -> Iterator[Memory]:
    """Give one memory that stands alone, at home unless ``space_id`` says otherwise."""
    about = {"space_id": HOME, "kind": "fact", "category": "family", "source": "phone", **more}
    yield Memory(
        text=text,
        doc_id=doc_id,
        author=author,
        occurred_at=dt.datetime.fromisoformat(moment),
        **about,
    )


MEMORIES: tuple[Memory, ...] = (
    # 2024: a puppy, a new job, a broken wrist
    *talk(
        "kites", "2024-01-15T17:20", "event",
        ("mira", "My kite is stuck in Mrs Fernandes' coconut tree again!"),
        ("rajesh", "Third kite this Sankranti. I'll ask her for the long bamboo pole."),
        ("arjun", "Mine cut down four of the others. Terrace champion!"),
    ),
    *talk(
        "puppy", "2024-02-10T11:05", "milestone",
        ("priya", "We brought him home from the shelter in Hebbal today, all ears and no manners."),
        ("mira", "He ate two biscuits off my plate, so his name is Biscuit. I have decided."),
        ("rajesh", "No sleeping on the beds. I mean it."),
    ),
    *note("beds", "2024-02-13T06:45", "priya", "Found Raj asleep with Biscuit across his feet.",
          kind="episode", category="casual"),
    *note("spare-key", "2024-03-02T10:00", "priya",
          "The spare house key is with Mrs Fernandes at number 14.", category="task"),
    *talk(
        "job", "2024-04-01T20:10", "milestone",
        ("rajesh", "I start at the solar company on the fifteenth. No more night shifts."),
        ("priya", "Then you can do the school run on Tuesdays and I get my pottery class."),
    ),
    *talk(
        "wrist", "2024-05-19T19:40", "health",
        ("arjun", "I dived for the catch and landed on my left hand. I did catch it, though."),
        ("priya", "Dr Rao says a clean fracture of the wrist, plaster for five weeks."),
        ("arjun", "Five weeks! The final against Indiranagar is in three."),
    ),
    *note("bus-late", "2024-06-03T07:30", "priya",
          "The school bus comes at 7:25 at our own gate.",
          category="task", valid_from="2024-06-01T00:00", valid_until="2025-06-01T00:00"),
    *talk(
        "pickle", "2024-06-08T16:30", "family",
        ("priya", "Paati's mango pickle: salt the raw mangoes, then four days in the sun."),
        ("priya", "She never tells anyone how much fenugreek goes in. I counted two spoons."),
        ("mira", "I helped! I chased the crows away."),
    ),
    *note("plaster", "2024-06-24T12:15", "priya", "Arjun's plaster came off, he may bat in July.",
          kind="episode", category="health"),
    *talk(
        "leak", "2024-07-21T08:00", "task",
        ("rajesh", "The roof over the stairs leaks whenever the rain comes from the west."),
        ("priya", "The plumber wants nine thousand to seal it. He can come on Friday."),
    ),
    *talk(
        "coorg", "2024-08-09T21:00", "event",
        ("priya", "The road to Coorg is closed after the landslide, so we cancelled the homestay."),
        ("arjun", "A whole long weekend of board games. Mira cheats."),
        ("mira", "I do not cheat, I just know the rules better."),
    ),
    *note("lost-tooth", "2024-09-03T07:30", "mira", "My front tooth fell out in the idli!",
          kind="milestone", event_type="first lost tooth"),
    *talk(
        "pottery", "2024-09-17T21:15", "casual",
        ("priya", "My first bowl came out of the kiln with only one crack."),
        ("rajesh", "It holds the keys perfectly well."),
    ),
    *talk(
        "diwali-24", "2024-11-01T22:00", "event",
        ("rajesh", "No rockets this Diwali, Biscuit hid in the wardrobe for three hours."),
        ("mira", "I read him my library book until he came out."),
    ),
    *talk(
        "guitar", "2024-12-07T18:45", "casual",
        ("arjun", "Kabir is selling his old acoustic guitar for three thousand rupees."),
        ("priya", "You pay half from your savings and warm_up with the door closed."),
        ("arjun", "Deal."),
    ),
    *note("wifi", "2024-12-30T09:20", "rajesh",
          "The guest network is called Nair-Terrace, its password is mango-pickle-24.",
          category="task"),
    # 2025: a rash, a toy train, an earlier bus
    *talk(
        "uncle", "2025-01-18T20:30", "family",
        ("priya", "My brother Vikram rang. He has finally left Mumbai."),
        ("mira", "Does Vicky mama still do the trick with the coin?"),
    ),
    *note("kothrud", "2025-02-01T13:10", "rajesh",
          "They took the third-floor flat in Kothrud, Pune, the one with a view of the hill.",
          kind="episode"),
    *talk(
        "cashew", "2025-02-11T21:20", "health",
        ("priya", "Mira came out in a rash after the cashew barfi, her lips were swollen too."),
        ("rajesh", "I gave her the antihistamine at eight and it was gone by nine."),
        ("priya", "Dr Rao wants no cashews and no pistachios until the allergy test."),
    ),
    *note("tabla", "2025-02-22T21:00", "arjun", "Vikram sent a video of his new tabla. So fast!",
          kind="episode", category="casual"),
    *note("allergy-test", "2025-03-05T11:40", "priya",
          "The test is back: Mira is allergic to cashews and pistachios. Almonds are fine.",
          category="health", importance=0.9, fact_key="allergy", fact_value="cashew, pistachio"),
    *note("blood-group", "2025-03-05T11:50", "priya", "Mira's blood group is B positive.",
          category="health", fact_key="blood_group", fact_value="B+"),
    *talk(
        "exams", "2025-03-22T19:00", "event",
        ("arjun", "Maths was fine. History was a massacre, and not the one in the book."),
        ("rajesh", "You know what helps with history? Opening it."),
    ),
    *note("car-service", "2025-04-12T12:00", "rajesh",
          "Car serviced at 48,200 km; new brake pads in front, next service in October.",
          category="task"),
    *talk(
        "ooty", "2025-05-17T20:00", "event",
        ("mira", "The toy train to Ooty goes up the mountain through SIXTEEN tunnels."),
        ("rajesh", "Five hours for forty-six kilometres, and nobody asked for a phone once."),
        ("priya", "We stayed at the Red Hills cottage. Ask for the room with the fireplace."),
        ("arjun", "I saw a gaur from the window. Nobody believes me."),
    ),
    *note("bus-early", "2025-06-02T07:15", "priya",
          "The school bus comes at 6:50 from this term on, at the pharmacy corner.",
          category="task", valid_from="2025-06-01T00:00"),
    *talk(
        "vet", "2025-07-12T12:30", "health",
        ("priya", "The vet weighed Biscuit: eleven kilos. That dog hated the scales."),
        ("priya", "Rabies shot done, the next one is due in July 2026."),
        ("mira", "He was very brave and he got a chew."),
    ),
    *talk(
        "flag", "2025-08-15T10:15", "event",
        ("arjun", "Flag on the terrace, and I played the anthem on the guitar. One wrong chord."),
        ("priya", "Nobody heard the chord, everybody heard you."),
    ),
    *talk(
        "zoo", "2025-08-16T19:30", "milestone",
        ("mira", "Best birthday! I am eight and I fed a giraffe at the Mysuru zoo."),
        ("rajesh", "Then dosas at Mylari, and she fell asleep with the ticket in her fist."),
        ("priya", "Arjun carried her up all three floors without being asked."),
    ),
    *note("fridge", "2025-08-27T18:05", "rajesh",
          "The old fridge gave up, so we bought a new one from the shop on Residency Road; "
          "ten years' warranty on the compressor.", kind="episode", category="task"),
    *talk(
        "onam", "2025-09-05T14:00", "event",
        ("priya", "Twenty-two dishes on the leaf, and Paati counted them over the phone."),
        ("rajesh", "Mrs Fernandes won the payasam contest with one spoon of coffee in it."),
    ),
    *note("school-play", "2025-10-11T17:45", "mira",
          "I am the second owl in the school play and I have three lines.", kind="episode",
          category="event"),
    *talk(
        "diwali-25", "2025-10-20T21:30", "event",
        ("priya", "Forty clay lamps on the terrace, half of them from my own wheel."),
        ("arjun", "Biscuit slept through it. The library book works."),
    ),
    *note("dentist", "2025-11-08T10:30", "priya",
          "Arjun gets braces in February; Dr Menon, 11 o'clock on the third.", category="health"),
    *note("flights", "2025-11-26T22:10", "rajesh", "Looking at flights to Goa for next month",
          kind="episode", category="casual", source="kitchen speaker"),
    *talk(
        "car-noise", "2025-12-06T09:10", "task",
        ("rajesh", "The car squeaks when I turn left. I forgot the October service."),
        ("priya", "Of course you did. Book it before the holidays."),
    ),
    *talk(
        "christmas", "2025-12-24T20:00", "event",
        ("mira", "Mrs Fernandes gave us plum cake and I had three slices."),
        ("priya", "I asked her twice: no cashews in it, raisins only."),
    ),
    *note("boiler", "2025-12-29T08:00", "rajesh",
          "The water heater trips if the geyser and the oven are on together.", category="task"),
    # The first days of 2026: Goa, and a visit
    *talk(
        "goa", "2026-01-03T20:15", "casual",
        ("rajesh", "We should plan that Goa trip, Priya"),
        ("arjun", "Only if there is surfing."),
    ),
    *note("march-1", "2026-01-07T21:05", "rajesh", "I told Priya we can do March for vacation",
          kind="episode", category="casual", source="kitchen speaker"),
    *note("march-2", "2026-01-07T21:40", "arjun", "Priya said she needs to check dates",
          kind="episode", category="casual", source="kitchen speaker"),
    *note("landing", "2026-01-08T13:00", "priya",
          "Grandma will land at 6:40 on Sunday the eighteenth, flight 6E 204 from Chennai.",
          category="event", importance=0.8),
    # What nobody else needs to know
    *note("telescope", "2025-12-18T23:10", "priya",
          "The telescope for Rajesh's fortieth birthday is hidden on top of Paati's cupboard.",
          space_id="private:priya", importance=0.8),
    *note("guest-list", "2025-12-19T08:30", "priya",
          "Surprise party on 31 January: invite Vikram, Kabir's parents and the solar crowd.",
          space_id="private:priya"),
    *note("lottery", "2025-10-02T09:00", "rajesh",
          "Bought a lottery ticket again. Priya must never know. Number 27 41 08.",
          space_id="private:rajesh", kind="episode"),
    *note("history-mark", "2025-04-02T16:20", "arjun",
          "31 out of 100 in history. I have asked Kabir to teach me before anybody sees it.",
          space_id="private:arjun", kind="episode"),
    *note("tooth-fairy", "2024-09-04T07:00", "mira",
          "The tooth fairy has Papa's handwriting. I am not telling Ajju.",
          space_id="private:mira", kind="episode"),
)  # fmt: skip


def move_in(home: FamilyRecall) -> None:
    """Store the whole household: people, spaces, who may see what, relations and memories."""
    for person in PEOPLE:
        home.people.add(person)
    for space in SPACES:
        home.spaces.add(space)
    for grant in GRANTS:
        home.spaces.grant(grant)
    for relation in KINSHIP:
        home.relations.add(relation)
    home.remember_many(MEMORIES)
    for relation in UNDERSTOOD:
        home.relations.add(relation)
