"""Makes the pictures of the gallery by running its own lines: ``python docs/make_gallery.py``."""

import os
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

HERE = Path(__file__).resolve().parent

if __name__ == "__main__":
    code = re.findall(r"^```python\n(.*?)^```$", (HERE / "gallery.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    os.chdir(HERE / "pictures")
    exec("\n".join(code), {})
