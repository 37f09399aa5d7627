"""What calls are refused with."""

import pytest


def sentence(call, *args, kind=ValueError, **kwargs):
    """Return what a call is refused with."""
    with pytest.raises(kind) as error:
        call(*args, **kwargs)
    return str(error.value)
