"""The training sets, and the share of each.

Shares count batches, not lines. Only sets whose terms ask for attribution at most are read: the
share-alike ones that may lie beside them are left out, so that the weights carry one licence.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tools.train.cards.loader import read_cards
from tools.train.conversations import Conversations
from tools.train.groups import Mixture, Pairs

if TYPE_CHECKING:
    from pathlib import Path

    from tools.train.groups import Source

# Set: share of the batches, licence.
PAIR_SETS = {
    "disflqa": (0.02, "CC BY 4.0"),
    "fairytaleqa": (0.03, "Apache-2.0"),
    "friendsqa": (0.07, "Apache-2.0"),
    "qmsum": (0.03, "MIT"),
    "selqa": (0.03, "Apache-2.0"),
    "squadshifts": (0.12, "CC BY 4.0"),
    "timeqa": (0.02, "BSD-3-Clause"),
    "ikat": (0.02, "MIT"),
    "madial": (0.02, "MIT"),
    "realmem": (0.05, "Apache-2.0"),
    "vehicle": (0.03, "Apache-2.0"),
    "invented": (0.25, "Apache-2.0"),
    "written": (0.5, "Apache-2.0"),
    "many_hands": (0.3, "Apache-2.0"),
}
SHARE_OF_CONVERSATIONS = 0.35


def mixture(folders: list[Path], cards: Path) -> Mixture:
    """Load the cards, and every set of `PAIR_SETS` that is `<set>/pairs.jsonl.gz` in a folder."""
    sources: list[Source] = [Conversations(read_cards(cards))]
    shares = [SHARE_OF_CONVERSATIONS]
    for name, (share, _licence) in PAIR_SETS.items():
        path = next((f / name / "pairs.jsonl.gz" for f in folders if (f / name).is_dir()), None)
        if path is None:
            print(f"{name}: not found, left out", file=sys.stderr)
            continue
        sources.append(Pairs.read(path))
        shares.append(share)
    return Mixture(sources, shares)
