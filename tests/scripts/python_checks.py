"""The module trefoil against the program and the files of two results. Writes TAP.

    python_checks.py FOLDER TREFOIL ROOT        FOLDER as tests/scripts/support_results.sh leaves it
"""

import csv
import datetime
import hashlib
import io
import itertools
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import threading

import trefoil

folder, program, root = sys.argv[1:]
tree, copula = folder + "/tree", folder + "/copula"


def run(*arguments):
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def raises(kind, words, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert words in str(error), error
        assert isinstance(error, trefoil.Error) and not str(error).endswith("\n")
        return
    raise AssertionError(f"no {kind.__name__}")


def first(cell):
    return cell.low if isinstance(cell, trefoil.Bin) else cell


QUESTIONS = """SELECT sex, AVG(age), AVG(age), MODE(ward), MAX(bmi) FROM t GROUP BY sex;
    SELECT COUNT(*), MODE(age) FROM t WHERE bmi < 22.5 GROUP BY ward, bmi; SELECT SUM(age) FROM t WHERE age > 99;
    SELECT MEDIAN(bmi), MODE(bmi) FROM t WHERE ward IS NULL"""


def answers_are_the_programs():
    for path, options in ((tree, []), (tree, ["--level", "0.8"]), (tree, ["--quick"]), (copula, [])):
        level = None if "--quick" in options else float((options or [0, 0.95])[1])
        said = json.loads(run("query", path, "--json", *options, QUESTIONS))
        with trefoil.Model(path) as model:
            answers = model.queries(QUESTIONS, level)
        assert len(answers) == len(said) == 4
        for ours, theirs in zip(answers, said):
            assert ours.question == theirs["question"] and ours.together == theirs["together"]
            assert ours.level == theirs.get("level") and len(ours) == len(theirs["lines"])
            assert ours.left_out == theirs.get("left_out", {"groups": 0})["groups"]
            for line, their_line in zip(ours, theirs["lines"]):
                assert {name: first(cell) for name, cell in line.group.items()} == their_line.get("group", {})
                assert line.rows == their_line["rows"]
                for name, value, theirs_one in zip(ours.items, line.values, their_line["answers"]):
                    told = (theirs_one["answer"], theirs_one.get("low"), theirs_one.get("high"), theirs_one.get("agreed"),
                            theirs_one["rows"], theirs_one.get("approximate", False), theirs_one.get("together", True))
                    if value.value is None:
                        told = told[:3] + (None,) + told[4:]
                    assert name == theirs_one["item"] and tuple(value) == told, (value, told)


def one_answer_is_a_value():
    with trefoil.Model(tree) as model:
        assert abs(model.query("SELECT COUNT(*) FROM t").value - model.total) < 1e-6
        grouped = model.query("SELECT COUNT(*) FROM t GROUP BY sex")
        assert [line.group["sex"] for line in grouped] == ["m", "f"] and grouped[-1]["COUNT(*)"].low > 0
        raises(trefoil.UsageError, "2 lines", lambda: grouped.value)
        raises(trefoil.QuestionError, "queries()", model.query, QUESTIONS)


def notebooks_show_tables():
    with trefoil.Model(tree) as model:
        shown = model.query("SELECT AVG(age), MODE(ward) FROM t GROUP BY bmi, sex")._repr_html_()
        quick = model.query("SELECT AVG(age) FROM t WHERE sex = 'f' AND sex = 'm'", None)._repr_html_()
        table = model.marginal("age", "bmi", "ward")
        many = table._repr_html_()
        whole = model._repr_html_()
        names = [c.name for c in model.columns]
        bars = model.query("SELECT COUNT(*) FROM t GROUP BY sex")
    heads = "".join(f"<th>{h}</th>" for h in ("bmi", "sex", "AVG(age)", "95 %", "MODE(ward)", "95 %", "rows"))
    assert shown.startswith(f"<table><tr>{heads}</tr><tr><td>10 to 18.5</td><td>m</td><td>"), shown
    assert shown.count("<tr>") == 11 and shown.count("<td>") == 70 and "<td>NULL</td><td>f</td>" in shown
    assert "<th>AVG(age)</th><th>rows</th></tr><tr><td>NULL</td><td>0</td></tr>" in quick, quick
    assert len(table.counts) == 400 and many.count("<tr>") == 101 and many.endswith("</table><p>...</p>")
    assert whole.startswith("<p>&lt;trefoil.Model ") and all(f"<tr><td>{name}</td><td>" in whole for name in names), whole
    scale = 120 / max(line[0].high for line in bars)
    for line in bars:
        bar = f'<rect x="{scale * line[0].low:.1f}" y="1" width="{max(scale * (line[0].high - line[0].low), 1):.1f}"'
        assert bar in bars._repr_html_(), (bar, bars._repr_html_())
    value = trefoil.Value("<b>", None, None, 1.0, 2.5, False, True)
    answer = trefoil.Answer("", ("MODE(x)",), (), [trefoil.Line({}, 2.5, ("MODE(x)",), (value,))], 0.95, False, 3, 0.4)
    assert answer._repr_html_() == (
        "<table><tr><th>MODE(x)</th><th>95 %</th><th>rows</th></tr><tr><td>&lt;b&gt;</td><td></td><td>2.5</td></tr></table>"
        "<p>No measured marginal holds these columns together: see together.</p>"
        "<p>Groups with less than half a row, left out: 3.</p>")


def all_names_what_is_public():
    own = {name for name, x in vars(trefoil).items() if getattr(x, "__module__", "") in ("trefoil", "trefoil._arrow") and name[0] != "_"}
    assert set(trefoil.__all__) == own | {"Cell", "Date"}, own


def read_csv(text):
    rows = list(csv.reader(io.StringIO(text)))
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}


