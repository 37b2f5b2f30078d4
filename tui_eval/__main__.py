"""The program ``tui-eval`` (also ``python -m tui_eval``). Nothing is imported here that ``--version`` does not need."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit status."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from tui_eval import __version__

        print(f"tui-eval {__version__}")
        raise SystemExit(0)
    from tui_eval.cli.app import command_line
    from tui_eval.cli.errors import run_to_exit_status

    raise SystemExit(run_to_exit_status(command_line, sys.argv[1:]))


if __name__ == "__main__":
    main()
