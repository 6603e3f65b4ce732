"""`python -m fanfold.cli`."""

import sys

from fanfold.cli import main

sys.exit(main())
