"""``python -m family_recall``: the same as ``family-recall``."""

from family_recall.apps.cli import main

if __name__ == "__main__":
    main(prog_name="family-recall")
