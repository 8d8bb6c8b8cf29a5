"""What --json of each command promises, as JSON Schemas.

A record that the command line makes itself has these keys and no others. One of the library's
(an answer, a receipt, a report) has these and may get more.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
MOMENT: Schema = {"type": ["string", "null"], "pattern": r"^\d{4}-\d\d-\d\d"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
YES_NO: Schema = {"type": "boolean"}


def closed(**about: Schema) -> Schema:
    """Return the schema of an object with these keys and no others."""
    return {**opened(**about), "additionalProperties": False}


def opened(**about: Schema) -> Schema:
    """Return the schema of an object with these keys, which may have more."""
    return {"type": "object", "properties": about, "required": list(about)}


def by_name(of: Schema) -> Schema:
    """Return the schema of an object whose keys are data."""
    return {"type": "object", "additionalProperties": of}


def listed(of: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": of}


def words(*known: str) -> Schema:
    """Return the schema of one of some words."""
    return {"enum": list(known)}


INTERVAL = opened(value=NUMBER, low=NUMBER, high=NUMBER)
MEASURES = {"type": "object", "required": ["n"], "properties": {"n": WHOLE},
            "additionalProperties": INTERVAL}  # fmt: skip
PEOPLE = listed(
    closed(
        person_id=TEXT, name=TEXT, aliases=listed(TEXT), spaces=by_name(TEXT),
        guardians=listed(TEXT),
    )
)  # fmt: skip
SPACES = listed(
    closed(
        space_id=TEXT,
        kind=words("shared", "private", "household"),
        name=TEXT_OR_NULL,
        everybody=YES_NO,
        grants=listed(closed(person_id=TEXT, role=TEXT, expires_at=MOMENT)),
        hidden=by_name(listed(TEXT)),
    )
)
HOUSEHOLD = closed(path=TEXT, people=PEOPLE, spaces=SPACES)
RESULT = opened(
    rank=WHOLE, doc_id=TEXT, score=NUMBER, confidence=SHARE, text=TEXT, space_id=TEXT, kind=TEXT,
    author=TEXT_OR_NULL, title=TEXT_OR_NULL, session_id=TEXT_OR_NULL, url=TEXT_OR_NULL,
    section=TEXT_OR_NULL, occurred_at=MOMENT, superseded=YES_NO, source=TEXT, highlights=listed(
        {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}
    ),
    rationale={"type": ["object", "null"]}, fact_key=TEXT_OR_NULL, fact_value=TEXT_OR_NULL,
    superseded_by=TEXT_OR_NULL, superseded_because=TEXT_OR_NULL, copies=listed(TEXT),
    whose=TEXT_OR_NULL,
    features=by_name(NUMBER), reasons=listed(TEXT),
)  # fmt: skip
ANSWER = opened(
    query_text=TEXT, status=words("ok", "weak", "no_match"), confidence=SHARE,
    answerable=SHARE, uncovered=listed(TEXT), results=listed(RESULT), facts=by_name(TEXT),
    strategy=TEXT, mode=TEXT, profile=TEXT,
    relations=listed(
        closed(
            subject=TEXT, relation=TEXT, object=TEXT, space_id=TEXT, confidence=SHARE,
            valid_from=MOMENT, valid_until=MOMENT, evidence=listed(TEXT), answers=YES_NO,
            asked_for=TEXT_OR_NULL,
        )
    ),
    changed=listed(opened(doc_id=TEXT, replaced_by=TEXT, since=MOMENT, reason=TEXT)),
    timeline=listed(
        opened(first=MOMENT, last=MOMENT, n_stored=WHOLE, doc_ids=listed(TEXT), heading=TEXT)
    ),
    now=MOMENT, as_of=MOMENT, known_at=MOMENT, used_time_ms=NUMBER, degraded=listed(TEXT),
    trace=opened(
        spans={"type": "array"}, skips={"type": "array"}, counts=by_name(WHOLE),
        decided_by=words("score", "time", "identifier", "focus", "about"),
        evidence=by_name(NUMBER), hits=by_name({"type": "array"}),
        request={"type": "object"}, understanding={"type": ["object", "null"]},
        decisions=by_name(TEXT), weights=by_name(NUMBER), kinds=by_name(WHOLE),
    ),
)  # fmt: skip
RECEIPT = opened(
    receipt_id=TEXT, at=MOMENT, person_id=TEXT_OR_NULL, chosen_by=listed(TEXT),
    counts=by_name(WHOLE), undo_until=MOMENT,
)  # fmt: skip
VERIFICATION = opened(forgotten=YES_NO, leftover_runs=WHOLE, bytes_read=WHOLE)
PLAN = opened(
    doc_ids=listed(TEXT), n_versions=WHOLE, neighbours=WHOLE, by_space=by_name(WHOLE),
    held_back=WHOLE, token=TEXT,
    examples=listed(opened(doc_id=TEXT, space_id=TEXT, author=TEXT_OR_NULL, text=TEXT)),
)  # fmt: skip
RULES = by_name(NUMBER)
MODEL = {
    "name": TEXT, "role": TEXT, "model_id": TEXT, "dimensions": WHOLE, "bytes": WHOLE,
    "licence": TEXT, "pooling": TEXT, "query_prefix": TEXT, "memory_prefix": TEXT,
    "max_tokens": closed(question=WHOLE, memory=WHOLE),
}  # fmt: skip
QUANTILES = closed(p50=NUMBER, p95=NUMBER, p99=NUMBER)
COMPARED = opened(
    n=WHOLE, first=by_name(NUMBER), second=by_name(NUMBER), difference=by_name(INTERVAL),
    verdict=by_name(words("better", "worse", "undecided")),
)  # fmt: skip
SETTING = closed(
    value={"type": ["string", "number", "null"]},
    source=words("option", "environment", "file", "default"),
)

IMPORTED = closed(
    path=TEXT, file_format=TEXT, source=TEXT, space_id=TEXT, dry_run=YES_NO, created=WHOLE,
    updated=WHOLE, unchanged=WHOLE, withdrawn=WHOLE, left_out=listed(
        closed(reason=TEXT, n=WHOLE, first=TEXT, problem=TEXT)
    ),
    authors=by_name(TEXT_OR_NULL), examples=listed(opened(text=TEXT, doc_id=TEXT, space_id=TEXT)),
)  # fmt: skip

FLEET = {
    "households": WHOLE, "done_before": WHOLE, "failed": listed(closed(household=TEXT, error=TEXT)),
}  # fmt: skip
SCHEMAS: dict[str, Schema] = {
    **dict.fromkeys(
        (f"fleet {step}" for step in ("backup", "bench", "doctor", "migrate", "reembed")),
        closed(**FLEET),
    ),
    "fleet eval": opened(**FLEET, overall=MEASURES, n_queries=WHOLE, n_memories=WHOLE),
    "fleet restore": closed(path=TEXT, backup_of=MOMENT, memories=WHOLE, kept=TEXT_OR_NULL),
    **dict.fromkeys(
        ("init", "people add", "spaces add", "grant", "revoke", "guardian", "hide"), HOUSEHOLD
    ),
    "people": closed(people=PEOPLE),
    "spaces": closed(spaces=SPACES),
    "add": closed(doc_id=TEXT, outcome=words("created", "updated", "unchanged", "duplicate")),
    "import": {
        "anyOf": [
            closed(created=WHOLE, updated=WHOLE, unchanged=WHOLE, duplicate=WHOLE),
            opened(dry_run=YES_NO, files=listed(IMPORTED)),
            opened(path=TEXT, records=by_name(WHOLE)),
        ]
    },
    "sources": listed(closed(source=TEXT, space=TEXT, memories=WHOLE, withdrawn=WHOLE)),
    "sources withdraw": closed(source=TEXT, withdrawn=WHOLE),
    "sources forget": RECEIPT,
    "relate": listed(
        closed(
            subject=TEXT, relation=TEXT, object=TEXT, space_id=TEXT, band=TEXT, confidence=SHARE,
            valid_from=MOMENT, valid_until=MOMENT, evidence=listed(TEXT),
            guardians_of=TEXT_OR_NULL,
        )
    ),
    "unrelate": closed(unrelated=listed(TEXT), space_id=TEXT),
    "correct": closed(
        doc_id=TEXT,
        space_id=TEXT,
        changed=by_name({"type": "object", "required": ["was", "is"], "maxProperties": 2}),
    ),
    "recall": ANSWER,
    "timeline": ANSWER,
    "explain": opened(
        doc_id=TEXT, verdict=words("returned", "outranked", "duplicate", "not_found"), rank=WHOLE,
        top_k=WHOLE, score=NUMBER, contributions={"type": "array"}, found_by=by_name(WHOLE),
        last={"type": ["object", "null"]},
    ),
    "inspect": closed(file=TEXT, bytes=WHOLE, results=WHOLE),
    "understand": opened(
        question=TEXT, timespan={"type": ["object", "null"]}, past_reference=YES_NO,
        identifiers={"type": "array"}, entities=listed(TEXT), strategy=TEXT,
        strategy_confidence=SHARE, mode=TEXT, tier_weights=by_name(SHARE), terms=listed(TEXT),
    ),
    "audit": listed(
        opened(at=MOMENT, call=TEXT, person_id=TEXT_OR_NULL, asked_in=TEXT_OR_NULL,
               memories=listed(listed(TEXT)), lost={"type": ["integer", "null"]})
    ),
    "stats": opened(
        path=TEXT, bytes=WHOLE, schema=WHOLE, timezone=TEXT, memories=WHOLE, superseded=WHOLE,
        vectors=by_name(WHOLE), by_space=by_name(WHOLE), people=WHOLE, entities=WHOLE,
        relations=WHOLE, edges=WHOLE, model=TEXT_OR_NULL, static_model=TEXT_OR_NULL,
    ),
    "feedback": opened(kept=YES_NO, learned=YES_NO, why=TEXT_OR_NULL),
    "learned": listed(
        opened(
            person_id=TEXT, weights=by_name(closed(shipped=NUMBER, now=NUMBER)), samples=WHOLE,
            guard={"type": ["object", "null"]},
        )
    ),
    "unlearn": closed(taken_back={"type": ["integer", "null"]}, all=YES_NO),
    "forget": {"anyOf": [PLAN, closed(receipt=RECEIPT, verification=VERIFICATION)]},
    "people remove": {"anyOf": [
        closed(person_id=TEXT, forgotten=PLAN, n_said=WHOLE, n_mentioning=WHOLE,
               spaces=listed(TEXT)),
        closed(receipt=RECEIPT, verification=VERIFICATION),
    ]},
    "undo": closed(undone=TEXT, memories=WHOLE),
    "forgotten": listed({**RECEIPT, "properties": {
        **RECEIPT["properties"], "verification": VERIFICATION,
    }}),
    "retention set": RULES,
    "retention list": RULES,
    "retention apply": {"anyOf": [PLAN, closed(receipt={"anyOf": [RECEIPT, {"type": "null"}]})]},
    "backup": closed(path=TEXT, bytes=WHOLE, schema=WHOLE, memories=WHOLE),
    "export": opened(path=TEXT, records=by_name(WHOLE)),
    "restore": closed(path=TEXT, kept=TEXT_OR_NULL, memories=WHOLE),
    "migrate": closed(before=WHOLE, after=WHOLE),
    "rebuild": closed(memories=WHOLE, pending=by_name(WHOLE)),
    "reembed": opened(model_id=TEXT, made=WHOLE, pending=WHOLE, dropped=listed(TEXT)),
    "doctor": opened(
        ok=YES_NO, repaired=listed(TEXT),
        checks=listed(opened(name=TEXT, ok=YES_NO, found=TEXT, fix=TEXT_OR_NULL)),
    ),
    "rekey": closed(path=TEXT, encrypted=YES_NO),
    "bench": opened(
        memories=WHOLE, visible=WHOLE, questions=WHOLE, budget_ms=NUMBER, open_ms=NUMBER,
        first_ms=NUMBER, warm_ms=NUMBER, total=closed(ms=QUANTILES, cpu_ms=QUANTILES),
        stages=by_name(closed(n=WHOLE, p50=NUMBER, p95=NUMBER, p99=NUMBER)),
        left_out=by_name(closed(n=WHOLE, why=TEXT)), over_ms=QUANTILES, machine=by_name(TEXT),
    ),
    "eval": opened(
        overall=MEASURES, by_category=by_name(MEASURES), segments=by_name(by_name(MEASURES)),
        shares=by_name(SHARE), calibration={"type": "object"}, latency_ms=by_name(NUMBER),
        n_queries=WHOLE, n_hurried=WHOLE, n_memories=WHOLE, config={"type": "object"},
    ),
    "compare": opened(
        overall=COMPARED, by_category=by_name(COMPARED), n_changed=WHOLE, n_left_out=WHOLE
    ),
    "config": closed(
        config_file=TEXT, config_file_exists=YES_NO,
        settings=closed(
            db=SETTING, key_file=SETTING, person=SETTING, space=SETTING, budget_ms=SETTING,
            profile=SETTING,
        ),
    ),
    "models list": closed(
        folder=TEXT,
        models=listed(closed(**MODEL, in_use=YES_NO)),
        catalogue=listed(
            closed(name=TEXT, role=TEXT, bytes=WHOLE, licence=TEXT, languages=TEXT, notes=TEXT,
                   repo=TEXT, revision=TEXT, installed=YES_NO)
        ),
    ),
    "models verify": closed(checks=listed(closed(name=TEXT, what=TEXT, problem=TEXT_OR_NULL))),
    "models import": closed(folder=TEXT, **MODEL),
    "models fetch": closed(folder=TEXT, **MODEL),
}  # fmt: skip
