"""Show an invented family's questions and answers: ``python -m family_recall.demo``."""

from family_recall.apps.demo.command import main

if __name__ == "__main__":
    main()
