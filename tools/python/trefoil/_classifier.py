"""Classifiers that a run with `method: train` has made: classifier.json, in plain Python."""

from __future__ import annotations

import bisect
import datetime
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Union

from . import FileError, FormatError, UsageError

FORMAT = "trefoil-classifier-1"


class Classifier:
    """A linear classifier of one column, from the folder of a result or its classifier.json.

    `classes` are texts; `coef` has a list of coefficients for each output, `intercept` a number for each, and
    `feature_names` names the features. With two classes there is one output, for the second. `test` says how good
    it is on rows that were kept back, with noise, or is None: a dict as in docs/formats.md.
    """

    __module__ = "trefoil"

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        name = os.path.join(path, "classifier.json") if os.path.isdir(path) else os.fspath(path)
        try:
            with open(name, encoding="utf-8") as file:
                document = json.load(file)
        except OSError as error:
            raise FileError(f"cannot read {name}: {error.strerror}") from None
        except ValueError as error:
            raise FormatError(f"{name} is no JSON: {error}") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise FormatError(f"{name} is not of the format {FORMAT}")
        try:
            self.target: str = document["target"]
            self.classes: List[str] = document["classes"]
            self.coef: List[List[float]] = document["coef"]
            self.intercept: List[float] = document["intercept"]
            self.feature_names: List[str] = document["feature_names"]
            self.epsilon: float = document["epsilon"]
            self.delta: float = document["delta"]
            self.test: Optional[Dict[str, Any]] = document.get("test")
            self._numbers = document["norm"] > 0
            self._columns: List[Dict[str, Any]] = [c for c in document["columns"] if c["name"] != self.target]
            features = sum(1 if self._numbers else c["size"] for c in self._columns)
        except (KeyError, TypeError) as error:
            raise FormatError(f"{name} lacks something: {error}") from None
        outputs = 1 if len(self.classes) == 2 else len(self.classes)
        if not (len(self.coef) == len(self.intercept) == outputs and len(self.feature_names) == features
                and all(len(row) == features for row in self.coef)):
            raise FormatError(f"{name}: coef, intercept and feature_names do not fit its columns")

    def __repr__(self) -> str:
        return f"<trefoil.Classifier of {self.target}: {', '.join(self.classes)}>"

    def scores(self, rows: Any) -> List[List[float]]:
        """A score of each row for each output. Rows are a DataFrame, columns by name (as Model.sample() gives
        them), or a list of dicts. A number outside its column counts as the nearest, a label that is not one of
        the column's as missing."""
        columns = [self._codes(column, _values(rows, column["name"])) for column in self._columns]
        result = []
        for codes in zip(*columns):
            row, at = list(self.intercept), 0
            for column, code in zip(self._columns, codes):
                for output, weights in enumerate(self.coef):
                    row[output] += weights[at] * code if self._numbers else weights[at + code]
                at += 1 if self._numbers else column["size"]
            result.append(row)
        return result

    def predict(self, rows: Any) -> List[str]:
        """The class of each row: the second from a score of 1/2 on, or the one whose score is largest."""
        if len(self.classes) == 2:
            return [self.classes[score[0] >= 0.5] for score in self.scores(rows)]
        return [self.classes[score.index(max(score))] for score in self.scores(rows)]

    def _codes(self, column: Dict[str, Any], values: Sequence[Any]) -> List[int]:
        texts = {text: code for code, text in enumerate(column.get("labels", ()))}
        missing: Set[Any] = {column.get("missing"), *column.get("missing_too", ())}
        if "labels" not in column:
            missing |= {_number(text) for text in missing}
        missing.discard(None)
        return [self._code(column, texts, missing, value) for value in values]

    def _code(self, column: Dict[str, Any], texts: Mapping[str, int], missing: Any, value: Any) -> int:
        lacks = value is None or value != value or str(value).strip() in missing or _number(value) in missing
        if not lacks and "labels" in column:
            lacks = str(value) not in texts
        if lacks:
            if column.get("missing") is None:
                raise UsageError(f"{column['name']} cannot be {value!r}")
            return column["size"] - 1
        if "labels" in column:
            return texts[str(value)]
        try:
            if "min" in column:
                return min(max(_whole(value), column["min"]), column["max"]) - column["min"]
            edges = column["edges"]
            at = _date(value, column) if isinstance(edges[0], str) else float(value)
        except ValueError:
            raise UsageError(f"{column['name']} cannot be {value!r}") from None
        code = min(max(bisect.bisect_right(edges, at) - 1, 0), len(edges) - 2)
        return code - 1 if code > 0 and edges[code - 1] == edges[code] == at else code


def _whole(value: Any) -> int:
    """A whole number, also as 39.0 or "1e3"."""
    try:
        return int(str(value))
    except ValueError:
        whole = float(value)
        if not whole.is_integer():
            raise
        return int(whole)


def _number(value: Any) -> Optional[float]:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _date(value: Any, column: Mapping[str, Any]) -> str:
    """As edges are written, whatever the column's formats are, and no finer than its unit."""
    text = str(value).strip()
    for known in column.get("format", ()) if isinstance(value, str) else ():
        try:
            text = str(datetime.datetime.strptime(text, known))
            break
        except ValueError:
            continue
    return str(datetime.datetime.fromisoformat(text.replace("T", " ")[:19]))[:len(column["edges"][0])]


def _values(rows: Any, name: str) -> Sequence[Any]:
    try:
        return [row[name] for row in rows] if isinstance(rows, (list, tuple)) else list(rows[name])
    except KeyError:
        raise UsageError(f"the rows have no column {name}") from None
