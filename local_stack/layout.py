"""Where set-up puts things."""

from __future__ import annotations

from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[1]
VENV = PROJECT_ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
SITE_PACKAGES = VENV / "lib" / "python3.11" / "site-packages"
IVY = PROJECT_ROOT / ".ivy"
"""The resolver's own folder; it is gone when the jars are in place."""