def same_rows(model, drawn, written):
    missing = {c.name: c.missing for c in model.columns}
    assert list(drawn) == list(written)
    for name, values in drawn.items():
        assert len(values) == len(written[name])
        for ours, theirs in zip(values, written[name]):
            said = str(ours)[:len(theirs)] if isinstance(ours, datetime.date) else theirs
            assert theirs == missing.get(name, "") if ours is None else said == theirs, (name, ours, theirs)
            assert ours is None or isinstance(ours, datetime.date) or type(ours)(theirs) == ours, (name, ours, theirs)


def rows_are_those_of_synth():
    for path, sampling in ((tree, None), (tree, "independent"), (tree, "rounded"), (copula, None)):
        options = ["--sampling", sampling] if sampling else []
        written = read_csv(run("synth", path + "/model", "--rows", "300", "--seed", "7", "--out", "-", *options))
        with trefoil.Model(path) as model:
            drawn = model.sample(300, seed=7, sampling=sampling, frame=False)
            same_rows(model, drawn, written)
        assert None in drawn["bmi"] and None in drawn["ward"]


def rows_have_what_is_computed():
    written = read_csv(run("synth", folder + "/dates/model", "--rows", "300", "--out", "-"))
    with trefoil.Model(folder + "/dates") as model:
        drawn = model.sample(300, frame=False)
        same_rows(model, drawn, written)
        assert list(drawn)[3:] == ["later", "year", "title"] and set(drawn["title"]) == {"Mr", None}
        assert all(b is None if a is None else (b - a).days == 30 for a, b in zip(drawn["born"], drawn["later"]))
        if have_pandas():
            assert list(model.sample(20)) == list(drawn)
        by = model.query("SELECT title, COUNT(*) FROM t GROUP BY title").lines
        own = {line.group["sex"]: line[0].value for line in model.query("SELECT sex, COUNT(*) FROM t GROUP BY sex").lines}
        assert {line.group["title"]: line[0].value for line in by} == {"Mr": own["m"], None: own["f"]}


