"""jax as a peer: casts compiled by XLA, the result awaited."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .peers import Task

__all__ = ["jax_call"]

DTYPES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3_ieee": "float8_e4m3",
    "e3m4": "float8_e3m4",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e2m1": "float4_e2m1fn",
}


def jax_call(task: Task) -> Callable[[], object] | None:
    """The call for a task; None for formats jax has no dtype for."""
    if task.fmt not in DTYPES:
        return None
    import jax
    import jax.numpy as jnp

    dtype = jnp.dtype(DTYPES[task.fmt])
    x = jax.device_put(task.x.view(dtype) if task.job == "decode" else task.x)

    def cast(values: Any) -> Any:
        if task.job == "decode":
            return values.astype(jnp.float32)
        stored = values.astype(dtype)
        return stored if task.job == "encode" else stored.astype(values.dtype)

    compiled = jax.jit(cast)
    return lambda: compiled(x).block_until_ready()
