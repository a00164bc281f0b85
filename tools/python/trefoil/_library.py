"""libtrefoil.so.0 as ctypes sees it: the structures and functions of trefoil.h, and nothing else."""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    CDLL, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16,
    c_uint32, c_uint64, c_void_p,
)

NONE = 0xFFFFFFFF
NO_PART = -(1 << 31)
LABELS, WHOLE, BINS, DATES = range(4)
COPULA = 1
OK, SYSTEM, MEMORY, FORMAT, QUESTION, RANGE, USAGE = range(7)


class trefoil_error(Structure):
    _fields_ = [("status", c_int32), ("text", c_char * 1020)]


class trefoil_column(Structure):
    _fields_ = [
        ("name", c_char_p), ("kind", c_int32), ("codes", c_uint32), ("values", c_uint32), ("labels", POINTER(c_char_p)),
        ("min", c_int64), ("max", c_int64), ("edges", POINTER(c_double)), ("step", c_double), ("missing", c_char_p),
        ("unit", c_uint32),
    ]


class trefoil_answer(Structure):
    _fields_ = [
        ("question", c_char_p), ("level", c_double), ("together", c_int32), ("groups", c_uint32),
        ("group", POINTER(c_uint32)), ("items", c_uint32), ("item", POINTER(c_char_p)), ("label_column", POINTER(c_uint32)),
        ("approximate", POINTER(c_uint8)), ("apart", POINTER(c_uint8)), ("lines", c_size_t), ("code", POINTER(c_uint32)),
        ("count", POINTER(c_double)), ("value", POINTER(c_double)), ("low", POINTER(c_double)),
        ("high", POINTER(c_double)), ("agreed", POINTER(c_double)), ("rows", POINTER(c_double)), ("left_out", c_size_t),
        ("left_out_rows", c_double), ("group_name", POINTER(c_char_p)), ("part", POINTER(c_int32)),
        ("unit", POINTER(c_uint32)), ("group_label", POINTER(c_char_p)),
    ]


class trefoil_answers(Structure):
    _fields_ = [("count", c_size_t), ("answer", POINTER(POINTER(trefoil_answer)))]


class trefoil_rows(Structure):
    _fields_ = [
        ("rows", c_size_t), ("columns", c_uint32), ("code", POINTER(POINTER(c_uint16))),
        ("number", POINTER(POINTER(c_double))), ("computed", c_uint32), ("computed_name", POINTER(c_char_p)),
        ("computed_number", POINTER(POINTER(c_double))), ("computed_text", POINTER(POINTER(c_char_p))),
        ("computed_unit", POINTER(c_uint32)),
    ]


class trefoil_counts(Structure):
    _fields_ = [
        ("columns", c_uint32), ("column", POINTER(c_uint32)), ("codes", POINTER(c_uint32)), ("cells", c_size_t),
        ("count", POINTER(c_double)),
    ]


class trefoil_measurement(Structure):
    _fields_ = [
        ("columns", c_uint32), ("column", POINTER(c_uint32)), ("cells", c_size_t), ("count", POINTER(c_double)),
        ("sigma", c_double), ("total", c_double), ("group", POINTER(POINTER(c_uint32))),
    ]


class trefoil_measurements(Structure):
    _fields_ = [
        ("epsilon", c_double), ("delta", c_double), ("rho", c_double), ("rows_per_person", c_uint32),
        ("count", c_size_t), ("measurement", POINTER(POINTER(trefoil_measurement))), ("knowns", c_size_t),
        ("known", POINTER(POINTER(trefoil_measurement))),
    ]


class ArrowSchema(Structure):
    pass


class ArrowArray(Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))), ("dictionary", POINTER(ArrowSchema)),
    ("release", ctypes.CFUNCTYPE(None, POINTER(ArrowSchema))), ("private_data", c_void_p),
]
ArrowArray._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", POINTER(ArrowArray)),
    ("release", ctypes.CFUNCTYPE(None, POINTER(ArrowArray))), ("private_data", c_void_p),
]


def _load() -> CDLL:
    ours = os.path.join(os.path.dirname(__file__), "libtrefoil.so.0")  # where a wheel has it
    brought = os.path.exists(ours)
    try:
        library = CDLL(ours if brought else "libtrefoil.so.0")
    except OSError as reason:
        if brought:
            raise ImportError(f"{reason}: install libsodium and jansson (libsodium23 and libjansson4 on Debian)") from None
        raise ImportError(
            f"{reason}: run `pip install ./tools/python` in the sources; or install the package libtrefoil0; or run "
            "ldconfig after `make install`; or set LD_LIBRARY_PATH to the folder of libtrefoil.so.0"
        ) from None
    error, model = POINTER(trefoil_error), c_void_p
    declared = {
        "open": (c_int, POINTER(model), c_char_p, error),
        "close": (None, POINTER(model)),
        "kind": (c_int, model),
        "total": (c_double, model),
        "version": (c_char_p,),
        "columns": (c_uint32, model),
        "column": (POINTER(trefoil_column), model, c_uint32),
        "query": (c_int, model, c_char_p, c_double, POINTER(POINTER(trefoil_answers)), error),
        "answers_free": (None, POINTER(POINTER(trefoil_answers))),
        "sample": (c_int, model, c_size_t, c_uint64, c_int, POINTER(POINTER(trefoil_rows)), error),
        "sample_where": (c_int, model, c_char_p, c_size_t, c_uint64, POINTER(POINTER(trefoil_rows)), error),
        "complete": (c_int, model, POINTER(POINTER(c_char_p)), c_size_t, c_uint64, POINTER(POINTER(trefoil_rows)),
                     error),
        "rows_free": (None, POINTER(POINTER(trefoil_rows))),
        "rows_arrow": (c_int, model, POINTER(trefoil_rows), POINTER(ArrowSchema), POINTER(ArrowArray), error),
        "answer_arrow": (c_int, model, POINTER(trefoil_answer), POINTER(ArrowSchema), POINTER(ArrowArray), error),
        "marginal": (c_int, model, POINTER(c_char_p), c_uint32, POINTER(POINTER(trefoil_counts)), error),
        "counts_free": (None, POINTER(POINTER(trefoil_counts))),
        "measurements": (c_int, model, POINTER(POINTER(trefoil_measurements)), error),
        "measurements_free": (None, POINTER(POINTER(trefoil_measurements))),
    }
    for name, (result, *arguments) in declared.items():
        function = getattr(library, "trefoil_" + name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()
