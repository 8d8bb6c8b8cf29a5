"""``python -m family_recall.demo``: a family's questions and their answers."""

import sys

from family_recall.demo import run

if __name__ == "__main__":
    run(sys.stdout)
