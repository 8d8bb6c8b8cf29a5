"""Ask a made-up family's memory: nine scenes or, with --ask, a question of your own.

Examples:
  python -m family_recall.demo
  python -m family_recall.demo --ask "What is Mira allergic to?" --person priya
"""

import argparse
import sys

from family_recall.apps.demo import NAMES, ask_own, run


def main() -> None:
    """Run the demo as the options say."""
    about, _, examples = (__doc__ or "").partition("\nExamples:")
    parser = argparse.ArgumentParser(
        "python -m family_recall.demo",
        description=about,
        epilog=f"examples:{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--explain", action="store_true", help="show how each answer was found and ranked"
    )
    parser.add_argument("--ask", metavar="QUESTION", help="a question of your own")
    parser.add_argument(
        "--person", metavar="ID", choices=sorted(NAMES), default="priya",
        help=f"who asks: {', '.join(sorted(NAMES))} (default: priya)",
    )  # fmt: skip
    options = parser.parse_args()
    if options.ask is None:
        run(sys.stdout, explain=options.explain)
    else:
        ask_own(options.ask, options.person, sys.stdout)


if __name__ == "__main__":
    main()
