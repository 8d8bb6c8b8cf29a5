"""The name of the person behind a memory's author, in SQL."""

from __future__ import annotations


def name_of(memory: str) -> str:
    """Return the SQL expression for the name of the author of an aliased ``memory``.

    An author who is no person's id is a name as heard; without an author it is NULL. Who may
    read a memory may know what its author is called.
    """
    person = f"SELECT p.name FROM person p WHERE p.person_id = {memory}.author"
    return f"coalesce(({person}), {memory}.author)"
