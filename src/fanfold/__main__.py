"""`python -m fanfold` is the command `fanfold`."""

import sys

from fanfold.cli import main

sys.exit(main())
