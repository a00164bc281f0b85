"""Query released models of Trefoil and draw rows from them.

    >>> import trefoil
    >>> with trefoil.Model("result") as model:
    ...     answer = model.query("SELECT AVG(age) FROM t GROUP BY sex")
    ...     for line in answer:
    ...         print(line.group["sex"], line["AVG(age)"].value)
    ...     rows = model.sample(1000)
    ...     counts = model.marginal("sex", "ward")

Models are released: whatever is asked of one, however often, costs no privacy. Results are lists
and plain numbers; where pandas is installed, `sample()` gives a DataFrame, and answers and
marginals have `frame()`.

A missing value, whatever text a CSV file has for it, is None here, as it is NULL in questions.
"""

from __future__ import annotations

import ctypes
import datetime
import html
import itertools
import math
import operator
import os
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

from . import _library as _c
from ._library import library as _lib

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Answer", "Arrow", "Bin", "Cell", "Classifier", "Column", "Date", "Error", "FileError", "FormatError", "Line", "Marginal", "Measurement", "Measurements",
    "Model", "OutOfMemory", "QuestionError", "RangeError", "UsageError", "Value",
]
__version__: str = _lib.trefoil_version().decode()


class Error(Exception):
    """The library refuses something, and says what to do."""


class FileError(Error, OSError):
    """A file is not there or cannot be read."""


class FormatError(Error, ValueError):
    """A file is cut, altered, of another kind, or of a later version."""


class QuestionError(Error, ValueError):
    """A question, or the name of a column, is wrong. Further lines show the place."""


class RangeError(Error, ValueError):
    """The answer would be too large."""


class UsageError(Error, ValueError):
    """Some other argument is not valid, or the model is closed."""


class OutOfMemory(Error, MemoryError):
    """There is no memory for what was asked."""


_ERRORS = {
    _c.SYSTEM: FileError, _c.MEMORY: OutOfMemory, _c.FORMAT: FormatError, _c.QUESTION: QuestionError,
    _c.RANGE: RangeError, _c.USAGE: UsageError,
}


from ._arrow import Arrow  # noqa: E402
from ._classifier import Classifier  # noqa: E402  (it needs the errors)

Date = Union[datetime.date, datetime.datetime]
"""A date where a column's unit is a day, else a datetime without a zone."""


class Bin(NamedTuple):
    """Numbers or dates from `low` to below `high`, which only the last bin includes; where both are equal, just that one."""

    low: Union[float, Date]
    high: Union[float, Date]


Cell = Union[str, int, Bin, None]
"""What one code of a column stands for: a label, a whole number, a bin, or None for a missing value."""


@dataclass(frozen=True)
class Column:
    """A column of the study: its name and what it may hold."""

    name: str
    kind: str
    """ "labels", "whole" (whole numbers), "bins" (numbers in bins) or "dates" (dates in bins)"""
    values: Tuple[Cell, ...]
    """what its codes stand for, in their order; the last is None if values may be missing"""
    step: Optional[float] = None
    """for bins: numbers are multiples of it; for dates: 1, a unit"""
    missing: Optional[str] = None
    """how CSV files write a missing value; None if none is missing"""
    unit: Optional[int] = None
    """for dates: the seconds in a unit"""


class Value(NamedTuple):
    """One value of an answer."""

    value: Union[float, int, str, Date, None]
    """a number, a date, or a label for MODE of labels; None if there are no rows"""
    low: Union[float, Date, None]
    """the interval around it; None where there is none"""
    high: Union[float, Date, None]
    agreed: Optional[float]
    """for MODE: the share of the model's refits that have the same one"""
    rows: float
    """how many rows it is based on: those in which the column is not missing"""
    approximate: bool
    """as MIN, MAX and RANGE are"""
    together: bool
    """False: no measured marginal holds its columns together, so it rests on conditional independence"""


@dataclass(frozen=True)
class Line:
    """A line of an answer: `line["AVG(age)"]` or `line[0]` is a Value."""

    group: Dict[str, Cell]
    """the columns in GROUP BY, or parts of their dates, such as "YEAR(admitted)" """
    rows: float
    """COUNT(*) of the group"""
    items: Tuple[str, ...] = field(repr=False)
    values: Tuple[Value, ...]

    def __getitem__(self, item: Union[str, int]) -> Value:
        if isinstance(item, str) and item not in self.items:
            raise KeyError(f"{item} was not asked for; this line has {', '.join(self.items)}")
        return self.values[self.items.index(item) if isinstance(item, str) else item]


