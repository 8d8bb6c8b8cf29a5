"""The words around times: *last*, *early*, *until*, and what makes a thing of a season."""

from family_recall.english.tokens import DASHES

CHOICES = {
    "last": "last", "past": "last", "previous": "last",
    "this": "this", "current": "this",
    "next": "next", "coming": "next",
}  # fmt: skip
THIRDS = {
    **dict.fromkeys(("early", "beginning", "start"), 0),
    **dict.fromkeys(("mid", "middle"), 1),
    **dict.fromkeys(("late", "end"), 2),
}
"""Words for the first, the second and the last third of a period."""

RANGES = frozenset(("to", "until", "till", "til", "through", "thru", *DASHES))
FOLLOWERS = frozenset(
    "in on at with for from to about of by and or but when while that which who where what "
    "how did do does i we you he she they it again together instead first then too also "
    "because if so before after since until till til through thru during near over".split()
)
"""Words that may follow a finished time phrase; anything else makes it part of a name."""

COMPOUNDS = frozenset(
    "camp camps coat coats jacket boots tyres tires school dress dresses house job jobs olympics "
    "break cleaning roll rolls onion onions water party bike bag roast holiday holidays vacation "
    "half term terms sale sales bank exams market markets season shopping fair concert play".split()
)
"""Words that make a thing, or a period nobody can know, of the season or holiday before them."""

GATHERINGS = frozenset(
    "party market markets season shopping fair concert play parade service lunch dinner breakfast "
    "brunch meal".split()
)
"""Events that are held for a holiday, on its day or on some other one."""
