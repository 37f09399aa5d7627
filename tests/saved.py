"""Rows of models that tests save, and files of models with other parts."""

import hashlib
import io
import json
import zipfile

import numpy as np

from rankfair.datasets import make_biased_tasks
from rankfair.models.archive import META

DATA = make_biased_tasks(4, 25, random_state=0)
FRAME, Y = DATA.frame, DATA.target
NAMED = {"tasks": "task", "sensitive_features": "z"}


def several_groups():
    rng = np.random.default_rng(0)
    return FRAME.assign(z=rng.choice(["a", "b", "c"], len(FRAME)))


def tampered(raw, members, body=None):
    """Put other members into a model file, with checksums that fit them."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held.update(members)
    meta = json.loads(held[META])
    meta["sha256"] = {
        name: hashlib.sha256(content).hexdigest()
        for name, content in held.items()
        if name != META
    }
    if body is not None:
        meta["body"] = body
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":"))
        meta["body_sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    held[META] = json.dumps(meta).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return stream.getvalue()
