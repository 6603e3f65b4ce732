"""The tests here need a framework each, in an environment of its own: `make test-integrations`."""

import os

collect_ignore_glob = [] if os.environ.get("FANFOLD_FRAMEWORK") else ["test_*.py"]
