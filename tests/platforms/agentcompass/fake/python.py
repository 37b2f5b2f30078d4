"""Passes for a Python 3.12 that has AgentCompass: says so when asked, and runs the bridge with the stand-in."""

import os
import sys
from pathlib import Path

if "-c" in sys.argv:
    print(f"3.12.1\n{os.environ.get('STAND_IN_VERSION', '1.0.1')}")
else:
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