@dataclass(frozen=True)
class Answer(Sequence[Line]):
    """The answer to a question: a sequence of lines, one for each group, or a single line."""

    question: str
    items: Tuple[str, ...]
    """what was asked for, such as "AVG(age)" """
    groups: Tuple[str, ...]
    lines: List[Line]
    level: Optional[float]
    """of the intervals; None: there are none"""
    together: bool
    """True if it is True for every item: see Value"""
    left_out: int
    """groups with less than half a row, which get no line"""
    left_out_rows: float

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, line: Any) -> Any:
        return self.lines[line]

    @property
    def value(self) -> Union[float, int, str, Date, None]:
        """The value of an answer that has one line with one item."""
        if len(self.lines) != 1 or len(self.items) != 1:
            raise UsageError(f"this answer has {len(self.lines)} lines of {len(self.items)} items; go through them")
        return self.lines[0][0].value

    def frame(self) -> pandas.DataFrame:
        """A DataFrame: groups, then each item, with its interval where there are intervals; and rows."""
        columns: Dict[str, List[Any]] = {name: [line.group[name] for line in self.lines] for name in self.groups}
        for i, name in enumerate(self.items):
            columns[name] = [line[i].value for line in self.lines]
            if self.level is not None:
                columns[name + " low"] = [line[i].low for line in self.lines]
                columns[name + " high"] = [line[i].high for line in self.lines]
        return _frame_and(columns, "rows", [line.rows for line in self.lines])

    def _repr_html_(self) -> str:
        """What notebooks show."""
        interval = [] if self.level is None else [f"{100 * self.level:.4g} %"]
        heads = [*self.groups, *(head for name in self.items for head in (name, *interval)), "rows"]
        rows: List[List[Any]] = []
        ends = [[end for line in self.lines for end in (line[i].low, line[i].high) if end is not None]
                for i in range(len(self.items))]
        for line in self.lines:
            rows.append(list(line.group.values()))
            for v, scale in zip(line.values, ends):
                bar = "" if v.low is None or v.high is None else _Bar(v.low, v.high, min(0.0, *scale), max(scale))
                rows[-1] += [v.value, bar][:1 + len(interval)]
            rows[-1].append(line.rows)
        note = "" if self.together else "<p>No measured marginal holds these columns together: see together.</p>"
        if self.left_out:
            note += f"<p>Groups with less than half a row, left out: {self.left_out}.</p>"
        return _html(heads, rows) + note


@dataclass(frozen=True)
class Marginal:
    """How many rows have each combination of values: `marginal["f", "lung"]`, or `items()` for all."""

    columns: Tuple[Column, ...]
    counts: List[float] = field(repr=False)
    """for all combinations; the last column runs fastest"""

    @property
    def shape(self) -> Tuple[int, ...]:
        return tuple(len(c.values) for c in self.columns)

    def items(self) -> Iterator[Tuple[Tuple[Cell, ...], float]]:
        """Every combination and its count."""
        return zip(itertools.product(*(c.values for c in self.columns)), self.counts)

    def __getitem__(self, values: Union[Cell, Tuple[Cell, ...]]) -> float:
        asked = values if isinstance(values, tuple) and not isinstance(values, Bin) else (values,)
        if len(asked) != len(self.columns):
            raise KeyError(f"{len(self.columns)} values make a cell, not {len(asked)}")
        place = 0
        for column, value in zip(self.columns, asked):
            if value not in column.values:
                raise KeyError(f"{value!r} is no value of {column.name}")
            place = place * len(column.values) + column.values.index(value)
        return self.counts[place]

    def frame(self) -> pandas.DataFrame:
        """A DataFrame with a row for each combination, and `count`."""
        cells = list(itertools.product(*(c.values for c in self.columns)))
        columns = {c.name: [cell[i] for cell in cells] for i, c in enumerate(self.columns)}
        return _frame_and(columns, "count", self.counts)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return _html([*(c.name for c in self.columns), "count"], ([*cells, count] for cells, count in self.items()))


@dataclass(frozen=True)
class Measurement:
    """Noisy counts that were released, with Gaussian noise of deviation `sigma`; 0: published totals."""

    columns: Tuple[str, ...]
    counts: List[float] = field(repr=False)
    sigma: float = 0.0
    total: Optional[float] = None
    """the noisy number of rows then, if others have joined the run since"""
    groups: Optional[Tuple[Optional[List[int]], ...]] = None
    """where values with few rows were measured together: for each such column, the group of each value"""


