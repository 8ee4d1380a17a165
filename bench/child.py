"""One measurement in a fresh process: load, prepare, time one fit (and one prediction), save.

``children.py`` starts this file with a JSON request on standard input, whose task is the module
with the function ``run(request, save)``. The answer is the JSON file named in the request; the
model can go to an npz file for verification. Nothing but the fit itself runs while the clock runs:
imports, conversion of the data to the library's own form and a tiny fit (threads started, code
paged in) come before.
"""

import importlib
import json
import sys
from pathlib import Path


def main():
    request = json.load(sys.stdin)
    answer_file = Path(request["answer_file"])
    task = importlib.import_module(request["task"])
    task.run(request, lambda answer: answer_file.write_text(json.dumps(answer)))


if __name__ == "__main__":
    main()
