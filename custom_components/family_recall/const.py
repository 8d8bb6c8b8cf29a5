"""Names shared by the modules of the integration."""

from __future__ import annotations

DOMAIN = "family_recall"

CONF_FILE = "file"
CONF_PEOPLE = "people"
CONF_PERSON = "person"
CONF_PERSON_ID = "person_id"
CONF_ROLE = "role"
CONF_DEVICE = "device"
CONF_ALOUD = "aloud"
CONF_CALENDARS = "calendars"
CONF_TODO_LISTS = "todo_lists"
CONF_LOGBOOK = "logbook"
CONF_UNKNOWN_VOICES = "unknown_voices"
CONF_TIME_BUDGET_MS = "time_budget_ms"

DEFAULT_FILE = "family_recall.db"
DEFAULT_TIME_BUDGET_MS = 300

SUBENTRY_PERSON = "person"
SUBENTRY_DEVICE = "device"
ROLES = ("adult", "child", "guest")

ISSUE_DAMAGED = "damaged_file"
ISSUE_NEWER = "newer_file"
ISSUE_NO_MODEL = "no_model"
