"""The page of a recall: well formed, passive, escaped, and true to its answer."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.apps.reports.recall import page, paths, rank_table
from family_recall.apps.reports.redaction import redacted
from family_recall.apps.reports.results import GROUPS
from family_recall.apps.reports.templating import stylesheet
from family_recall.recall.explanation import Explanation, NearMiss
from family_recall.recall.ranking.features import INDEX
from family_recall.types import (
    Admission,
    Answer,
    Contribution,
    Filters,
    Hit,
    Rationale,
    RecallContext,
    RecallRequest,
    RelationResult,
    RepliedTo,
    Result,
    Skip,
    Span,
    SpokenTime,
    Trace,
    Understanding,
)
from family_recall.types.answer import Change
from family_recall.types.records import later
from family_recall.types.trace import busy_ms
from tests.page_checks import (
    CHROMIUM,
    ReadPage,
    see_that_a_browser_renders,
    see_that_it_is_closed,
)

NOW = dt.datetime(2026, 1, 10, 18, 0, tzinfo=dt.UTC)
HOSTILE = (
    '</title></style></pre></code><script>alert("1")</script><img src=x onerror=alert(1)>'
    "\x00\u202egnp.exe\u2066 ' & &lt; " + "w" * 5000
)


def result(rank: int, text: str = "The cake is ready", **also: object) -> Result:
    """Return a result of two terms, one of which falls with the rank."""
    parts = (Contribution("bm25", 0.9 / rank, 0.5), Contribution("ppr", 0.2, 0.1))
    made = Result(
        rank, f"memory-{rank}", sum(p.amount for p in parts), 0.5, text, "shared:home", "episode",
        "alice", None, None, None, None, f"2026-01-0{min(rank, 9)}T10:00:00+00:00", False,
        "lexical", parts,
    )  # fmt: skip
    return msgspec.structs.replace(made, **also)


def answer(*results: Result, query: str = "When is the cake ready?", **also: object) -> Answer:
    """Return an answer with a trace of four stages that ran and one that was skipped."""
    trace = Trace(
        spans=(Span("plan", 2.0, 0, 0, 0.5), Span("lexical", 3.0, 9, 4, 3.0),
               Span("embed", 7.0, 5, 5, 3.0), Span("fusion", 1.0, 4, 4, 10.5)),
        skips=(Skip("rerank", "no_time", "needs 38 ms, 11 ms left", 4),),
        counts={"visible": 40, "candidates": 9, "duplicates": 1},
        hits={
            "lexical": tuple(
                Hit(r.doc_id, rank, 1 / rank) for rank, r in enumerate(reversed(results), start=1)
            ),
            "vector": (),
        },
        gate=Admission("interactive"),
    )  # fmt: skip
    made = Answer(
        query_text=query, results=results, status="ok", confidence=0.5, strategy="EPISODIC",
        mode="hybrid", profile="default", now=NOW, as_of=NOW, known_at=None, used_time_ms=14.0,
        degraded=(), trace=trace,
    )  # fmt: skip
    return msgspec.structs.replace(made, **also)


def missed(verdict: str = "outranked", text: str = "A pie") -> NearMiss:
    """Return a near miss."""
    low = msgspec.structs.replace(result(7, text), doc_id="pie")
    explanation = Explanation(
        "pie", verdict, 7, 2, low.score, low.contributions, {"lexical": 9}, result(2),  # type: ignore[arg-type]  # one of its literals
        "shared:home",
    )  # fmt: skip
    return NearMiss(explanation, text)


def read(shown: Answer, *near_misses: NearMiss) -> ReadPage:
    """Render a page and read it back."""
    return ReadPage(page(shown, budget_ms=20.0, missed=near_misses))


def test_a_page_allows_nothing_but_its_own_style() -> None:
    """The policy has the hash of the style sheet; no script, external link or inline style."""
    see_that_it_is_closed(page(answer(result(1), result(2)), budget_ms=20.0, missed=(missed(),)))


def test_a_page_is_well_formed_and_every_picture_and_table_has_words() -> None:
    """Every element is closed; pictures have titles, tables captions, and ids are unique."""
    html = read(answer(result(1), result(2)), missed())

    assert (html.open, html.wrong) == ([], [])
    assert len(html.all("table")) == len(html.all("caption"))
    names = [name for name, _ in html.elements]
    for at, (name, attributes) in enumerate(html.elements):
        if name == "svg":
            assert attributes["role"] == "img"
            assert names[at + 1] == "title"
    ids = [attributes["id"] for _, attributes in html.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {(a["href"] or "")[1:] for a in html.all("a")}
    assert links <= set(ids)
    assert names.count("h1") == 1


def test_the_bar_of_a_result_has_a_part_for_each_term() -> None:
    """0.4, 0.2 and −0.15: the parts are as wide as what they add or take, and follow each other."""
    parts = (Contribution("bm25", 0.8, 0.5), Contribution("cosine", 0.5, 0.4),
             Contribution("recency", 0.3, -0.5), Contribution("rrf", 0.0, 1.0))  # fmt: skip
    html = read(answer(result(1, contributions=parts, score=0.45)))

    drawn = [r for r in html.all("rect") if (r["class"] or "").startswith("g-")]
    widths = [float(bar["width"] or 0) for bar in drawn]
    assert widths == pytest.approx([1000 * amount / 0.75 for amount in (0.4, 0.2, 0.15)], abs=0.01)
    assert [float(bar["x"] or 0) for bar in drawn] == pytest.approx(
        [0.0, widths[0], sum(widths[:2])], abs=0.01
    )
    assert ["less" in (bar["class"] or "") for bar in drawn] == [False, False, True]


def test_every_feature_has_a_colour() -> None:
    """Each declared feature is in one group, and each group names declared features."""
    named = [name for names in GROUPS.values() for name in names]

    assert sorted(named) == sorted(INDEX)


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=40), st.data())
def test_a_text_never_changes_the_elements_of_a_page(
    text: str, name: str, data: st.DataObject
) -> None:
    """Whatever is remembered or asked, the elements are those of a page of plain words."""
    end = data.draw(st.integers(0, len(text)))
    marked = ((0, end),) if end else ()
    way = Rationale((name, text, "memory-1"), (name,), ("memory-1",))
    hostile = result(1, text, author=name, title=name, highlights=marked, rationale=way)
    way = Rationale(("n", "k", "memory-1"), ("n",), ("memory-1",))
    marked = ((0, 5),) if end else ()
    plain = result(1, "words", author="x", title="x", highlights=marked, rationale=way)
    html = read(answer(hostile, query=text))
    expected = read(answer(plain, query="words"))

    assert (html.open, html.wrong) == ([], [])
    if name != "memory-1":
        assert [n for n, _ in html.elements] == [n for n, _ in expected.elements]


def test_a_hostile_memory_does_nothing() -> None:
    """Tags are text, bidirectional marks and zero bytes are replaced, and UTF-8 can encode it."""
    hostile = result(1, HOSTILE, author=HOSTILE, title=HOSTILE, space_id=HOSTILE, doc_id=HOSTILE,
                 highlights=((2, 40),))  # fmt: skip
    html = page(
        answer(hostile, result(2), query=HOSTILE + "\ud800", degraded=(HOSTILE,)), budget_ms=20.0
    )

    see_that_it_is_closed(html)
    assert not set("\x00\u202e\u2066") & set(html)
    assert "<script>" in ReadPage(html).text
    html.encode()


def test_the_raw_answer_reads_back() -> None:
    """The JSON on the page is the answer, bidirectional marks included."""
    original = answer(result(1, "turned \u202e around \x85"), result(2))
    html = page(original, budget_ms=20.0)
    shown = [json.loads(_unescaped(block)) for block in re.findall(r"<code>(.*?)</code>", html,
                                                                   re.DOTALL)]  # fmt: skip

    assert Answer.from_json(shown[1]) == original
    assert shown[0] == json.loads(json.dumps(original.trace.to_json()))


def test_redaction_leaves_no_word_that_anybody_wrote() -> None:
    """Lengths replace the question, texts, names, ids, spaces, facts and paths in reasons."""
    secret = "zqxj"  # noqa: S105 - a word to look for
    rationale = Rationale(
        (f"{secret}-name", f"{secret}-kind", f"{secret}-memory"), (f"{secret}-name",),
        (f"{secret}-memory",),
    )  # fmt: skip
    fields = ("doc_id", "text", "space_id", "author", "title", "session_id", "url", "section",
              "fact_key", "fact_value", "superseded_by")  # fmt: skip
    about = {name: f"{secret}-{name}" for name in fields}
    secretive = result(
        1,
        **about,
        copies=(f"{secret}-copy",),
        highlights=((0, 4),),
        rationale=rationale,
        reply_to=RepliedTo(f"{secret}-asked", f"{secret}?", secret),
    )
    full = answer(
        secretive, query=f"where is {secret}?", facts={f"{secret} key": f"{secret} value"},
        relations=(
            RelationResult(
                secret, f"{secret} of", secret, f"{secret} space", evidence=(f"{secret}-memory",),
                answers=True, asked_for=secret,
            ),
        ),
        degraded=(f"vector: /home/{secret} {secret}/models: no such folder",),
    )  # fmt: skip
    trace = msgspec.structs.replace(
        full.trace, top3=((f"{secret}-doc_id", ("bm25",)),),
        skips=(Skip("vector", "no_model", f"C:\\Users\\{secret} {secret}: missing", 1),),
        hits={"lexical": later(lambda: [Hit(f"{secret}-doc_id", 1, 0.5)])},
        request=RecallRequest(
            secret,
            RecallContext(
                secret, f"{secret}:home", f"{secret}-focus",
                filters=Filters(sources=(secret,), authors=(secret,), labels=(secret,),
                                before_session=secret),
            ),
        ),
        understanding=Understanding(
            secret, SpokenTime(None, NOW, 0.9, (f"{secret} day",)), False,
            (("reference", secret),), (secret,), "FACTUAL", 0.9, "hybrid", {}, (secret,),
        ),
    )  # fmt: skip
    near = missed(text=secret)
    near = dataclasses.replace(
        near,
        explanation=msgspec.structs.replace(
            near.explanation, doc_id=secret, space_id=secret, last=secretive
        ),
    )

    secret_answer = msgspec.structs.replace(
        full, trace=trace, uncovered=(secret,),
        changed=(Change(f"{secret}-old", f"{secret}-new", "2026-01-01", "newer"),),
    )  # fmt: skip
    html = page(secret_answer, budget_ms=20.0, missed=(near,), redact=True)

    assert secret not in html.casefold()
    assert "[14 characters]" in html
    assert "zqxj" in page(full, budget_ms=20.0)


def test_redaction_keeps_identities_apart() -> None:
    """An id has the same number in results, runs and paths, so the picture stays the same."""
    way = Rationale(("Priya", "author", "memory-1"), ("Priya",), ("memory-1",))
    view, _ = redacted(answer(result(1, rationale=way), result(2)))

    assert view.results[0].rationale is not None
    assert view.results[0].rationale.path[-1] == view.results[0].doc_id
    assert set(view.trace.runs["lexical"]) == {r.doc_id for r in view.results}
    assert view.results[0].doc_id != view.results[1].doc_id


def test_each_stage_is_shown_where_it_ran() -> None:
    """Plan from .5 to 2.5 ms, words 3 to 6, the encoding 3 to 10, fusion 10.5 to 11.5: 10 of 14."""
    shown = answer()

    assert busy_ms(shown.trace.spans) == 10.0
    text = read(shown).text
    assert "lexical: from 3.0 to 6.0 ms" in text
    assert "embed: from 3.0 to 10.0 ms" in text
    between = " ".join(text.split()).partition("what no stage times")[2]
    assert between.lstrip().startswith("4.0")


def test_a_skipped_stage_is_shown_with_its_reason() -> None:
    """The page says how many memories the stage left out, and why."""
    text = read(answer(result(1))).text

    assert "skipped (4)" in text
    assert "needs 38 ms, 11 ms left" in text


def test_ranks_before_and_after_each_stage() -> None:
    """The lexical run has the opposite order; a memory it did not find has no rank there."""
    table = rank_table(answer(result(1), result(2)), [missed()])

    ranks = dict(zip(table.columns, zip(*(row for _, row in table.rows), strict=True), strict=True))
    assert ranks["words"] == (2, 1, None)
    assert ranks["answer"] == (1, 2, 7)
    assert table.columns == ("words", "scored", "answer")


def test_a_path_leads_to_a_result_and_a_seed_is_its_own() -> None:
    """Each step has the kind of the edge that led there."""
    first = result(1, rationale=Rationale(("Priya", "author", "memory-1"), ("Priya",), ()))
    ways = paths([first, result(2)])

    assert [path for _, _, path in ways] == [
        [("Priya", ""), ("memory-1", "author")],
        [("memory-2", "")],
    ]


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("duplicate", "near copy of what stands at rank 7"),
        ("not_found", "found, but too far down to be scored"),
        ("outranked", "mostly by bm25"),
    ],
)
def test_a_near_miss_says_why(verdict: str, reason: str) -> None:
    """Each verdict has a sentence."""
    assert reason in read(answer(result(1), result(2)), missed(verdict)).text


def test_an_empty_answer_has_a_page() -> None:
    """Without results the page is well formed and says so."""
    html = read(answer(status="no_match", query=""))

    assert (html.open, html.wrong) == ([], [])
    assert "Nothing came back" in html.text


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_enough_contrast(scheme: int) -> None:
    """Text has a contrast of at least 4.5, graphics of at least 3, as WCAG 2.2 AA requires."""
    style = stylesheet("colours.css")
    roots = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colour: dict[str, str] = {}
    for root in roots[: scheme + 1]:
        colour |= re.findall(r"--([a-z0-9]+): (#[0-9a-f]{3,6})", root)

    for behind in ("paper", "card"):
        for name in ("ink", "soft", "accent", "good", "fair", "bad"):
            assert contrast(colour[name], colour[behind]) >= 4.5, (name, behind)
        for name in GROUPS:
            assert contrast(colour[name], colour[behind]) >= 3.0, (name, behind)
    assert contrast(colour["ink"], colour["mark"]) >= 4.5
    for name in ("ink", "soft", "other"):  # behind the number of a rank
        assert contrast(colour["paper"], colour[name]) >= 3.0, name


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of #rgb or #rrggbb, in [0, 1] (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to render with")
def test_a_browser_renders_it_with_its_style_and_without_complaint(tmp_path: Path) -> None:
    """Chromium renders the hostile page, and its policy refuses nothing in it."""
    html = page(answer(result(1, HOSTILE), result(2)), budget_ms=20.0)
    see_that_a_browser_renders(html, tmp_path)


def _unescaped(text: str) -> str:
    import html  # noqa: PLC0415 - elsewhere here it is the name of a page

    return html.unescape(text)
