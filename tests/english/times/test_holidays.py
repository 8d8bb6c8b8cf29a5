"""The holiday table: what the library says, and rules that hold for every year."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from family_recall.english.times import holiday_at

SHIPPED = Path(__file__).parents[3] / "family_recall" / "english" / "times" / "holidays.json"


def first_days(name: str, country: str, *years: int) -> list[str]:
    """Return the first days of a holiday in some years."""
    match = holiday_at(name.split(), 0, country)
    assert match is not None, name
    return [f"{interval.start:%Y-%m-%d}" for year in years for interval in match[0].period(year)]


def test_the_shipped_table_is_what_the_library_says() -> None:
    """Printing the table again changes nothing; if it does, ship what the tool prints."""
    pytest.importorskip("holidays")
    from tools.fit import holiday_table  # noqa: PLC0415  (needs the library)

    with pytest.warns(UserWarning, match="from 2001 to 2035"):
        printed = holiday_table.table()
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))

    assert [entry for entry in printed["holidays"] if entry not in shipped["holidays"]] == []
    assert len(printed["holidays"]) == len(shipped["holidays"])


def test_every_day_agrees_with_the_library_by_date() -> None:
    """From 1990 to 2050 the days of a country's names are those the library has for them."""
    holidays = pytest.importorskip("holidays")
    named = {
        "thanksgiving": ("US", "Thanksgiving Day"),
        "victoria day": ("CA", "Victoria Day"),
        "good friday": ("GB", "Good Friday"),
        "early may bank holiday": ("GB", "May Day"),
        "spring bank holiday": ("GB", "Spring Bank Holiday"),
        "republic day": ("IT", "Republic Day"),
        "election day": ("US", "Election Day"),
        "corpus christi": ("AT", "Corpus Christi"),
    }
    wrong = []
    for name, (country, label) in named.items():
        listed = holidays.country_holidays(
            country, years=range(1990, 2051), observed=False, language="en_US",
            categories=getattr(holidays, country).supported_categories,
        )  # fmt: skip
        days = sorted(str(day) for day, labels in listed.items() if label in labels.split("; "))
        ours = first_days(name, country, *sorted({int(day[:4]) for day in days}))
        wrong += [(name, a, b) for a, b in zip(ours, days, strict=True) if a != b]

    assert wrong == []


def test_moved_days_are_exceptions() -> None:
    """Britain moved bank holidays for VE Day and a jubilee; Italy's was a Sunday until 2000."""
    assert first_days("early may bank holiday", "GB", 2019, 2020) == ["2019-05-06", "2020-05-08"]
    assert first_days("spring bank holiday", "GB", 2021, 2022) == ["2021-05-31", "2022-06-02"]
    assert first_days("republic day", "IT", 2000, 2001) == ["2000-06-04", "2001-06-02"]


def test_rules_hold_outside_the_years_of_the_table() -> None:
    """Easter was on 3 April in 1983 and will be on 31 March in 2086; Thursdays are by hand."""
    assert first_days("easter sunday", "US", 1983, 2086) == ["1983-04-03", "2086-03-31"]
    assert first_days("thanksgiving", "US", 1980, 2060) == ["1980-11-27", "2060-11-25"]
    assert first_days("leap day", "US", 2023, 2024, 2100) == ["2024-02-29"]


def test_the_french_mothers_day_is_never_at_pentecost() -> None:
    """The last Sunday of May, or a week later where that is Pentecost, as in 2023."""
    assert first_days("mother day", "FR", 2023, 2025) == ["2023-06-04", "2025-05-25"]


def test_lunar_holidays_end_with_their_calendar() -> None:
    """Nothing is guessed before 1990, after 2050, or for Diwali after 2035."""
    assert first_days("eid al fitr", "GB", 1989, 2051) == []
    assert first_days("diwali", "IN", 2035, 2036) == ["2035-10-30"]
    lengths = {
        (interval.end - interval.start).days
        for year in range(1990, 2051)
        for interval in holiday_at(["ramadan"], 0, "GB")[0].period(year)  # type: ignore[index]  # a name of the table
    }
    assert lengths == {29, 30}


def test_a_holiday_of_another_country_has_no_days() -> None:
    """Victoria Day is Canada's; elsewhere the name is read and means nothing."""
    assert first_days("victoria day", "CA", 2026) == [str(dt.date(2026, 5, 18))]
    assert first_days("victoria day", "US", 2026) == []
