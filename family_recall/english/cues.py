"""Cues in a text: that something changed or stopped, holds for a while only, is asked or unsure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .questions import asked_in, waits_for_answer

MAX_CHARS = 2000


def _either(lines: str) -> re.Pattern[str]:
    """Return a pattern of whole words in lower case, with one alternative per line."""
    alternatives = "|".join(line.strip() for line in lines.strip().splitlines())
    return re.compile(rf"(?<![\w'’])(?:{alternatives})(?![\w])")


_CHANGED = _either(r"""
    chang(?:ed|ing|es)|moved|moving|moves|shifted|switch(?:ed|ing)|swapp(?:ed|ing)
    replac(?:ed|ing|ement)
    instead(?: of)?|rather than|no longer|not any ?more|any ?more|rescheduled|rebooked|postponed
    pushed (?:back|to|forward)|brought forward|put (?:back|off) (?:to|until|till)|delayed
    actually|scrap|correct(?:ion|ed)|i was wrong|got (?:that|it) wrong|my mistake|merged
    turns out|upgraded|downgraded|renewed|renamed|reset|rotated|updated?|went up|gone up
    go(?:es)? up|put up
    put (?:\w+ ){1,4}(?:up|down|on) (?:to|by)?|put (?:his|her|its|their|the|up) (?:\w+ ){0,2}up
    moved? up|up from
    went down|gone down|increased|reduced|raised|bumped|cut (?:\w+ ){0,2}(?:down|to)|doubled
    halved?
    gone over to|went over to|took over|taken over|takes over|taking over|handed over|passed on to
    has become|became|turned into|grown (?:out|into)|outgrown|got too (?:small|big)|transferred
    relocated
    used to be|used to|was [\w ]{1,20} but|the other way|other way round|off duty
    stepp(?:ed|ing) down
    from now on|from here on|as of|starting|from (?:next|this) (?:week|month|term|year)
    these days|nowadays
    decided (?:on|against|to|not)|went with|going with|settled on
    changed (?:my|his|her|our|their|its) mind
    forget (?:what|that|the)|ignore (?:what|that|the)|in the end|after all|said no to|i['’]d rather
    is out|are out|is off|has retired|have retired|joined|taking up|took up|started at|we['’]ll not
    scrap that|not the|gave up the|sold up|went back to|gone back to|goes back to
""")
_RENEWED = _either(r"""
    now|new|another|different|since (?:then|the|we|he|she)|these days|this (?:year|term|season)
    already
    finally|at last|just got|just bought|got (?:a|an|our|my|his|her)|grown|taller|bigger|longer
    latest
    as well|again|next
""")
_STOPPED = _either(r"""
    no longer|not any ?more|any ?more|stopp(?:ed|ing)|quit|gave up|given up|giving up|came off
    come off|off the|finished(?: with)?|done with|ended|cancel(?:led|ed)?|called off|scrapp?(?:ed)?
    sold|gave (?:\w+ ){0,3}(?:back|away)|given (?:\w+ )?(?:back|away)|returned
    brought (?:\w+ ){0,4}back
    got (?:\w+ ){1,4}back|handed (?:\w+ ){0,3}(?:back|in)|took (?:\w+ ){1,3}back|back (?:from|home)
    left|leaving|resigned|retired|moved out|split up|broke up|divorced|died|passed away|gone
    threw (?:\w+ )?(?:out|away)|thrown (?:out|away)|binned|got rid of|fixed|repaired|mended|sorted
    works? again|working again|cleared up|all clear|better now|recovered|expired|ran out|run out
    closed (?:down)?|shut down
    dropped|grown out of|grew out of|went off|gone off|can['’]?t stand|won['’]?t (?:eat|touch|wear)
    paid (?:\w+ ){0,2}off|paid back|settled|sent (?:\w+ ){0,2}back|lost|broke|packed (?:it )?in
    over
    does(?:n['’]t| not) (?:\w+ ){1,3}any ?more|isn['’]t (?:\w+ ){0,3}any ?more
    not (?:\w+ ){1,4}any ?more
""")
_FOR_NOW = _either(r"""
    just (?:this|for|today|tonight|tomorrow|once)|only (?:this|today|tonight|in|until|till)
    for (?:today|tonight)
    for (?:now|the moment|the time being|a bit|a while|one (?:day|week))|this (?:once|week only)
    (?:this|next) (?:week|weekend|tuesday|wednesday|thursday|friday|saturday|sunday|monday)
    temporarily
    for (?:the|a|two|three|this|next) (?:weekend|week|fortnight|day|days|weeks)|one[- ]off
    week only|day only
    while (?:he|she|they|we|i|mum|dad|the|it|his|her|our)|back to normal
    until (?:he|she|they|we) (?:get|come)s?
    tonight|tomorrow|as a one[- ]off|during|over (?:easter|christmas)
    (?:for|on|over) (?:the )?bank holidays?
    because of (?:the bank|new year|easter|christmas)|replacement|temp(?:orary)?|substitute
    borrowing|stand(?:ing)?[- ]in|covering|cover for|bank holiday|half[- ]term
""")
_ONE_DAY = _either(r"""
    today|yesterday|this (?:morning|afternoon|evening)|last (?:night|week|weekend)|earlier
""")
_UNSURE = _either(r"""
    maybe|might|perhaps|thinking (?:of|about)|thought about|wonder(?:ing)?
    could (?:we|i|he|she|they)
    should (?:we|i|he|she|they)|if (?:we|he|she|they|it|you|i|the)|would (?:like|love|be|prefer)
    wants? (?:to|a)|wanted to|hop(?:e|es|ing)|wish(?:es)?|dream(?:s|ing)?|considering
    talk(?:ed|ing)? about
    looking (?:at|for|into)|planning|plans? to|asked (?:if|whether|about|for)|wants? us to|not sure
    suggest(?:ed|s)?|offered|quoted|quote|reckons?|one day|some ?day|eventually|probably
    possibly|nearly|almost
    what if|how about|shall (?:we|i)|let['’]?s|ought to|pretend|in the (?:film|book|game|story)
""")
_NEGATED = _either(r"""
    not|never|no|nobody|none|nothing|without|isn['’]?t|aren['’]?t|wasn['’]?t|weren['’]?t|don['’]?t
    doesn['’]?t|didn['’]?t|won['’]?t|wouldn['’]?t|can['’]?t|cannot|hasn['’]?t|haven['’]?t|no longer
""")

WORDINGS = {
    "changed": _CHANGED,
    "renewed": _RENEWED,
    "stopped": _STOPPED,
    "for_now": _FOR_NOW,
    "one_day": _ONE_DAY,
    "unsure": _UNSURE,
    "negated": _NEGATED,
}
"""What words a cue, in a text in lower case; each is one pattern of whole words."""


@dataclass(frozen=True, slots=True)
class Cues:
    """What a text says about its own statement; each is True or False.

    Attributes:
        changed: Something is other than it was.
        renewed: Something is new, or holds now: a weaker cue of the same.
        stopped: Something ended, is gone or was given back.
        for_now: It holds for a while only.
        one_day: It tells of one day.
        unsure: It is a wish, a plan or a guess.
        negated: It has a negation.
        asks: It waits for an answer.
        only_asks: It asks and states nothing.
    """

    changed: bool
    renewed: bool
    stopped: bool
    for_now: bool
    one_day: bool
    unsure: bool
    negated: bool
    asks: bool
    only_asks: bool


def cues_in(text: str) -> Cues:
    """Return the cues in a text.

    >>> cues_in("Scrap that, swimming has moved to Thursdays").changed
    True
    >>> cues_in("Just this week swimming is on Friday").for_now
    True
    """
    text = text[:MAX_CHARS].strip()
    lowered = text.lower()  # a pattern that ignores case takes three times as long
    asked = asked_in(text)
    found = {name: pattern.search(lowered) is not None for name, pattern in WORDINGS.items()}
    return Cues(**found, asks=waits_for_answer(asked, text), only_asks=asked.only)