def rows_on_condition_are_those_of_synth():
    where = "age >= 7 AND sex = 'f' OR bmi < 20.5"
    for path in (tree, copula):
        written = read_csv(run("synth", path + "/model", "--where", where, "--rows", "300", "--seed", "7", "--out", "-"))
        with trefoil.Model(path) as model:
            drawn = model.sample(300, seed=7, where=where, frame=False)
            same_rows(model, drawn, written)
        for age, sex, bmi in zip(drawn["age"], drawn["sex"], drawn["bmi"]):
            assert age >= 7 and sex == "f" or bmi is not None and bmi < 20.5
    given = {"bmi": [20.5, None, 31.25, ""], "sex": ["f", "m", None, "m"], "age": [3.0, 4, None, 5]}
    with open(folder + "/given.csv", "w", encoding="utf-8") as file:
        file.write("bmi,sex,age\n20.5,f,3\n-,m,4\n31.25,-,-\n,m,5\n")
    written = read_csv(run("synth", tree + "/model", "--given", folder + "/given.csv", "--fill", "-", "--out", "-"))
    with trefoil.Model(tree) as model:
        drawn = model.complete(given, frame=False)
        same_rows(model, drawn, written)
        assert drawn["bmi"][0] == 20.5 and drawn["bmi"][2:] == [31.25, None] and drawn["age"][:2] == [3, 4]
        if have_pandas():
            import pandas
            frame = pandas.DataFrame({"sex": ["f", None], "age": pandas.array([None, 4], "Int64")})
            assert model.complete(frame)["age"][1] == 4
        raises(trefoil.UsageError, "row 1: age is 'x'", model.complete, {"age": [1, "x"]})
        raises(trefoil.UsageError, "same number", model.complete, {"age": [1], "sex": []})
        raises(trefoil.UsageError, "independent", model.sample, 5, where="age > 3", sampling="rounded")
        raises(trefoil.QuestionError, "nothing is known", model.sample, 5, where="age > 99")
    with trefoil.Model(copula) as model:
        raises(trefoil.UsageError, "copula", model.complete, given)
    with trefoil.Model(folder + "/wide") as model:  # its dates have a format
        days = [datetime.date(2004, 5, 6), "07.06.2005", "2006-07-08"]
        assert model.complete({"day": days}, frame=False)["day"] == [
            days[0], datetime.date(2005, 6, 7), datetime.date(2006, 7, 8)]
    with trefoil.Model(folder + "/dates") as model:
        times = [datetime.datetime(2026, 1, 5, 10, 30), datetime.datetime(2026, 1, 6)]
        assert model.complete({"seen": times}, frame=False)["seen"] == times


def as_many_rows_as_the_model_stands_for():
    with trefoil.Model(tree) as model:
        drawn = model.sample(seed=7, frame=False)
        assert len(drawn["age"]) == round(model.total)
        for name in drawn:  # rounded rows have about the model's counts
            column = model.column(name)
            for cell, count in model.marginal(name).items():
                inside = sum(v is cell[0] if cell[0] is None or v is None else
                             cell[0].low <= v < cell[0].high if isinstance(cell[0], trefoil.Bin) else v == cell[0]
                             for v in drawn[name])
                assert abs(inside - count) <= 4 * len(column.values) + 2, (name, cell, inside, count)


def marginals_answer_as_questions_do():
    for path, closeness in ((tree, 1e-9), (copula, 0.02)):
        with trefoil.Model(path) as model:
            assert abs(sum(model.marginal("ward").counts) - model.total) < 1e-6  # before anything else is asked
            m = model.marginal("ward", "sex")
            assert m.shape == (4, 2) and abs(sum(m.counts) - model.total) < 1e-6
            asked = model.query("SELECT COUNT(*) FROM t WHERE sex = 'f' AND ward = 'lung'", None).value
            assert abs(m["lung", "f"] - asked) <= closeness * model.total
            asked = model.query("SELECT COUNT(*) FROM t WHERE ward IS NULL", None).value
            assert abs(m[None, "m"] + m[None, "f"] - asked) <= closeness * model.total
            bins = model.marginal("bmi")
            assert bins[trefoil.Bin(18.5, 25)] == bins.counts[1]
            raises_key(lambda: m["lung"])
            raises_key(lambda: m["lung", "x"])


