"""The full-text indexes, and the words kept with each memory, compared with the texts."""

from __future__ import annotations

from collections import Counter

import apsw

from family_recall.store.file import sql
from family_recall.store.file.row_ids import SHARD_OF_MEMORY, shards_in, words_table
from family_recall.store.word_index import vocabulary
from family_recall.store.words import ENTRY_BYTES, row_words, split, stem_number


def full_text_problem(connection: apsw.Connection) -> str | None:
    """Check that each FTS5 index is whole, and which memories and stems it holds."""
    wrong = []
    for shard in shards_in(connection):
        name = words_table(shard)
        try:
            # Not against the content by itself: the view has the memories of every shard.
            connection.execute(f"INSERT INTO {name}({name}) VALUES('integrity-check')")
            n_words = dict(
                vocabulary(connection, name, "instance", "doc, count(*)", "GROUP BY doc")
            )
            stems = vocabulary(connection, name, "row", "term, doc", "")
        except (apsw.CorruptError, apsw.SQLError) as error:
            wrong.append(f"shard {shard}: {error}")
            continue
        expected = dict(
            sql.rows(
                connection,
                f"SELECT m.id, m.n_words FROM memory m WHERE {SHARD_OF_MEMORY} = ?"
                " AND m.n_words > 0",
                (shard,),
            )
        )
        n_memories = len(n_words.items() ^ expected.items())
        counted = Counter[int]()
        for stem, n in stems:
            counted[stem_number(stem)] += n
        beside = dict(
            sql.rows(connection, "SELECT stem, n FROM word_count WHERE shard = ?", (shard,))
        )
        n_stems = len(counted.items() ^ beside.items())
        if n_memories or n_stems:
            wrong.append(f"shard {shard}: {n_memories:,} memories and {n_stems:,} stems differ")
    return "; ".join(wrong) or None


def memory_problem(connection: apsw.Connection) -> str | None:
    """Count each memory's words again, in a straightforward way."""
    wrong = 0
    for words, n_words, *texts in connection.execute(
        "SELECT m.words, m.n_words, c.body, c.header, c.context"
        " FROM memory m JOIN words_content c ON c.id = m.id"
    ):
        counts: dict[int, list[int]] = {}
        total = 0
        for column, text in enumerate(texts):
            for _, stem in split(text):
                counts.setdefault(stem_number(stem), [0, 0, 0])[column] += 1
                total += 1
        expected = [(stem, *(min(n, 255) for n in counts[stem])) for stem in sorted(counts)]
        whole = len(words) % ENTRY_BYTES == 0
        stored = row_words([words]) if whole else row_words([])
        entries = zip(stored.stems.tolist(), stored.columns[stored.codes].tolist(), strict=True)
        wrong += total != n_words or expected != [(stem, *columns) for stem, columns in entries]
    return f"{wrong:,} memories with other words than their text" if wrong else None


def count_problem(connection: apsw.Connection) -> str | None:
    """Compare the counts of stems by shard with the words kept with each memory."""
    counted = Counter[tuple[int, int]]()
    for shard, words in connection.execute(f"SELECT {SHARD_OF_MEMORY}, m.words FROM memory m"):
        whole = len(words) // ENTRY_BYTES * ENTRY_BYTES
        counted.update((shard, stem) for stem in row_words([words[:whole]]).stems.tolist())
    for shard, stem, n in connection.execute("SELECT shard, stem, n FROM word_count"):
        counted[shard, stem] -= n
    wrong = sum(n != 0 for n in counted.values())
    return f"{wrong:,} stems counted wrong" if wrong else None
