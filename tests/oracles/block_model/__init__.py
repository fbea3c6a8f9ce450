"""Block-scaling recipes in exact scalar arithmetic: an oracle that shares nothing with the package.

A recipe is a few lines in `mx`, `nvfp4`, `fp8` or `integers`, each step one named rounding of `exact`, so that it can be read next
to a description of it. ``MODELS[name](x, dtype="float32")`` takes a float32 matrix and returns a `BlockResult`. With
"bfloat16" or "float16" the values have to be of that type, and steps that the package takes in the input's type are
rounded to it. Blocks run along the last axis or are tiles, and the last ones may be short. Recipes with a number for
the whole tensor take ``amax=`` in place of the matrix' own, so that a few rows of a tensor can be asked for; those of
Transformer Engine's FP8 take ``eps=``. A NaN's code has no sign here, whatever the package's has.
"""

from __future__ import annotations

from collections.abc import Callable

from oracles.block_result import BlockResult

from .fp8 import FP8, delayed_scales
from .integers import INTEGERS
from .mx import MX
from .nvfp4 import NVFP4, ggml_scale, rht

__all__ = ["MODELS", "delayed_scales", "ggml_scale", "rht"]

MODELS: dict[str, Callable[..., BlockResult]] = {**MX, **NVFP4, **FP8, **INTEGERS}
