"""Show an invented family's questions and answers: ``python -m family_recall.demo``."""

from family_recall.apps.cli.serve import demo

if __name__ == "__main__":
    demo(prog_name="python -m family_recall.demo")
