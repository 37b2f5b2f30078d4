"""Where the sample plans lie: beside the package in a checkout, inside it when it is installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def samples_folder() -> Path:
    """The folder with ``quickstart.yaml`` and the other samples. Raises FileNotFoundError for a broken installation."""
    for folder in (_PACKAGE / "sample_specs", _PACKAGE.parent / "sample_specs"):
        if (folder / "quickstart.yaml").is_file():
            return folder
    raise FileNotFoundError(f"the sample plans are missing beside {_PACKAGE}; install tui-eval again")