@dataclass(frozen=True)
class Measurements:
    """All that was released, and the guarantee: (epsilon, delta) for `rows_per_person` rows of one person."""

    epsilon: float
    delta: float
    rho: float
    rows_per_person: int
    measurements: List[Measurement]
    known: List[Measurement]
    """published totals that `trefoil refit` was given"""


_T = TypeVar("_T")
_SAMPLING: Dict[Optional[str], int] = {None: 0, "rounded": 1, "independent": 2}
_KINDS = {_c.LABELS: "labels", _c.WHOLE: "whole", _c.BINS: "bins", _c.DATES: "dates"}


def _cells(c: _c.trefoil_column) -> Tuple[Cell, ...]:
    cells: List[Cell]
    if c.kind == _c.LABELS:
        cells = [c.labels[i].decode() for i in range(c.values)]
    elif c.kind == _c.WHOLE:
        cells = list(range(c.min, c.min + c.values))
    elif c.kind == _c.DATES:
        cells = [Bin(_date(c.edges[i], c.unit), _date(c.edges[i + 1], c.unit)) for i in range(c.values)]
    else:
        cells = [Bin(c.edges[i], c.edges[i + 1]) for i in range(c.values)]
    return tuple(cells + [None] * (c.codes - c.values))


def _known(x: float) -> Optional[float]:
    return None if math.isnan(x) else x


def _date(x: float, unit: int) -> Date:
    if unit == 86400:
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=round(x))
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=round(x) * unit)


def _said(value: Any) -> str:
    """A value as CSV files have it: a whole number has no point, a date no time or seconds that are 0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.second == value.microsecond == 0:
        return value.isoformat(" ", "minutes") if value.time() != datetime.time() else str(value.date())
    return str(value)


def _have_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def _frame_and(columns: Dict[str, List[Any]], last: str, numbers: List[float]) -> pandas.DataFrame:
    """A DataFrame with one more column, whether or not the study has one of that name."""
    _need_pandas()
    import pandas

    frame = pandas.DataFrame(columns)
    frame.insert(len(columns), last, numbers, allow_duplicates=True)
    return frame


class _Bar(NamedTuple):
    """An interval, and where it lies on a scale that begins at 0 unless something is below."""

    low: float
    high: float
    least: float
    most: float

    def svg(self) -> str:
        x, end = (120 * (v - self.least) / ((self.most - self.least) or 1) for v in (self.low, self.high))
        return (f'<svg width="124" height="10" role="presentation"><rect x="{x:.1f}" y="1" width="{max(end - x, 1):.1f}" '
                'height="8" fill="#4a7ab5"/></svg>')


def _html(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table of the first 100 rows, with numbers as `trefoil query` shows them."""

    def row(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(text(cell))}{bar(cell)}</{tag}>" for cell in cells) + "</tr>"

    def bar(cell: Any) -> str:
        return " " + cell.svg() if isinstance(cell, _Bar) else ""

    def text(cell: Any) -> str:
        if isinstance(cell, (Bin, _Bar)):
            return f"{text(cell.low)} to {text(cell.high)}"
        return "NULL" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)

    body = [row(cells, "td") for cells in itertools.islice(rows, 101)]
    return f"<table>{row(heads, 'th')}{''.join(body[:100])}</table>" + ("<p>...</p>" if len(body) > 100 else "")


def _need_pandas() -> None:
    if not _have_pandas():
        raise UsageError("a DataFrame needs pandas, which is not installed")


def _text(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} is a str, not {type(text).__name__}")
    if "\0" in text:
        raise QuestionError(f"{what} has no character of code 0")
    return text.encode()


def _count(rows: Optional[int]) -> int:
    """How many rows to draw; 0: as many as the model stands for."""
    if rows is None:
        return 0
    rows = operator.index(rows)
    if rows < 1:
        raise UsageError(f"rows must be 1 or more, not {rows}")
    if rows > sys.maxsize:
        raise RangeError(f"{rows} rows are too many; ask for fewer")
    return rows


def _seed(seed: int) -> int:
    seed = operator.index(seed)
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"a seed is a number from 0 to 2^63 - 1, not {seed}")
    return seed


def _sampling(sampling: Optional[str]) -> int:
    if sampling not in _SAMPLING:
        raise UsageError(f'sampling is "rounded" or "independent", not {sampling!r}')
    return _SAMPLING[sampling]


