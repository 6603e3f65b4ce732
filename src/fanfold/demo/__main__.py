"""`python -m fanfold.demo`."""

import sys

from fanfold.demo import main

sys.exit(main(fast="--fast" in sys.argv))
