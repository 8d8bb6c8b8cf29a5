"""The fields of a memory, of a request's context and of its filters, each described once.

Options of the command line, arguments of tools for language models and fields of web forms derive
from these tables: a field that is added to a dataclass and described here appears in all of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from family_recall.types.memory import (
    BANDS,
    CATEGORIES,
    KINDS,
    MAX_LABEL_CHARS,
    MAX_TEXT_CHARS,
    Memory,
)
from family_recall.types.request import (
    MAX_TOP_K,
    MODES,
    SERVICE_CLASSES,
    Filters,
    RecallContext,
)

FieldType = Literal["text", "texts", "integer", "number", "flag", "moment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One field that a person, a program or a model may set.

    Args:
        name: Its name in the dataclass.
        type: ``texts`` is a list of texts, ``moment`` an ISO 8601 day or moment.
        help: What it means: a phrase without a capital, bounds, choices or a final full stop.
        label: A short name for forms; made from ``name``, when left out.
        choices: The only values there are; any, when empty. Of ``texts``, of each item.
        minimum: The least value allowed.
        maximum: The greatest value allowed, or taken for it.
        above: The value has to be greater than this.
        unit: Unit of a number.
        max_chars: Longest text allowed; of ``texts``, of each item.
        max_items: Most items of ``texts``.
        multiline: Whether a form gives a text several lines.
        for_models: Whether a language model may set it.
        absent: In words, what happens where it is left out and there is no default.
        default: The dataclass's own, filled in below.
        required: Whether the dataclass needs it, filled in below.
    """

    name: str
    type: FieldType
    help: str
    label: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    unit: str | None = None
    max_chars: int | None = None
    max_items: int | None = None
    multiline: bool = False
    for_models: bool = False
    absent: str = "none"
    default: Any = None
    required: bool = False

    def sentence(self) -> str:
        """Return the help with choices or bounds, such as ``how much it matters, 0 to 1``."""
        if self.choices:
            *others, last = self.choices
            return f"{self.help}: {', '.join(others)} or {last}"
        if self.minimum is not None and self.maximum is not None:
            return f"{self.help}, {self.minimum:g} to {self.maximum:g}"
        return self.help

    def default_text(self) -> str:
        """Return in words what is assumed where the field is left out."""
        return self.absent if self.default in (None, ()) else f"{self.default}"


def _table(record: type, *specs: FieldSpec) -> Mapping[str, FieldSpec]:
    """Complete specs with label, default and need, and key them by name."""
    declared = {field.name: field for field in dataclasses.fields(record)}
    table = {}
    for spec in specs:
        default = declared[spec.name].default
        required = default is dataclasses.MISSING
        table[spec.name] = dataclasses.replace(
            spec,
            label=spec.label or spec.name.replace("_", " ").capitalize(),
            default=None if required else default,
            required=required,
            max_chars=spec.max_chars
            or (MAX_LABEL_CHARS if record is Memory and "text" in spec.type else None),
        )
    return table


