#!/usr/bin/env python3
"""A check as a program: JSON with `output` and `expected_output` on standard input, a verdict as JSON on standard output.

Put your own in its place. When it cannot decide it ends with another exit status than 0, and the case is unscored.
"""

import argparse
import json
import sys


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0, help="share of the expected words that must be there")
    share = parser.parse_args().share
    given = json.loads(sys.stdin.buffer.read())
    wanted = str(given["expected_output"]).lower().split()
    found = [word for word in wanted if word in str(given["output"]).lower()]
    score = len(found) / len(wanted) if wanted else 1.0
    verdict = {"score": score, "passed": score >= share, "reason": f"{len(found)} of {len(wanted)} words"}
    json.dump(verdict, sys.stdout)


if __name__ == "__main__":
    main()
