"""Calendars, lists and the logbook are remembered as they are now, where that was chosen."""

from __future__ import annotations

import doctest
from datetime import timedelta
from typing import Any

import pytest
from homeassistant.components.calendar.const import DATA_COMPONENT
from homeassistant.components.logbook import async_log_entry
from homeassistant.core import HomeAssistant, SupportsResponse
from homeassistant.util import dt as dt_util
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.family_recall import sources
from custom_components.family_recall.sources import event_item, todo_text
from tests_home_assistant.common import SetUp

CALENDAR, LIST = "calendar.family", "todo.shopping_list"
OPTIONS = {"calendars": [CALENDAR], "todo_lists": [LIST]}


@pytest.fixture
async def calendar(hass: HomeAssistant) -> str:
    """Return the family's calendar, which is empty."""
    entry = MockConfigEntry(
        domain="local_calendar",
        title="Family",
        data={"calendar_name": "Family", "storage_key": "family", "import": "create"},
    )
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    return CALENDAR


@pytest.fixture
async def shopping_list(hass: HomeAssistant) -> str:
    """Return the shopping list, which is empty."""
    entry = MockConfigEntry(domain="shopping_list", title="Shopping List")
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    return LIST


async def add_event(hass: HomeAssistant, summary: str, day: str, **data: Any) -> None:
    """Write an event of an hour into the calendar."""
    await hass.services.async_call(
        "calendar",
        "create_event",
        {
            "entity_id": CALENDAR,
            "summary": summary,
            "start_date_time": f"{day}T10:00:00",
            "end_date_time": f"{day}T11:00:00",
            **data,
        },
        blocking=True,
    )


async def todo(hass: HomeAssistant, action: str, **data: Any) -> None:
    """Change the shopping list."""
    await hass.services.async_call("todo", action, {"entity_id": LIST, **data}, blocking=True)


async def remembered(hass: HomeAssistant, entry: MockConfigEntry, who: str | None) -> list[str]:
    """Return the texts that a person, or an unknown voice, may see after a sync, sorted."""
    await entry.runtime_data.async_refresh()
    assert entry.runtime_data.last_update_success, entry.runtime_data.last_exception
    await hass.async_block_till_done()
    page = entry.runtime_data.home.memories.page(person_id=who)
    return sorted(version.memory.text for version in page.memories)


@pytest.mark.usefixtures("calendar")
async def test_a_calendar_is_followed(hass: HomeAssistant, set_up: SetUp) -> None:
    """A new event is remembered, a moved one has its new time, a deleted one is withdrawn."""
    day = (dt_util.now() + timedelta(days=3)).date()
    later = day + timedelta(days=1)
    await add_event(hass, "Dentist", day.isoformat(), location="High Street 5")
    entry = await set_up(options=OPTIONS)

    dentist = "Dentist, on {} at 10:00, at High Street 5"
    assert await remembered(hass, entry, "bob") == [
        dentist.format(f"{day:%A} {day.day} {day:%B %Y}")
    ]

    component = hass.data[DATA_COMPONENT].get_entity(CALENDAR)
    start = dt_util.start_of_local_day()
    event = (await component.async_get_events(hass, start, start + timedelta(days=9)))[0]
    moved = {
        "summary": "Dentist",
        "dtstart": event.start + timedelta(days=1),
        "dtend": event.end + timedelta(days=1),
        "location": "High Street 5",
    }
    await component.async_update_event(event.uid, moved)
    assert await remembered(hass, entry, "bob") == [
        dentist.format(f"{later:%A} {later.day} {later:%B %Y}")
    ]

    await component.async_delete_event(event.uid)
    assert await remembered(hass, entry, "bob") == []


