"""Looking at a history must never drop the locks of a connection that the same process has on it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from tui_eval.store.opening import open_for_writing, open_read_only

OPEN_AND_CLOSE = """
import sys
from pathlib import Path
from tui_eval.store.opening import open_for_writing
open_for_writing(Path(sys.argv[1])).close()
"""


def test_another_process_that_comes_and_goes_does_not_take_the_log_away(tmp_path: Path) -> None:
    place = tmp_path / "history.db"
    writer = open_for_writing(place)
    reader = open_read_only(place)  # looks at the file's header first, as everyone does
    assert reader is not None
    writer.execute("CREATE TABLE before_visit (x)")
    subprocess.run([sys.executable, "-c", OPEN_AND_CLOSE, str(place)], check=True)
    writer.execute("CREATE TABLE after_visit (x)")
    other = sqlite3.connect(place)
    assert other.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%_visit'").fetchone() == (2,)
    for connection in (other, reader, writer):
        connection.close()
