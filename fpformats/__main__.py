"""``python -m fpformats`` is the command ``fpformats``."""

import sys

from .cli import main

sys.exit(main())
