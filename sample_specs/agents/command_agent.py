#!/usr/bin/env python3
"""An agent as a program: `command_agent.py --input "question"`, or a JSON object with `question` on standard input.

It prints its answer. It is wrong on two of the quickstart questions and exits with status 3 on one, so that an
evaluation of it shows something. Put your own agent in its place: any program in any language will do.
"""

import argparse
import json
import operator
import re
import sys

FACTS = {
    "France": "Paris",
    "Japan": "Tokyo",
    "Kenya": "Nairobi",
    "Peru": "Lima",
    "Australia": "Sydney",  # wrong
    "Canada": "Ottawa",
    "Iceland": "Reykjavík",
    "中国": "北京",
    "Brazil": "Brasília",
    "Egypt": "Cairo",
    "India": "New Delhi",
    "Norway": "Oslo",
    "boil": "100",
    "planet": "Jupiter",
    "Hamlet": "William Shakespeare",
}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def answer(question: str) -> str:
    if "gold" in question:
        print("the chemistry module is not installed", file=sys.stderr)
        raise SystemExit(3)
    if "99999 + 1" in question:
        return "99999"  # wrong
    task = re.search(r"(-?\d+) ([+*-]) (-?\d+)", question)
    if task:
        return str(OPERATORS[task[2]](int(task[1]), int(task[3])))
    return next((fact for word, fact in FACTS.items() if word in question), "I do not know.")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", help="the question; without it, JSON is read from standard input")
    parser.add_argument("--json", action="store_true", help="print a JSON object with `output`")
    given = parser.parse_args()
    question = given.input if given.input is not None else json.loads(sys.stdin.buffer.read())["question"]
    text = answer(question)
    line = json.dumps({"output": text}, ensure_ascii=False) if given.json else text
    sys.stdout.buffer.write(line.encode() + b"\n")  # UTF-8 whatever the locale is


if __name__ == "__main__":
    main()
