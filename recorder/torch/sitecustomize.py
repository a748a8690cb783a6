# SPDX-License-Identifier: Apache-2.0
"""First in PYTHONPATH under `ops-debug record --torch`: prepares the recording, then lets the user's own sitecustomize come."""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
try:
    import opsdebug_torch
    opsdebug_torch.prepare()
except Exception as error:  # pylint: disable=broad-except
    print(f"ops-debug: --torch records nothing: {error}", file=sys.stderr)
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
ours = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401  pylint: disable=unused-import,import-self
except ImportError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = ours
