"""The page of a recall: whole, closed, escaped, and true to the answer it draws."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.pipeline.explain import Explanation, Missed
from family_recall.pipeline.trace import busy_ms
from family_recall.ranking.features import INDEX
from family_recall.reports.recall import page, redacted
from family_recall.reports.recall.graph import paths, tree
from family_recall.reports.recall.ranks import columns, lines_of
from family_recall.reports.recall.results import GROUPS, Scale, stack
from family_recall.reports.templating import stylesheet
from family_recall.types import (
    Admission,
    Answer,
    Contribution,
    Rationale,
    Result,
    Skip,
    Span,
    Trace,
)
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
    """Make a result of two terms, one of them lower the further down it stands."""
    parts = (Contribution("bm25", 0.9 / rank, 0.5), Contribution("ppr", 0.2, 0.1))
    made = Result(
        rank, f"memory-{rank}", sum(p.amount for p in parts), 0.5, text, "shared:home", "episode",
        "alice", None, None, None, None, f"2026-01-0{min(rank, 9)}T10:00:00+00:00", False,
        "lexical", parts,
    )  # fmt: skip
    return dataclasses.replace(made, **also)  # type: ignore[arg-type]  # a test's own fields


def answer(*results: Result, query: str = "When is the cake ready?", **also: object) -> Answer:
    """Make an answer with a trace in which one stage ran and another was left out."""
    trace = Trace(
        spans=(Span("plan", 2.0, 0, 0, 0.5), Span("lexical", 3.0, 9, 4, 3.0),
               Span("embed", 7.0, 5, 5, 3.0), Span("fusion", 1.0, 4, 4, 10.5)),
        skips=(Skip("rerank", "no_time", "needs 38 ms, 11 ms left", 4),),
        counts={"visible": 40, "candidates": 9, "duplicates": 1},
        runs={"lexical": tuple(r.doc_id for r in reversed(results)), "vector": ()},
        gate=Admission("interactive"),
    )  # fmt: skip
    made = Answer(
        query, results, "ok", 0.5, "EPISODIC", "hybrid", "default", NOW, NOW, None, 14.0, (), trace
    )
    return dataclasses.replace(made, **also)  # type: ignore[arg-type]  # see result


def missed(verdict: str = "outranked", text: str = "A pie") -> Missed:
    """Make one memory that was not returned."""
    low = dataclasses.replace(result(7, text), doc_id="pie")
    told = Explanation(
        "pie", verdict, 7, 2, low.score, low.contributions, {"lexical": 9}, result(2),  # type: ignore[arg-type]  # one of its literals
        "shared:home",
    )  # fmt: skip
    return Missed(told, text)


def read(drawn: Answer, *near: Missed, redact: bool = False) -> ReadPage:
    """Write a page and read it back."""
    return ReadPage(page(drawn, budget_ms=20.0, missed=near, redact=redact))


def test_a_page_is_closed_to_everything_but_its_own_style() -> None:
    """The policy names the hash of the one style sheet; no script, no link out, no style inline."""
    see_that_it_is_closed(page(answer(result(1), result(2)), budget_ms=20.0, missed=(missed(),)))


def test_a_page_is_well_formed_and_every_picture_and_table_has_words() -> None:
    """All that is opened is closed; pictures have titles, tables captions, and ids are unique."""
    found = read(answer(result(1), result(2)), missed())

    assert (found.open, found.wrong) == ([], [])
    assert len(found.all("table")) == len(found.all("caption"))
    names = [name for name, _ in found.elements]
    for at, (name, attributes) in enumerate(found.elements):
        if name == "svg":
            assert attributes["role"] == "img"
            assert names[at + 1] == "title"
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {(a["href"] or "")[1:] for a in found.all("a")}
    assert links <= set(ids)
    assert names.count("h1") == 1


def test_the_bars_of_a_result_add_up_to_its_score() -> None:
    """Right of zero less left of zero, read off the picture, is the score: 0.6 − 0.15 = 0.45."""
    parts = (Contribution("bm25", 0.8, 0.5), Contribution("cosine", 0.5, 0.4),
             Contribution("recency", 0.3, -0.5), Contribution("rrf", 0.0, 1.0))  # fmt: skip
    one = result(1, contributions=parts, score=0.45)
    found = read(answer(one))
    scale = Scale.of([one])

    bars_drawn = [r for r in found.all("rect") if (r["class"] or "").startswith("g-")]
    zero = scale.at(0.0)
    per_unit = 1000.0 / (scale.high - scale.low)
    total = sum(
        float(bar["width"] or 0) / per_unit * (1 if float(bar["x"] or 0) >= zero - 1e-3 else -1)
        for bar in bars_drawn
    )

    assert len(bars_drawn) == 3
    assert total == pytest.approx(0.45, abs=1e-4)


@given(
    st.lists(
        st.builds(
            Contribution,
            st.sampled_from(sorted(INDEX)),
            st.floats(0, 1, allow_nan=False),
            st.floats(-2, 2, allow_nan=False),
        ),
        max_size=12,
    )
)
def test_terms_lie_side_by_side_and_sum_to_the_score(parts: list[Contribution]) -> None:
    """No two terms overlap on either side of zero, and together they are the score."""
    stacked = list(stack(parts))
    spans = sorted((start, start + abs(part.amount)) for part, start in stacked)

    assert sum(part.amount for part, _ in stacked) == pytest.approx(
        sum(part.amount for part in parts), abs=1e-9
    )
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert start >= end - 1e-9
    for part, start in stacked:
        assert (start >= 0.0) == (part.amount > 0.0)


def test_every_feature_has_a_colour() -> None:
    """Each declared feature is in one group, and each group names declared features."""
    named = [name for names in GROUPS.values() for name in names]

    assert sorted(named) == sorted(INDEX)


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=40), st.data())
def test_any_text_is_shown_as_text(text: str, name: str, data: st.DataObject) -> None:
    """Whatever is remembered or asked, the page has the elements it has for plain words."""
    end = data.draw(st.integers(0, len(text)))
    marked = ((0, end),) if end else ()
    way = Rationale((name, text, "memory-1"), (name,), ("memory-1",))
    hurt = result(1, text, author=name, title=name, highlights=marked, rationale=way)
    way = Rationale(("n", "k", "memory-1"), ("n",), ("memory-1",))
    marked = ((0, 5),) if end else ()
    plain = result(1, "words", author="x", title="x", highlights=marked, rationale=way)
    found = read(answer(hurt, query=text))
    expected = read(answer(plain, query="words"))

    assert (found.open, found.wrong) == ([], [])
    if name != "memory-1":
        assert [n for n, _ in found.elements] == [n for n, _ in expected.elements]


def test_a_hostile_memory_does_nothing() -> None:
    """Tags are text, order-turning marks and zero bytes are replaced, and UTF-8 can write it."""
    one = result(1, HOSTILE, author=HOSTILE, title=HOSTILE, space_id=HOSTILE, doc_id=HOSTILE,
                 highlights=((2, 40),))  # fmt: skip
    html = page(
        answer(one, result(2), query=HOSTILE + "\ud800", degraded=(HOSTILE,)), budget_ms=20.0
    )
    found = ReadPage(html)

    see_that_it_is_closed(html)
    assert not set("\x00\u202e\u2066") & set(html)
    assert "<script>" in found.text
    html.encode()


def test_the_raw_answer_reads_back() -> None:
    """What the page shows as JSON is the answer, marks that turn the order of letters included."""
    given_ = answer(result(1, "turned \u202e around \x85"), result(2))
    html = page(given_, budget_ms=20.0)
    shown = [json.loads(_unescaped(block)) for block in re.findall(r"<code>(.*?)</code>", html,
                                                                   re.DOTALL)]  # fmt: skip

    assert Answer.from_json(shown[1]) == given_
    assert shown[0] == json.loads(json.dumps(given_.trace.to_json()))


def test_redacting_leaves_no_word_that_anybody_wrote() -> None:
    """Question, texts, names, ids, spaces, facts, paths in reasons: lengths stand for them."""
    secret = "zqxj"  # noqa: S105 - a word to look for
    rationale = Rationale(
        (f"{secret}-name", f"{secret}-kind", f"{secret}-memory"), (f"{secret}-name",),
        (f"{secret}-memory",),
    )  # fmt: skip
    fields = ("doc_id", "text", "space_id", "author", "title", "session_id", "url", "section",
              "fact_key", "fact_value", "outdated_by")  # fmt: skip
    one = result(1, **{name: f"{secret}-{name}" for name in fields}, copies=(f"{secret}-copy",),
                 highlights=((0, 4),), rationale=rationale)  # fmt: skip
    told = answer(
        one, query=f"where is {secret}?", facts={f"{secret} key": f"{secret} value"},
        relations=((secret, f"{secret} of", secret),),
        degraded=(f"vector: /home/{secret} {secret}/models: no such folder",),
    )  # fmt: skip
    trace = dataclasses.replace(
        told.trace, top3=((f"{secret}-doc_id", ("bm25",)),),
        skips=(Skip("vector", "no_model", f"C:\\Users\\{secret} {secret}: missing", 1),),
    )  # fmt: skip
    near = missed(text=secret)
    near = dataclasses.replace(
        near,
        explanation=dataclasses.replace(near.explanation, doc_id=secret, space_id=secret, last=one),
    )

    html = page(dataclasses.replace(told, trace=trace), budget_ms=20.0, missed=(near,), redact=True)

    assert secret not in html.casefold()
    assert "[14 characters]" in html
    assert "zqxj" in page(told, budget_ms=20.0)


def test_redacting_keeps_who_is_who() -> None:
    """One id has one number in results, runs and paths, so the picture stays the same."""
    way = Rationale(("Priya", "author", "memory-1"), ("Priya",), ("memory-1",))
    hidden, _ = redacted(answer(result(1, rationale=way), result(2)))

    assert hidden.results[0].rationale is not None
    assert hidden.results[0].rationale.path[-1] == hidden.results[0].doc_id
    assert set(hidden.trace.runs["lexical"]) == {r.doc_id for r in hidden.results}
    assert hidden.results[0].doc_id != hidden.results[1].doc_id


def test_each_stage_stands_where_it_ran() -> None:
    """Plan from .5 to 2.5 ms, words 3 to 6, the encoding 3 to 10, fusion 10.5 to 11.5: 10 of 14."""
    drawn = answer()

    assert busy_ms(drawn.trace.spans) == 10.0
    text = read(drawn).text
    assert "lexical: from 3.0 to 6.0 ms" in text
    assert "embed: from 3.0 to 10.0 ms" in text
    between = " ".join(text.split()).partition("what no stage times")[2]
    assert between.lstrip().startswith("4.0")


def test_what_was_skipped_is_told_with_its_reason() -> None:
    """The stage, how many it left out, and why, are words on the page."""
    text = read(answer(result(1))).text

    assert "skipped (4)" in text
    assert "needs 38 ms, 11 ms left" in text


def test_ranks_before_and_after_each_stage() -> None:
    """Words had it the other way round; what no column found stands last, with no rank."""
    drawn = answer(result(1), result(2))
    lines = lines_of(drawn, [missed()])
    named = {column.name: column for column in columns(drawn, lines)}

    assert named["words"].ranks == (2, 1, None)
    assert named["words"].rows == (1, 0, 2)
    assert named["answer"].ranks == (1, 2, 7)
    assert list(named) == ["words", "scored", "answer"]


def test_the_graph_hangs_a_memory_below_what_led_to_it() -> None:
    """Two ways through one name share it, and a start of its own stands beside them."""
    first = result(1, rationale=Rationale(("Priya", "author", "memory-1"), ("Priya",), ()))
    second = result(2, rationale=Rationale(("Priya", "mention", "memory-2"), ("Priya",), ()))
    nodes, edges = tree(paths([first, second, result(3)]))

    assert len(nodes) == 5
    assert {(e.start[1], e.end[1], e.kind) for e in edges} == {
        ("", "Priya", ""), ("Priya", "memory-1", "author"), ("Priya", "memory-2", "mention"),
        ("", "memory-3", ""),
    }  # fmt: skip
    assert {n.key[1] for n in nodes["name", "Priya"].children} == {"memory-1", "memory-2"}
    for node in nodes.values():
        assert 20 <= node.x <= 320
        assert 20 <= node.y <= 320


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("duplicate", "near copy of what stands at rank 7"),
        ("not_found", "found, but too far down to be scored"),
        ("outranked", "mostly by bm25"),
    ],
)
def test_what_missed_says_why(verdict: str, said: str) -> None:
    """Each verdict has a sentence."""
    assert said in read(answer(result(1), result(2)), missed(verdict)).text


def test_an_empty_answer_is_a_page_too() -> None:
    """Nothing found, nothing drawn, nothing broken."""
    found = read(answer(status="no_match", query=""))

    assert (found.open, found.wrong) == ([], [])
    assert "Nothing came back" in found.text


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out_from_what_is_behind_them(scheme: int) -> None:
    """Text has a contrast of 4.5 and more, what is drawn 3 and more, as WCAG 2.2 AA asks."""
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
    for name in (f"c{n}" for n in range(7)):
        assert contrast("#fff", colour[name]) >= 4.5, name
        assert contrast(colour[name], colour["paper"]) >= 3.0, name


def contrast(one: str, other: str) -> float:
    """Give the contrast ratio of two colours, from 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Give the relative luminance of #rgb or #rrggbb, in [0, 1] (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to render with")
def test_a_browser_renders_it_with_its_style_and_without_complaint(tmp_path: Path) -> None:
    """Chromium lays the hostile page out and finds nothing to refuse in it."""
    html = page(answer(result(1, HOSTILE), result(2)), budget_ms=20.0)
    see_that_a_browser_renders(html, tmp_path)


def _unescaped(text: str) -> str:
    import html  # noqa: PLC0415 - elsewhere here it is the name of a page

    return html.unescape(text)
