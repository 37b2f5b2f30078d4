"""An agent and a check as Python functions, for `python.yaml`. They run in a process of their own that can be killed."""

CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Kenya": "Nairobi", "Peru": "Lima"}


def answer(case, greeting=""):
    """The agent. `case` holds the columns of the dataset and `id`; what it returns is the output."""
    known = next((capital for country, capital in CAPITALS.items() if country in case["question"]), "I do not know.")
    return f"{greeting}{known}"


def is_short(output, limit=40):
    """The check. It gets the variables of `variable_mapping`; it returns true or false, a number, or a mapping."""
    return {
        "score": 1.0 if len(output) <= limit else 0.0,
        "passed": len(output) <= limit,
        "reason": f"{len(output)} characters",
    }