@pytest.mark.usefixtures("calendar", "shopping_list")
async def test_what_cannot_be_remembered_hinders_nothing(
    hass: HomeAssistant, set_up: SetUp
) -> None:
    """An invitation with an endless title is left out, and an item without an id is an item."""
    day = (dt_util.now() + timedelta(days=3)).date()
    await add_event(hass, "x" * 2000, day.isoformat())
    await add_event(hass, "Dentist", day.isoformat())
    hass.services.async_register(
        "todo",
        "get_items",
        lambda _: {LIST: {"items": [{"summary": "milk", "status": "needs_action"}]}},
        supports_response=SupportsResponse.ONLY,
    )
    entry = await set_up(options=OPTIONS)
    assert await remembered(hass, entry, "bob") == [
        f"Dentist, on {day:%A} {day.day} {day:%B %Y} at 10:00",
        "On the list Shopping List: milk",
    ]


async def test_a_persons_own_source_is_not_forgotten(hass: HomeAssistant, set_up: SetUp) -> None:
    """What somebody calls a calendar in their private space is no calendar of the household."""
    entry = await set_up()
    home = entry.runtime_data.home
    home.sources.write("calendar.work", "1", "Review", space_id="private:bob", person_id="bob")
    await hass.config_entries.async_reload(entry.entry_id)
    assert await remembered(hass, entry, "bob") == ["Review"]


@pytest.mark.usefixtures("calendar")
async def test_an_event_is_found_by_its_day(hass: HomeAssistant, set_up: SetUp) -> None:
    """A question for what is in the calendar is answered from it."""
    day = (dt_util.now() + timedelta(days=3)).date()
    await add_event(hass, "Parents' evening at school", day.isoformat())
    entry = await set_up(options=OPTIONS)
    await remembered(hass, entry, "bob")
    answer = entry.runtime_data.home.recall(
        "When is the parents' evening?", person_id="bob", time_budget_ms=60_000
    )
    assert answer.best is not None
    assert answer.best.text.startswith("Parents' evening at school, on ")


@pytest.mark.usefixtures("calendar")
async def test_of_a_repeated_event_the_next_is_first(hass: HomeAssistant, set_up: SetUp) -> None:
    """Of a year of alternate weeks, the one in three days."""
    day = (dt_util.now() + timedelta(days=3)).date()
    entity = hass.data[DATA_COMPONENT].get_entity(CALENDAR)
    for summary, first in (("Blue bin", day), ("Green bin", day + timedelta(days=7))):
        await entity.async_create_event(
            summary=summary,
            dtstart=first - timedelta(days=70),
            dtend=first - timedelta(days=69),
            rrule="FREQ=WEEKLY;INTERVAL=2",
        )
    entry = await set_up(options=OPTIONS)
    await remembered(hass, entry, "bob")
    answer = entry.runtime_data.home.recall(
        "When is the blue bin next out?", person_id="bob", time_budget_ms=60_000
    )
    assert answer.best is not None
    assert answer.best.text == f"Blue bin, on {day:%A} {day.day} {day:%B %Y}"


@pytest.mark.usefixtures("calendar", "shopping_list")
async def test_unknown_voices_hear_of_it_only_where_that_was_chosen(
    hass: HomeAssistant, set_up: SetUp
) -> None:
    """By default what sources say is for adults of the household."""
    await todo(hass, "add_item", item="milk")
    entry = await set_up(options=OPTIONS)
    milk = ["On the list Shopping List: milk"]
    assert await remembered(hass, entry, "alice") == milk
    assert await remembered(hass, entry, None) == []

    hass.config_entries.async_update_entry(entry, options={**OPTIONS, "unknown_voices": True})
    await hass.async_block_till_done()
    assert await remembered(hass, entry, None) == milk


@pytest.mark.usefixtures("shopping_list")
async def test_a_list_is_followed(hass: HomeAssistant, set_up: SetUp) -> None:
    """What is done or removed is withdrawn, without waiting for the next full sync."""
    entry = await set_up(options=OPTIONS)
    await todo(hass, "add_item", item="milk")
    await todo(hass, "add_item", item="bread")
    assert await remembered(hass, entry, "bob") == [
        "On the list Shopping List: bread",
        "On the list Shopping List: milk",
    ]
    await todo(hass, "update_item", item="milk", status="completed")
    assert await remembered(hass, entry, "bob") == ["On the list Shopping List: bread"]
    await todo(hass, "remove_item", item="bread")
    assert await remembered(hass, entry, "bob") == []