def raises_key(call):
    try:
        call()
    except KeyError:
        return
    raise AssertionError("no KeyError")


def arrow_says_what_lists_say():
    import ctypes
    import gc

    from trefoil import _arrow, _library

    def texts(a):
        ends = ctypes.cast(a.buffers[1], ctypes.POINTER(ctypes.c_int32))[:a.length + 1]
        all_of_them = ctypes.string_at(a.buffers[2], ends[-1])
        return [all_of_them[ends[k]:ends[k + 1]].decode() for k in range(a.length)]

    def column(schema, array, i):
        s, a = schema.children[i].contents, array.children[i].contents
        kinds = {b"l": ctypes.c_int64, b"g": ctypes.c_double, b"i": ctypes.c_int32, b"tdD": ctypes.c_int32, b"tss:": ctypes.c_int64}
        assert a.offset == 0 and a.n_buffers == (3 if s.format == b"u" else 2) and a.length == array.length
        data = texts(a) if s.format == b"u" else ctypes.cast(a.buffers[1], ctypes.POINTER(kinds[s.format]))[:a.length]
        valid = ctypes.cast(a.buffers[0], ctypes.POINTER(ctypes.c_uint8)) if a.buffers[0] else None
        known = [valid is None or valid[k // 8] >> k % 8 & 1 for k in range(a.length)]
        assert a.null_count == known.count(0)
        words = None
        if a.dictionary:
            d = a.dictionary.contents
            assert s.dictionary.contents.format == b"u" and d.n_buffers == 3
            words = texts(d)
        return s.name.decode(), s.format, [(words[x] if words else x) if here else None for x, here in zip(data, known)]

    def taken(table):
        capsules = table.__arrow_c_array__()
        schema, array = (ctypes.cast(_arrow._pointer(id(c), name), ctypes.POINTER(kind)).contents
                         for c, (name, kind) in zip(capsules, _arrow._KINDS.items()))
        assert schema.format == b"+s" and schema.n_children == array.n_children
        return {n: (f, v) for n, f, v in (column(schema, array, i) for i in range(array.n_children))}, capsules

    with trefoil.Model(tree) as model:
        said, capsules = taken(model.sample_arrow(500, seed=4))
        assert {n: v for n, (_, v) in said.items()} == model.sample(500, seed=4, frame=False)
        table = model.sample_arrow(5)
        table.__arrow_c_array__()
        try:
            table.__arrow_c_array__()
        except ValueError as error:
            assert "handed on already" in str(error)
        else:
            raise AssertionError("handed on twice")
        sql = "SELECT sex, AVG(age), MODE(ward) FROM t GROUP BY sex"
        answer, more = taken(model.query_arrow(sql))
        lines = model.query(sql)
        assert list(answer) == ["sex", "AVG(age)", "AVG(age) low", "AVG(age) high", "MODE(ward)", "MODE(ward) low", "MODE(ward) high", "rows"]
        assert answer["sex"][1] == [line.group["sex"] for line in lines]
        assert answer["AVG(age) high"][1] == [line[0].high for line in lines]
        assert answer["MODE(ward)"] == (b"i", [line[1].value for line in lines])
        raises(trefoil.QuestionError, "2 questions", model.query_arrow, sql + ";" + sql)
    with trefoil.Model(folder + "/dates") as model:
        answer, ours = taken(model.query_arrow("SELECT title, COUNT(*) FROM t GROUP BY title"))
        assert answer["title"] == (b"u", ["Mr", None])
        said, last = taken(model.sample_arrow(300, seed=2))
        lists = model.sample(300, seed=2, frame=False)
        day = [None if d is None else (d - datetime.date(1970, 1, 1)).days for d in lists["born"]]
        second = [None if d is None else round((d - datetime.datetime(1970, 1, 1)).total_seconds()) for d in lists["seen"]]
        assert said["born"] == (b"tdD", day) and said["seen"] == (b"tss:", second)
    assert len(_arrow._made) == 8
    del capsules, more, last, ours, table
    gc.collect()
    assert not _arrow._made


def measurements_are_those_of_the_file():
    for path in (tree, copula):
        with open(path + "/measurements.json", encoding="utf-8") as file:
            said = json.load(file)
        with trefoil.Model(path) as model:
            m = model.measurements()
        assert (m.epsilon, m.delta, m.rho, m.rows_per_person, m.known) == (
            said["epsilon"], said["delta"], said["rho"], said["rows_per_person"], [])
        assert [(list(x.columns), x.counts, x.sigma, x.total) for x in m.measurements] == [
            (x["attributes"], x["values"], x["sigma"], x.get("total")) for x in said["measurements"]]


def errors_are_of_their_kind():
    raises(trefoil.FileError, "/nowhere", trefoil.Model, "/nowhere")
    raises(OSError, "/nowhere", trefoil.Model, "/nowhere")
    raises(trefoil.FormatError, "no model", trefoil.Model, folder + "/rows.csv")
    os.mkdir(folder + "/empty")
    shutil.copy(tree + "/model", folder + "/empty")
    open(folder + "/empty/measurements.json", "w").close()
    raises(trefoil.FormatError, "measurements.json is empty", trefoil.Model(folder + "/empty").measurements)
    model = trefoil.Model(copula)
    raises(trefoil.QuestionError, "^", model.query, "SELECT AVG(weight) FROM t")
    raises(ValueError, "character", model.query, "SELECT\0")
    raises(trefoil.QuestionError, "colour", model.marginal, "colour")
    raises(trefoil.QuestionError, 'did you mean "age"?', model.marginal, "sex", "aeg")
    raises(trefoil.RangeError, "one to 8", model.marginal)
    raises(trefoil.UsageError, "copula", model.sample, 5, sampling="rounded")
    raises(trefoil.UsageError, "sampling", model.sample, 5, sampling="any")
    raises(trefoil.UsageError, "1 or more", model.sample, 0)
    raises(trefoil.UsageError, "seed", model.sample, 5, seed=-1)
    raises(trefoil.UsageError, "0.9999", model.query, "SELECT COUNT(*) FROM t", 1)
    raises(trefoil.RangeError, "fewer", model.sample, 1 << 60)
    raises(trefoil.RangeError, "fewer", model.sample, 1 << 70)
    raises(trefoil.RangeError, "fewer", model.sample_arrow, 1 << 70)
    raises(trefoil.UsageError, "seed", model.sample_arrow, 5, seed=-1)
    raises(trefoil.UsageError, "seed", model.sample_arrow, 5, seed=1 << 64)
    raises(trefoil.UsageError, "or None", model.query, "SELECT COUNT(*) FROM t", 0.3)
    raises(trefoil.UsageError, "character", trefoil.Model, tree + "\0")
    raises(trefoil.QuestionError, "character", model.marginal, "age\0")
    for call, wrong in ((model.query, b"SELECT"), (model.marginal, ["age"]), (model.sample, 2.5), (model.sample, "5"),
                        (trefoil.Model, 3)):
        try:
            call(wrong)
        except TypeError:
            continue
        raise AssertionError(f"no TypeError of {wrong!r}")
    model.close()
    model.close()
    raises(trefoil.UsageError, "closed", model.query, "SELECT COUNT(*) FROM t")
    raises(trefoil.UsageError, "closed", model._arrow, None, None)  # also while another thread makes a table


def threads_may_share_a_model():
    found = []
    with trefoil.Model(tree) as model:
        def ask():
            found.append((model.query("SELECT AVG(bmi) FROM t WHERE age < 10").value,
                          tuple(model.sample(50, frame=False)["age"])))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(found) == 4 and len(set(found)) == 1


def structures_are_the_headers():
    from trefoil import _library
    kinds = [kind for kind in vars(_library).values()
             if isinstance(kind, type) and kind.__name__.startswith("trefoil_")]
    assert len(kinds) == 8
    lines = ['#include "library/trefoil.h"', "#include <stdio.h>", "int main(void) {"]
    expected = []
    for kind in kinds:
        lines.append(f'printf("{kind.__name__} %zu\\n", sizeof(struct {kind.__name__}));')
        expected.append(f"{kind.__name__} {_library.ctypes.sizeof(kind)}")
        for name, _ in kind._fields_:
            lines.append(f'printf("{name} %zu\\n", offsetof(struct {kind.__name__}, {name}));')
            expected.append(f"{name} {getattr(kind, name).offset}")
    with open(folder + "/layout.c", "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, "}"]))
    subprocess.run(["gcc", "-I" + root, folder + "/layout.c", "-o", folder + "/layout"], check=True)
    said = subprocess.run([folder + "/layout"], check=True, capture_output=True, text=True).stdout
    assert said.split("\n")[:-1] == expected, said
    with open(root + "/library/trefoil.h", encoding="utf-8") as file:
        constants = dict(re.findall(r"TREFOIL_([A-Z]+) = (\d+)", file.read()))
    for name in ("LABELS", "WHOLE", "BINS", "COPULA", "OK", "SYSTEM", "MEMORY", "FORMAT", "QUESTION", "RANGE", "USAGE"):
        assert getattr(_library, name) == int(constants[name]), name


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def a_classifier_says_what_predict_says():
    out = folder + "/predicted.csv"
    run("predict", folder + "/classifier", folder + "/rows.csv", "--out", out)
    rows, model = rows_of(out), trefoil.Classifier(folder + "/classifier")
    assert model.target == "sex" and model.classes == ["m", "f"] and len(model.coef[0]) == len(model.feature_names)
    assert model.predict(rows) == [row["predicted"] for row in rows]
    assert all(abs(score[0] - float(row["score"])) < 1e-5 for score, row in zip(model.scores(rows), rows))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    assert model.scores(columns) == model.scores(rows)
    right = sum(row["predicted"] == row["sex"] for row in rows)
    assert f"right about {right} of {len(rows)} rows" in run("predict", folder + "/classifier", folder + "/rows.csv",
                                                             "--check")
    raises(trefoil.UsageError, "no column age", model.predict, [{"ward": "lung"}])
    raises(trefoil.UsageError, "age cannot be 'x'", model.predict, [{"age": "x", "ward": "", "bmi": ""}])
    raises(trefoil.UsageError, "age cannot be 3.5", model.predict, [{"age": 3.5, "ward": "", "bmi": ""}])
    assert model.scores([{"age": "3.0", "ward": "", "bmi": ""}]) == model.scores([{"age": 3, "ward": "", "bmi": ""}])
    raises(trefoil.FileError, "cannot read", trefoil.Classifier, folder + "/nothing")
    raises(trefoil.FormatError, "not of the format", trefoil.Classifier, tree + "/measurements.json")


def a_classifier_reads_times_and_missing_numbers():
    def column(name, kind, edges, **more):
        return {"name": name, "kind": kind, "size": len(edges), "edges": edges, "missing": "999", **more}

    days = [f"2021-03-0{day}" for day in (1, 2, 2, 3, 4)]
    hours = ["2021-03-01 12:00", "2021-03-01 17:00", "2021-03-02 12:00"]
    columns = [column("day", "date", days, format=["%d.%m.%Y"]), column("hour", "date", hours), column("dose", "numeric", [0, 1, 1000])]
    size = sum(c["size"] for c in columns)
    with open(folder + "/times.json", "w", encoding="utf-8") as file:
        json.dump({"format": "trefoil-classifier-1", "target": "sex", "classes": ["m", "f"], "intercept": [0], "norm": 0,
                   "coef": [[10 ** (size - 1 - k) for k in range(size)]], "feature_names": ["x"] * size, "epsilon": 1,
                   "delta": 0, "columns": columns}, file)
    model = trefoil.Classifier(folder + "/times.json")

    def codes(day, hour, dose):
        text = str(model.scores([{"day": day, "hour": hour, "dose": dose}])[0][0]).zfill(size)
        return [text[:5].index("1"), text[5:8].index("1"), text[8:].index("1")]

    time = datetime.datetime
    assert codes("01.03.2021", "2021-03-01 17:00", "0.5") == [0, 1, 0]
    assert codes(time(2021, 3, 2, 9), time(2021, 3, 1, 16, 59), 1.5) == [1, 0, 1]  # the day is a bin of its own
    assert codes(datetime.date(2021, 3, 3), "2021-03-01T17:30", 999.0) == [3, 1, 2]
    assert codes("999", datetime.date(2021, 3, 1), "999.00") == [4, 0, 2]
    raises(trefoil.UsageError, "day cannot be 'x'", codes, "x", "2021-03-01", 0)


def a_classifier_keeps_whole_numbers_whole():
    least = 2 ** 60
    columns = [{"name": "n", "kind": "integer", "size": 4, "min": least, "max": least + 3, "missing": None}]
    with open(folder + "/whole.json", "w", encoding="utf-8") as file:
        json.dump({"format": "trefoil-classifier-1", "target": "sex", "classes": ["m", "f"], "intercept": [0], "norm": 0,
                   "coef": [[0, 1, 2, 3]], "feature_names": ["x"] * 4, "epsilon": 1, "delta": 0, "columns": columns}, file)
    model = trefoil.Classifier(folder + "/whole.json")
    numbers = [least + 1, str(least + 2), least + 9, "1e3", 39.0, float(least)]
    assert [row[0] for row in model.scores([{"n": n} for n in numbers])] == [1, 2, 3, 0, 0, 0]
    for bad in ("1.5", 0.5, float("inf")):
        raises(trefoil.UsageError, "n cannot be", model.scores, [{"n": bad}])


def the_lines_of_numpy_say_the_same():
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("# SKIP numpy is not installed")
        return
    with open(root + "/docs/formats.md", encoding="utf-8") as file:
        text = next(x for x in re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S) if "classifier.json" in x)
    model, names = trefoil.Classifier(folder + "/classifier"), {}
    rows = [[str(age), ward, bmi] for age in (0, 7, 19) for ward in ("surgery", "?") for bmi in ("18.5", "30")]
    names["rows"] = rows
    exec(compile(text.replace('"classifier.json"', repr(folder + "/classifier/classifier.json")), "formats.md", "exec"), names)
    expected = [dict(zip(("age", "ward", "bmi"), row)) for row in rows]
    assert names["classes"] == model.predict(expected)


def the_page_of_python_runs():
    with open(root + "/docs/python.md", encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
    assert len(blocks) >= 3
    with_pandas = have_pandas()
    names = {}
    for block in blocks:
        if "pandas" in block and not with_pandas:
            continue
        of = folder + "/classifier" if "Classifier" in block else tree
        exec(compile(block.replace('"result"', repr(of)), "docs/python.md", "exec"), names)


class Bytes:
    """Reads as docs/formats.md describes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values[0] if len(values) == 1 else values

    def block(self):
        n = self.take("I")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def attribute(self):
        name, kind, _, missing = self.block(), self.take("B"), self.take("B"), self.take("B")
        if missing:
            self.block()
        values = self.take("I")
        if kind & 127 == 0:
            for _ in range(values):
                self.block()
        else:
            self.take("2q" if kind & 127 == 1 else f"{values + 1}d")
        if kind & 128:
            self.take("dBBd")
            for _ in range(self.take("I")):
                self.block()
        return name, values + missing

    def clique(self):
        return [self.take("H") for _ in range(self.take("H"))]


def the_file_model_is_as_documented():
    with open(tree + "/model", "rb") as file:
        data = file.read()
    magic = b"trefoil-model-1\n"
    assert data.startswith(magic) and data[-32:] == hashlib.blake2b(data[:-32], digest_size=32).digest()
    r = Bytes(data[:-32])
    r.at = len(magic)
    attributes = [r.attribute() for _ in range(r.take("I"))]
    total = r.take("d")
    cliques = [r.clique() for _ in range(r.take("I"))]
    assert r.take("I") == 0  # no zeros
    theta = [r.take("d") for _ in range(r.take("Q"))]
    assert r.at == len(r.data)
    weights, sizes = {}, [size for _, size in attributes]
    for codes in itertools.product(*map(range, sizes)):
        exponent, offset = 0.0, 0
        for clique in cliques:
            cell = 0
            for a in clique:
                cell = cell * sizes[a] + codes[a]
            exponent += theta[offset + cell]
            offset += math.prod(sizes[a] for a in clique)
        weights[codes] = exponent
    top = max(weights.values())
    weights = {codes: math.exp(x - top) for codes, x in weights.items()}
    everything = sum(weights.values())
    with trefoil.Model(tree) as model:
        assert total == model.total and [name for name, _ in attributes] == [c.name for c in model.columns]
        counts = model.marginal(*(name for name, _ in attributes)).counts
    for theirs, weight in zip(counts, weights.values()):
        assert math.isclose(theirs, total * weight / everything, rel_tol=1e-8, abs_tol=1e-9)


def have_pandas():
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def frames_have_what_lists_have():
    with trefoil.Model(tree) as model:
        frame, lists = model.sample(200, seed=3), model.sample(200, seed=3, frame=False)
        assert list(frame.columns) == list(lists) and len(frame) == 200
        for name, values in lists.items():
            theirs = [None if v != v else v for v in frame[name].astype(object)]
            assert theirs == values, name
        assert str(frame["age"].dtype) == "int64" and str(frame["bmi"].dtype) == "float64"
        answer = model.query("SELECT AVG(age) FROM t GROUP BY sex")
        assert list(answer.frame().columns) == ["sex", "AVG(age)", "AVG(age) low", "AVG(age) high", "rows"]
        marginal = model.marginal("sex", "ward").frame()
        assert len(marginal) == 8 and math.isclose(marginal["count"].sum(), model.total)
    of_counts = trefoil.Marginal((trefoil.Column("count", "whole", (0, 1)),), [3.0, 4.0]).frame()
    assert list(of_counts.columns) == ["count", "count"] and of_counts.values.tolist() == [[0, 3], [1, 4]]


CHECKS = [
    answers_are_the_programs, one_answer_is_a_value, notebooks_show_tables, all_names_what_is_public, rows_are_those_of_synth, rows_have_what_is_computed,
    rows_on_condition_are_those_of_synth, as_many_rows_as_the_model_stands_for,
    marginals_answer_as_questions_do, measurements_are_those_of_the_file, errors_are_of_their_kind,
    threads_may_share_a_model, arrow_says_what_lists_say, structures_are_the_headers, the_file_model_is_as_documented,
    a_classifier_says_what_predict_says, a_classifier_reads_times_and_missing_numbers,
    a_classifier_keeps_whole_numbers_whole,
    the_lines_of_numpy_say_the_same, the_page_of_python_runs, frames_have_what_lists_have,
]
failed = 0
for number, check in enumerate(CHECKS, 1):
    words = check.__name__.replace("_", " ")
    if check is frames_have_what_lists_have and not have_pandas():
        print(f"# SKIP pandas is absent\nok {number} - {words} # SKIP pandas is absent")
        continue
    try:
        check()
        print(f"ok {number} - {words}")
    except Exception:
        import traceback
        print("".join("# " + line + "\n" for line in traceback.format_exc().split("\n")), end="")
        print(f"not ok {number} - {words}")
        failed = 1
print(f"1..{len(CHECKS)}")
sys.exit(failed)
