"""The values a text states, by kind: a code, a time, a day, a size, a place, a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from .lexicon import COUNTS, MONTH_NAMES, MONTHS, PARTS, WEEKDAY_NAMES, WEEKDAYS

KINDS = ("number", "time", "day", "date", "money", "amount", "size", "place", "name", "colour")
"""What sort of thing a value is."""

Values = Mapping[str, frozenset[str]]
"""The values of a text by kind, as two spellings share them; kinds without a value are absent."""

_MAX_CHARS = 2000

_COUNTED = {word: str(n) for word, n in {"zero": 0, **COUNTS, "hundred": 100}.items()}
_NUMBER_WORD = "|".join(word for word in _COUNTED if word != "one")

_TIME = re.compile(
    r"\b(\d{1,2})(?:[:.](\d\d))?\s*([ap])\.?m\b\.?|\b(\d{1,2}):(\d\d)\b|\b(\d{1,2}) ?o['’]clock\b"
    r"|\b(half|quarter) (past|to) (\w+)\b|\b(noon|midday|midnight)\b"
    r"|\b(?:(half)|at|by|until|till|from|around|about|before|after)"
    rf" (\d{{1,2}}|{_NUMBER_WORD}|one)"
    r"(?=\s*(?:$|[.,;!?)](?!\d)|(?:now|instead|on|sharp|every|not|for|to|from|at|this|next|today"
    r"|tonight|tomorrow|WEEKDAY)\b|in the (?:morning|ev|aft)))".replace(
        "WEEKDAY", "|".join(WEEKDAYS)
    ),
)
_DAY_WORD = re.compile(rf"\b({'|'.join(WEEKDAYS)}|weekend|weekday)s?\b")
_MONTH = rf"(?:{'|'.join(MONTHS)})"
_DATE = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b"
    rf"|\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b"
    rf"|\bthe (\d{{1,2}})(?:st|nd|rd|th)\b(?! (?:of )?{_MONTH})"
    r"|\b(\d{4})-(\d\d)-(\d\d)\b"
    r"|\b(\d{1,2})/(\d{1,2})(?:/\d{2,4})?\b"
    rf"|\b(?:in|until|till|by|from|since|to|for) ({_MONTH})\b",
)
_MONEY = re.compile(
    r"[£$€₹¥]\s?(\d[\d,]*(?:\.\d+)?)"
    r"|\b(\d[\d,]*(?:\.\d+)?)\s?(?:pounds?|quid|dollars?|bucks|euros?|rupees|cents|pence|sgd|nzd|usd)\b",
)
_UNITS = (
    r"(?:mg|mcg|ml|millilitres?|milligrams?|grams?|g|kg|kilos?|kilograms?|lbs?|pounds|ounces|oz|stone"
    r"|cm|mm|km|metres?|meters?|feet|foot|ft|inch(?:es)?|miles?|litres?|liters?|tablets?|pills?"
    r"|tabs?|capsules?|drops?|puffs?|spoons?|teaspoons?|tablespoons?|scoops?|cups?|units|doses"
    r"|degrees|percent|%|mbps|gb|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|months?|years?"
    r"|times|lengths|laps|bags?|slices?|loaves|pints?)"
)
_AMOUNT = re.compile(
    rf"\b(\d+(?:[.,]\d+)?|half|{_NUMBER_WORD}|one|an?)(?: an?)?[\s-]?({_UNITS})(?![\w])"
    r"|\b(once|twice|three times) (?:a|per|every|each) (day|week|month|year|night)\b"
    r"|\bevery (other |second |two |three )?(day|week|month|fortnight|year|morning|night|evening)\b"
    r"|\b(daily|weekly|monthly|fortnightly|yearly|annually)\b",
)
_SIZE = re.compile(
    rf"\bsizes? (\d+(?:\.\d+)?(?: ?½| and a half)?|{_NUMBER_WORD}|x{{0,3}}[sml]"
    r"|small|medium|large)\b"
    r"|\b(x{1,3}[sl]|extra (?:small|large))\b|\bage[sd]? (\d+ ?(?:-|–|to) ?\d+)\b"
    r"|\b(small|medium|large|double|single|king|queen)(?=[- ](?:size|bed|one))",
)
_PLACE = re.compile(
    r"\b(?:in|inside|into|on|onto|under|underneath|behind|beside|beneath|above|below|over|near|by|at"
    r"|to|from|with|opposite|round|outside|next to|on top of|in front of|back of)\s+"
    r"((?:(?:the|our|my|your|his|her|their|its|a|an|that|this|mum['’]?s|dad['’]?s)\s+)?"
    r"(?:[\w'’-]+)(?:\s+[\w'’-]+){0,2})",
)
_CAPITAL = re.compile(
    r"(?<![\w'’])((?:(?:Mr|Mrs|Ms|Miss|Dr)\.? )?[A-Z][a-zà-ÿ]+(?:[-'’][A-Z][a-z]+)?)"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n]\s*|\s[-–]\s)[\"'(]*$")
_AFTER_NAME = re.compile(
    r"['’]s\b|,? (?:and [A-Z]|is|has|had|was|takes|wears|goes|likes|lives|needs|wants|works|plays"
    r"|says"
    r"|said|told|got|gets|loves|hates|eats|drives|starts|started|moved|passed|uses|owns|will|can|does"
    r"|did|left|came|gave|bought|sold|lent|put|changed|switched)\b"
)
_COLOUR = re.compile(
    r"\b(red|blue|green|yellow|orange|purple|pink|black|white|grey|gray|brown|beige|cream|navy|teal"
    r"|turquoise|silver|gold|violet|magenta|maroon)\b",
)
_TOKEN = re.compile(r"\+?\d{3,}(?: \d{3,})+\b|[^\W_]*\d[^\W_]*(?:[-.:/][^\W_]*\d[^\W_]*)*|\+\d+")
_NUMBER = re.compile(rf"\b({_NUMBER_WORD})\b")
_NO_NAME = frozenset(
    """
    I I'm I'll I've I'd It The A An And But So My Our His Her Their He She We You They This That
    There Then Now No Yes Not Just Actually Ok Okay Oh Hi Hey Please If When Where What Who Why How
    Which Is Are Was Were Did Do Does Has Have Had Can Could Will Would Should May Might For From To
    In On At By Of Off Up Down Out As With About After Before Since Until All Any Some Mum Dad Mom
    Remember Note Reminder Don't Didn't Can't Won't Let's Turns Got Put New Old Update Right Sorry
    Well Also Still Both Every Each Finally Apparently Heads Scrap Forget Change Changed Moved
    Mums Dads Nan Gran Granny Grandma Grandad Grandpa Auntie Aunt Uncle Tomorrow Today Tonight
    Yesterday Next Last PIN WiFi Wifi TV OK Ps Fyi It's That's There's He's She's They're We're
    We've You're
    """.split()
).union(name.capitalize() for name in (*COUNTS, *WEEKDAY_NAMES, *MONTH_NAMES))
_NOUN_STOP = frozenset("the our my your his her their its a an that this of and or".split())
_NO_PLACE = frozenset(
    """
    christmas half quarter noon midday weekend weekends week month year school work home now then
    least last first once all that it him her them me us which
    """.split()
).union(PARTS, MONTH_NAMES, WEEKDAY_NAMES, (f"{name}s" for name in WEEKDAY_NAMES))
_AFTER_PLACE = frozenset("now today again instead from since until till because but so".split())


def values_in(text: str, kinds: Iterable[str] = KINDS) -> Values:
    """Return the values of some kinds that a text states, by kind.

    >>> sorted(values_in("Swimming is on Thursdays at half past four", ["day", "time"]).items())
    [('day', frozenset({'thu'})), ('time', frozenset({'4:30'}))]
    >>> values_in("judo is at half five this wednesday", ["time"])
    {'time': frozenset({'5:30'})}
    """
    text = text[:_MAX_CHARS]
    lower = text.lower()
    values = {kind: _names(text) if kind == "name" else _READERS[kind](lower) for kind in kinds}
    return {kind: frozenset(of_kind) for kind, of_kind in values.items() if of_kind}


def _times(text: str) -> set[str]:
    times = set()
    for match in _TIME.finditer(text):
        hour, minutes, half, hour2, minutes2, clock, part, way, of, named, past, bare = (
            match.groups()
        )
        if named:
            times.add({"midnight": "0:00"}.get(named, "12:00"))
        elif part:
            number = _as_number(of)
            if number is None:
                continue
            shift = 30 if part == "half" else 15
            minute = number * 60 + (shift if way == "past" else -shift)
            times.add(_clock(minute))
        else:
            number = _as_number(hour or hour2 or clock or bare)
            if number is None or number > 24:
                continue
            minute = number * 60 + (30 if past else int(minutes or minutes2 or 0))
            times.add(_clock(minute + (720 if half == "p" and number < 12 else 0)))
    return times


def _clock(minute: int) -> str:
    """Write a time on a clock of twelve hours: what people say leaves the half of the day open."""
    hour, rest = divmod(minute % 720, 60)
    return f"{hour or 12}:{rest:02d}"


def _as_number(word: str | None) -> int | None:
    number = _COUNTED.get(word or "", word or "")
    return int(number) if number.isdigit() else None


def _amounts(text: str) -> set[str]:
    return {
        f"{_COUNTED.get(number, number)} {unit.rstrip('s')}"
        if number
        else " ".join(part.strip() for part in often if part)
        for number, unit, *often in _AMOUNT.findall(text)
    }


def _places(text: str) -> set[str]:
    places = set()
    for match in _PLACE.finditer(text):
        words = match.group(1).replace("’", "'").split()
        nouns = [word for word in words if word not in _NOUN_STOP]
        if nouns and nouns[0] not in _NO_PLACE and not nouns[0][0].isdigit():
            is_named_by_one = len(nouns) == 1 or nouns[1] in _AFTER_PLACE
            places.add(nouns[0] if is_named_by_one else " ".join(nouns[:2]))
    return places


def _names(text: str) -> set[str]:
    """Collect capitalised words; the first of a sentence only where what follows needs a name."""
    names = set()
    for match in _CAPITAL.finditer(text):
        name = match.group(1)
        if name in _NO_NAME or name.endswith("days"):
            continue
        begins = _SENTENCE_START.search(text, max(0, match.start() - 32), match.start())
        if begins and " " not in name and _AFTER_NAME.match(text, match.end()) is None:
            continue
        names.add(name.lower().replace(".", ""))
    return names


_READERS: Mapping[str, Callable[[str], set[str]]] = {  # of a text in lower case
    "number": lambda text: {
        *(_COUNTED[word] for word in _NUMBER.findall(text)),
        *(token.upper() for token in _TOKEN.findall(text)),
    },
    "time": _times,
    "day": lambda text: {day[:3].replace("wee", "week") for day in _DAY_WORD.findall(text)},
    "date": lambda text: {
        "-".join(part[:3].lstrip("0") for part in parts if part) for parts in _DATE.findall(text)
    },
    "money": lambda text: {
        (before or after).replace(",", "").removesuffix(".00")
        for before, after in _MONEY.findall(text)
    },
    "amount": _amounts,
    "size": lambda text: {
        _COUNTED.get(size, size) for sizes in _SIZE.findall(text) for size in sizes if size
    },
    "place": _places,
    "colour": lambda text: {*_COLOUR.findall(text)},
}