@pytest.mark.usefixtures("shopping_list")
async def test_a_change_is_written_soon(hass: HomeAssistant, set_up: SetUp, freezer: Any) -> None:
    """A list that changes is read again after a short while, not after fifteen minutes."""
    entry = await set_up(options=OPTIONS)
    await todo(hass, "add_item", item="milk")
    await hass.async_block_till_done()
    freezer.tick(11)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert entry.runtime_data.home.maintenance.stats()["memories"] == 1


@pytest.mark.usefixtures("shopping_list")
async def test_nothing_listens_after_unloading(
    hass: HomeAssistant, set_up: SetUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that changes then does not reach what is closed."""
    entry = await set_up(options=OPTIONS)
    coordinator = entry.runtime_data
    await hass.config_entries.async_unload(entry.entry_id)
    asked = []

    async def refresh() -> None:
        asked.append(1)

    monkeypatch.setattr(coordinator, "async_request_refresh", refresh)
    await todo(hass, "add_item", item="milk")
    await hass.async_block_till_done()
    assert asked == []


@pytest.mark.usefixtures("shopping_list")
async def test_what_is_not_chosen_any_more_is_forgotten(hass: HomeAssistant, set_up: SetUp) -> None:
    """A source that is taken out of the options leaves nothing behind."""
    await todo(hass, "add_item", item="milk")
    entry = await set_up(options=OPTIONS)
    assert len(await remembered(hass, entry, "bob")) == 1
    hass.config_entries.async_update_entry(entry, options={})
    await hass.async_block_till_done()
    assert await remembered(hass, entry, "bob") == []


@pytest.mark.usefixtures("shopping_list")
async def test_a_list_that_cannot_be_read_keeps_what_it_had(
    hass: HomeAssistant, set_up: SetUp
) -> None:
    """Neither a missing integration nor an unavailable entity withdraws anything."""
    await todo(hass, "add_item", item="milk")
    entry = await set_up(options=OPTIONS)
    (other,) = hass.config_entries.async_entries("shopping_list")
    assert len(await remembered(hass, entry, "bob")) == 1
    await hass.config_entries.async_unload(other.entry_id)
    assert len(await remembered(hass, entry, "bob")) == 1
    hass.services.async_remove("todo", "get_items")
    assert len(await remembered(hass, entry, "bob")) == 1


async def test_the_logbook_is_opt_in(hass: HomeAssistant, set_up: SetUp) -> None:
    """An entry that an automation logs is remembered, once that was chosen."""
    entry = await set_up()

    async def log() -> list[str]:
        async_log_entry(hass, "Front door", "was opened by the cleaner")
        await hass.async_block_till_done()
        return await remembered(hass, entry, "bob")

    assert await log() == []
    hass.config_entries.async_update_entry(entry, options={"logbook": True})
    await hass.async_block_till_done()
    assert await log() == ["Front door was opened by the cleaner"]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"start": "2026-11-27", "end": "2026-11-28"}, "Trip, on Friday 27 November 2026"),
        (
            {"start": "2026-11-27", "end": "2026-11-30", "description": "Bring boots"},
            "Trip, from Friday 27 November 2026 to Sunday 29 November 2026. Bring boots",
        ),
        (
            {"start": "2026-11-27T09:05:00+01:00", "end": "2026-11-27T10:00:00+01:00"},
            "Trip, on Friday 27 November 2026 at 09:05",
        ),
    ],
)
def test_an_event_in_words(event: dict[str, str], text: str) -> None:
    """Days are written out, so that a question for a day finds them."""
    assert event_item({"summary": "Trip", **event})[1] == text


def test_an_item_in_words() -> None:
    """A due date and a description are part of it."""
    item = {"summary": "tax", "due": "2026-11-27", "description": "online"}
    assert todo_text("Chores", item) == (
        "On the list Chores: tax, due on Friday 27 November 2026. online"
    )


def test_the_examples_are_true() -> None:
    """Those of the docstrings."""
    assert doctest.testmod(sources) == doctest.TestResults(failed=0, attempted=2)