MEMORY_FIELDS = _table(
    Memory,
    FieldSpec(name="text", type="text", help="the words themselves", max_chars=MAX_TEXT_CHARS,
              multiline=True, for_models=True),
    FieldSpec(name="space_id", type="text", help="the space it belongs to", label="Space"),
    FieldSpec(name="doc_id", type="text", help="its id, to change it by later", label="Id",
              absent="made up"),
    FieldSpec(name="author", type="text", help="who said or wrote it", label="Said by"),
    FieldSpec(name="title", type="text", help="a heading, searched like the text",
              max_chars=MAX_TEXT_CHARS),
    FieldSpec(name="summary", type="text", help="a shorter version, searched like the text",
              max_chars=MAX_TEXT_CHARS, multiline=True),
    FieldSpec(name="kind", type="text", help="what sort of memory it is", choices=KINDS,
              for_models=True),
    FieldSpec(name="category", type="text", help="what it is about; decides how fast it fades",
              choices=CATEGORIES, for_models=True),
    FieldSpec(name="occurred_at", type="moment", help="when it was said or happened",
              label="When it happened", for_models=True, absent="now"),
    FieldSpec(name="labels", type="texts", help="a word to filter by"),
    FieldSpec(name="session_id", type="text", help="the session it belongs to", label="Session"),
    FieldSpec(name="source", type="text", help="where it came from, such as kitchen speaker"),
    FieldSpec(name="url", type="text", help="a link to the original", label="Link"),
    FieldSpec(name="section", type="text", help="the part of the original"),
    FieldSpec(name="importance", type="number", help="how much it matters", minimum=0, maximum=1),
    FieldSpec(name="valence", type="number", help="how pleasant it is", minimum=-1, maximum=1),
    FieldSpec(name="arousal", type="number", help="how exciting it is", minimum=0, maximum=1),
    FieldSpec(name="band", type="text", help="who in the space may see it, everybody first",
              label="Seen by", choices=BANDS),
    FieldSpec(name="guardians_of", type="text",
              help="the id of a child whose guardians alone may see it"),
    FieldSpec(name="fact_key", type="text", help="what a fact states, such as spouse_name",
              label="A fact about"),
    FieldSpec(name="fact_value", type="text", help="the value that a fact states",
              label="which is"),
    FieldSpec(name="event_type", type="text", help="the kind of a milestone, such as wedding",
              label="Event"),
    FieldSpec(name="valid_from", type="moment", help="when it began to be true",
              label="True from", absent="always"),
    FieldSpec(name="valid_until", type="moment", help="when it ceased to be true",
              label="True until", absent="still true"),
)  # fmt: skip
"""What ``Memory`` takes."""

CONTEXT_FIELDS = _table(
    RecallContext,
    FieldSpec(name="person_id", type="text", help="who asks", label="Person",
              absent="a stranger"),
    FieldSpec(name="space_id", type="text", help="the space the question is asked in",
              label="Space", absent="every space the person sees"),
    FieldSpec(name="aloud", type="flag", label="Aloud",
              help="whether others may hear the answer; no private space then answers"),
    FieldSpec(name="time_budget_ms", type="number", label="Time budget", unit="ms", above=0,
              help="time allowed once models are loaded; slow stages are skipped past it"),
    FieldSpec(name="top_k", type="integer", help="results wanted", label="Results", minimum=1,
              maximum=MAX_TOP_K, for_models=True),
    FieldSpec(name="profile", type="text", help="the named weights to rank with"),
    FieldSpec(name="mode", type="text", choices=MODES,
              help="what is searched; knowledge is chunks only, neural everything else"),
    FieldSpec(name="allow_cross_encoder", type="flag",
              help="whether the cross-encoder may rerank when time allows", label="Rerank"),
    FieldSpec(name="mmr_lambda", type="number", minimum=0, maximum=1, label="Diversity",
              help="weight of relevance against novelty among the results",
              absent="the profile's"),
    FieldSpec(name="focus_event_id", type="text", label="Focus",
              help="the memory being talked about; its neighbourhood is preferred"),
    FieldSpec(name="service_class", type="text", choices=SERVICE_CLASSES,
              help="how urgent it is beside other recalls", absent="by the time budget"),
    FieldSpec(name="now", type="moment", help="when it is asked", absent="now"),
    FieldSpec(name="as_of", type="moment", help="only what was true then",
              absent="when it is asked"),
    FieldSpec(name="known_at", type="moment", help="only what was recorded by then",
              absent="everything"),
)  # fmt: skip
"""What ``RecallContext`` takes, but for ``filters``."""

FILTER_FIELDS = _table(
    Filters,
    FieldSpec(name="after", type="moment", help="only what occurred at or after this moment",
              for_models=True, absent="any time"),
    FieldSpec(name="before", type="moment", help="only what occurred before this moment",
              for_models=True, absent="any time"),
    FieldSpec(name="kinds", type="texts", help="only this kind", choices=KINDS, absent="any"),
    FieldSpec(name="authors", type="texts", help="only what this author said", absent="any"),
    FieldSpec(name="labels", type="texts", help="only what carries this label", absent="any"),
    FieldSpec(name="sources", type="texts", help="only what came from this source",
              absent="any"),
    FieldSpec(name="before_session", type="text", absent="any",
              help="only sessions whose id sorts before this one"),
    FieldSpec(name="allow_shared", type="flag", help="whether shared spaces are included",
              label="Shared spaces"),
)  # fmt: skip
"""What ``Filters`` takes."""
