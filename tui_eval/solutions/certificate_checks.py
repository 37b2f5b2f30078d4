"""Looking for the files of ``tls`` before anything is called. Nothing is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tui_eval.spec.solution_options import Tls


def check_certificates(tls: Tls, folder: Path) -> Iterator[tuple[str, str]]:
    """The option and what is wrong with it, for each file of ``tls`` that is not there or may not be read.

    Paths start at ``folder``. One that holds a variable without a value is not looked for: that is told elsewhere.
    """
    for option in ("ca_file", "client_cert", "client_key"):
        path = getattr(tls, option)
        if not path or "${" in path:
            continue
        place = folder / Path(path).expanduser()
        if not place.is_file():
            yield option, f"{place}: {'is not a file' if place.exists() else 'no such file'}"
        elif not os.access(place, os.R_OK):
            yield option, f"{place}: may not be read"
