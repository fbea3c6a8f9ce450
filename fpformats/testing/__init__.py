"""For other people's test suites: asserts that say what went wrong, the inputs where casts go wrong, black-box checks.

>>> import numpy as np
>>> from fpformats.testing import assert_quantized
>>> assert_quantized(np.uint8([0x38, 0x7E]), np.float32([1.0, 500.0]), "e4m3")
"""

from __future__ import annotations

from .asserts import assert_quantized, assert_same_codes
from .block_identify import BlockIdentification
from .call import CastError
from .check import check_cast
from .difference import Difference, Peer
from .differences import differences, peers
from .identify import Identification, identify
from .inputs import boundary_inputs
from .lines import ulp_distance
from .report import Report
from .strategies import arrays, blocks, codes, near_ties, values

__all__ = [
    "BlockIdentification",
    "CastError",
    "Difference",
    "Identification",
    "Peer",
    "Report",
    "arrays",
    "assert_quantized",
    "assert_same_codes",
    "blocks",
    "boundary_inputs",
    "check_cast",
    "codes",
    "differences",
    "identify",
    "near_ties",
    "peers",
    "ulp_distance",
    "values",
]
