"""Results that other libraries take over by Arrow's C data interface (PyCapsule)."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

from . import _library as _c

_KINDS = {b"arrow_schema": _c.ArrowSchema, b"arrow_array": _c.ArrowArray}
_python = ctypes.pythonapi
_new, _pointer, _is = _python.PyCapsule_New, _python.PyCapsule_GetPointer, _python.PyCapsule_IsValid
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
_is.restype, _is.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_made = {}  # the structures of capsules that are alive, by their addresses


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end(capsule: int) -> None:
    """Who takes a structure over sets its release to NULL."""
    for name, kind in _KINDS.items():
        if _is(capsule, name):
            made = _made.pop(_pointer(capsule, name))
            if made.release:
                made.release(made)


def _capsule(made: Any, name: bytes) -> Any:
    address = ctypes.addressof(made)
    _made[address] = made
    return _new(address, name, ctypes.cast(_end, ctypes.c_void_p))


class Arrow:
    """A table for `polars.from_arrow()`, `pandas.DataFrame.from_arrow()`, `pyarrow.record_batch()` and others; once."""

    def __init__(self, schema: _c.ArrowSchema, array: _c.ArrowArray) -> None:
        self._made: Optional[Tuple[Any, Any]] = (schema, array)

    def __arrow_c_array__(self, requested_schema: object = None) -> Tuple[Any, Any]:
        """The schema and the array as capsules; what they have is not cast to another schema."""
        if self._made is None:
            raise ValueError("this table was handed on already; ask the model for another")
        schema, array = self._made
        self._made = None
        return _capsule(schema, b"arrow_schema"), _capsule(array, b"arrow_array")

    def __del__(self) -> None:
        for made in self._made or ():
            if made.release:
                made.release(made)