class Model:
    """A released model: the folder of a result, or its file `model`.

    It is a context manager, which closes it; a model that is garbage-collected is closed too.
    Threads may share one: it does one thing at a time, and others wait.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """FileError and FormatError say what is wrong with the file."""
        self._lock = threading.Lock()
        self._handle = ctypes.c_void_p()
        self.path = os.fspath(path)
        name = os.fsencode(path)
        if b"\0" in name:
            raise UsageError("a path has no character of code 0")
        error = _c.trefoil_error()
        self._check(_lib.trefoil_open(self._handle, name, error), error)
        self.kind: str = "copula" if _lib.trefoil_kind(self._handle) == _c.COPULA else "tree"
        self.total: float = _lib.trefoil_total(self._handle)
        """the noisy number of rows"""
        self.columns: Tuple[Column, ...] = tuple(
            self._column(i) for i in range(_lib.trefoil_columns(self._handle)))

    def __repr__(self) -> str:
        return f"<trefoil.Model {self.path!r}: {self.kind} of {len(self.columns)} columns, {self.total:.0f} rows>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return f"<p>{html.escape(repr(self))}</p>" + _html(
            ("column", "kind", "values"), ((c.name, c.kind, len(c.values)) for c in self.columns))

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def close(self) -> None:
        """Frees the model. Results stay as they are; nothing more can be asked."""
        with self._lock:
            _lib.trefoil_close(self._handle)

    def column(self, name: str) -> Column:
        """The column with this name."""
        for c in self.columns:
            if c.name == name:
                return c
        raise QuestionError(f"there is no column {name}")

    def query(self, sql: str, level: Optional[float] = 0.95) -> Answer:
        """The answer to one question in SQL; `level` is that of its intervals, None for none.

        Without the file `errors` beside the model, and for a copula, there are no intervals:
        `answer.level` is then None.
        """
        answers = self.queries(sql, level)
        if len(answers) != 1:
            raise QuestionError(f"there are {len(answers)} questions here; queries() takes several")
        return answers[0]

    def queries(self, sql: str, level: Optional[float] = 0.95) -> List[Answer]:
        """The answers to several questions, with a ; between two: faster than one after the other."""

        def read(r: Any) -> List[Answer]:
            return [self._answer(r.answer[i].contents) for i in range(r.count)]

        return self._asked(sql, level, read)

    def sample(self, rows: Optional[int] = None, *, seed: int = 1, sampling: Optional[str] = None,
               where: Optional[str] = None, frame: Optional[bool] = None) -> Union[Dict[str, List[Any]], pandas.DataFrame]:
        """Synthetic rows: as many as you ask for, or as the model stands for.

        The same seed gives the same rows, also from `trefoil synth`. `sampling` is "rounded"
        (marginals as near to the model's as that number of rows allows; not for a copula) or
        "independent" (each row by itself); by default a tree's rows are rounded. `where` is a
        condition as in a question: only rows that meet it, which are independent.

        `frame`: True gives a pandas DataFrame, False a dict with a list for each column, None a
        DataFrame if pandas is installed. A missing value is None in lists, NaN or NA in a
        DataFrame.
        """
        count, how = _count(rows), _sampling(sampling)
        if where is None:
            return self._drawn(frame, seed, _lib.trefoil_sample, count, after=(how,))
        if sampling == "rounded":
            raise UsageError("rows on condition are independent: leave out sampling")
        return self._drawn(frame, seed, _lib.trefoil_sample_where, _text(where, "a condition"), count)

    def complete(self, rows: Any, *, seed: int = 1,
                 frame: Optional[bool] = None) -> Union[Dict[str, List[Any]], pandas.DataFrame]:
        """Rows with what they lack, drawn given what they have: a DataFrame, or a dict of lists.

        Columns that are not there are drawn, and so is each None, NaN or NA. What is there stays;
        a missing value is what `column(name).missing` says. Not for a copula.
        """
        if hasattr(rows, "notna"):
            rows = rows.astype(object).where(rows.notna(), None)
        given = {name: list(rows[name]) for name in rows}
        counts = {len(values) for values in given.values()}
        if len(counts) != 1:
            raise UsageError("rows to complete need some column, and the same number of values in each")
        texts = (ctypes.POINTER(ctypes.c_char_p) * len(self.columns))()
        for i, c in enumerate(self.columns):
            if c.name in given:
                texts[i] = (ctypes.c_char_p * len(given[c.name]))(
                    *(None if v is None or v != v else _text(_said(v), "a value") for v in given[c.name]))
        return self._drawn(frame, seed, _lib.trefoil_complete, texts, counts.pop())

    def _drawn(self, frame: Optional[bool], seed: int, call: Callable[..., int], *arguments: Any,
               after: Tuple[int, ...] = ()) -> Union[Dict[str, List[Any]], pandas.DataFrame]:
        if frame:
            _need_pandas()
        read: Callable[[Any], Any] = self._frame if frame or frame is None and _have_pandas() else self._lists
        drawn: Union[Dict[str, List[Any]], pandas.DataFrame] = self._result(
            call, _lib.trefoil_rows_free, _c.trefoil_rows, read, *arguments, _seed(seed), *after)
        return drawn

    def query_arrow(self, sql: str, level: Optional[float] = 0.95) -> Arrow:
        """The answer to one question, for libraries that take Arrow's C data interface."""

        def read(r: Any) -> Arrow:
            if r.count != 1:
                raise QuestionError(f"there are {r.count} questions here; ask one")
            return self._arrow(_lib.trefoil_answer_arrow, r.answer[0])

        return self._asked(sql, level, read)

    def sample_arrow(self, rows: Optional[int] = None, *, seed: int = 1, sampling: Optional[str] = None) -> Arrow:
        """As sample(), for libraries that take Arrow's C data interface."""
        return self._result(_lib.trefoil_sample, _lib.trefoil_rows_free, _c.trefoil_rows,
                            lambda r: self._arrow(_lib.trefoil_rows_arrow, ctypes.pointer(r)),
                            _count(rows), _seed(seed), _sampling(sampling))

    def _arrow(self, call: Callable[..., int], result: Any) -> Arrow:
        schema, array, error = _c.ArrowSchema(), _c.ArrowArray(), _c.trefoil_error()
        self._call(call, result, schema, array, error)
        return Arrow(schema, array)

    def marginal(self, *columns: str) -> Marginal:
        """How many rows have each combination of values of one to eight columns, in this order."""
        names = (ctypes.c_char_p * len(columns))(*(_text(name, "the name of a column") for name in columns))

        def read(r: Any) -> Marginal:
            return Marginal(tuple(self.columns[r.column[i]] for i in range(r.columns)), r.count[:r.cells])

        return self._result(_lib.trefoil_marginal, _lib.trefoil_counts_free, _c.trefoil_counts, read,
                            names, len(columns))

    def measurements(self) -> Measurements:
        """All that was released, from measurements.json beside the model."""

        def groups(m: Any) -> Optional[Tuple[Optional[List[int]], ...]]:
            if not m.group:
                return None
            return tuple(m.group[i][:len(self.columns[m.column[i]].values)] if m.group[i] else None
                         for i in range(m.columns))

        def one(m: Any) -> Measurement:
            names = tuple(self.columns[m.column[i]].name for i in range(m.columns))
            return Measurement(names, m.count[:m.cells], m.sigma, m.total or None, groups(m))

        def read(r: Any) -> Measurements:
            return Measurements(r.epsilon, r.delta, r.rho, r.rows_per_person,
                                [one(r.measurement[i].contents) for i in range(r.count)],
                                [one(r.known[i].contents) for i in range(r.knowns)])

        return self._result(_lib.trefoil_measurements, _lib.trefoil_measurements_free, _c.trefoil_measurements, read)

    # --- what the library gives, as Python objects ---

    @staticmethod
    def _check(status: int, error: _c.trefoil_error) -> None:
        if status != _c.OK:
            raise _ERRORS.get(status, Error)(error.text.decode(errors="replace"))

    def _call(self, call: Callable[..., int], *arguments: Any) -> None:
        """A function of the library, with an error as its last argument: one at a time."""
        with self._lock:
            if not self._handle:
                raise UsageError("the model is closed")
            self._check(call(self._handle, *arguments), arguments[-1])

    def _asked(self, sql: str, level: Optional[float], read: Callable[[Any], _T]) -> _T:
        if level is not None and not 0.5 <= level <= 0.9999:
            raise UsageError(f"a level is a number from 0.5 to 0.9999, or None for no intervals; not {level}")
        return self._result(_lib.trefoil_query, _lib.trefoil_answers_free, _c.trefoil_answers, read,
                            _text(sql, "a question"), 0.0 if level is None else float(level))

    def _result(self, call: Callable[..., int], free: Callable[..., None], kind: Any,
                read: Callable[[Any], _T], *arguments: Any) -> _T:
        result = ctypes.POINTER(kind)()
        self._call(call, *arguments, result, _c.trefoil_error())
        try:
            return read(result.contents)
        finally:
            free(result)

    def _column(self, i: int) -> Column:
        c = _lib.trefoil_column(self._handle, i).contents
        return Column(c.name.decode(), _KINDS[c.kind], _cells(c), c.step or None,
                      None if c.missing is None else c.missing.decode(), c.unit or None)

    def _answer(self, a: Any) -> Answer:
        items = tuple(a.item[i].decode() for i in range(a.items))
        groups = [self.columns[a.group[i]] for i in range(a.groups)]
        names = tuple(a.group_name[i].decode() for i in range(a.groups))
        lines = []
        for line in range(a.lines):
            here = slice(line * a.groups, (line + 1) * a.groups)
            cells = [(label.decode() or None) if label is not None
                     else c.values[code] if part == _c.NO_PART else part
                     for c, code, part, label in zip(groups, a.code[here], a.part[here], a.group_label[here])]
            lines.append(Line(dict(zip(names, cells)), a.count[line], items,
                              tuple(self._value(a, line, i) for i in range(len(items)))))
        return Answer(a.question.decode(), items, names, lines, a.level or None,
                      bool(a.together), a.left_out, a.left_out_rows)

    def _value(self, a: Any, line: int, item: int) -> Value:
        at = line * a.items + item
        unit = a.unit[item]
        value, low, high = (x if x is None or not unit else _date(x, unit)
                            for x in (_known(a.value[at]), _known(a.low[at]), _known(a.high[at])))
        if value is not None and a.label_column[item] != _c.NONE:
            value = self.columns[a.label_column[item]].values[int(value)]
        return Value(value, low, high, _known(a.agreed[at]), a.rows[at],
                     bool(a.approximate[item]), not a.apart[item])

    def _lists(self, r: Any) -> Dict[str, List[Any]]:
        lists: Dict[str, List[Any]] = {}
        for i, c in enumerate(self.columns):
            if c.unit is not None:
                lists[c.name] = [None if math.isnan(x) else _date(x, c.unit) for x in r.number[i][:r.rows]]
                continue
            if c.kind != "bins":
                lists[c.name] = [c.values[code] for code in r.code[i][:r.rows]]
                continue
            kind = int if c.step is not None and c.step.is_integer() else float
            lists[c.name] = [None if math.isnan(x) else kind(x) for x in r.number[i][:r.rows]]
        for i in range(r.computed):
            name, unit = r.computed_name[i].decode(), r.computed_unit[i]
            if r.computed_text[i]:
                lists[name] = [x.decode() or None for x in r.computed_text[i][:r.rows]]
            else:
                lists[name] = [None if math.isnan(x) else _date(x, unit) if unit else int(x) if x.is_integer() else x
                               for x in r.computed_number[i][:r.rows]]
        return lists

    def _frame(self, r: Any) -> pandas.DataFrame:
        import numpy
        import pandas

        columns: Dict[str, Any] = {}
        for i, c in enumerate(self.columns):
            if c.kind == "labels":
                labels = [v for v in c.values if v is not None]
                codes = numpy.ctypeslib.as_array(r.code[i], (r.rows,)).astype(numpy.int32)
                codes[codes == len(labels)] = -1
                columns[c.name] = pandas.Categorical.from_codes(codes, labels)
                continue
            if c.unit is not None:
                seconds = numpy.rint(numpy.ctypeslib.as_array(r.number[i], (r.rows,))) * c.unit
                dates = numpy.full(r.rows, numpy.datetime64("NaT", "s"))
                known = ~numpy.isnan(seconds)
                dates[known] = seconds[known].astype("int64").astype("datetime64[s]")
                columns[c.name] = pandas.Series(dates)
                continue
            numbers = pandas.Series(numpy.ctypeslib.as_array(r.number[i], (r.rows,)).copy())
            if c.kind == "whole" or (c.step is not None and c.step.is_integer()):
                numbers = numbers.astype("int64" if c.missing is None else "Int64")
            columns[c.name] = numbers
        columns.update(itertools.islice(self._lists(r).items(), len(self.columns), None) if r.computed else {})
        return pandas.DataFrame(columns)
