/* parties/study: every error of a study file with its place, and what to do. */
#include "tests/support_cmocka.h"
#include "tests/test_parties_study.h"

#include "aim/table/table.h"
#include "base/bytes.h"
#include "base/nearest.h"
#include "parties/study/study.h"
#include "parties/study/yaml.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- errors ----------------------------------------------------------------------------------- */

#define TEN "abcdefghij"
#define WORKLOAD                                                                                   \
    "workload:\n  - {attributes: [age, ward], weight: 2}\n  - {attributes: [bmi, dose]}\n"
#define BIG                                                                                        \
    "  - {name: big, kind: integer, min: 0, max: 65534}\n"                                         \
    "  - {name: huge, kind: integer, min: 0, max: 65534}\n"

/* The message must begin with "error: t.yaml:<place>: " and hold the words. */
struct mistake {
    const char *find, *replace, *place, *words;
};

static const struct mistake mistakes[] = {
    /* top */
    {"study: test", "study: Test", "1:8", "should be 1 to 31 of a-z"},
    {"study: test", "study: ''", "1:8", "should be 1 to 31"},
    {"study: test", "study:", "1:7", "has no value"},
    {"study: test", "study: [a]", "1:8", "is a list; it should be a single value"},
    {"study: test", "study: abcdefghijklmnopqrstuvwxyz012345", "1:8", "should be 1 to 31"},
    {"study: test\n", "", "1:1", "lacks the key \"study\""},
    {"study: test", "study: test\nstudy: test", "2:1", "comes twice"},
    {"study: test", "study: test\nbudgett: 1", "2:1", "did you mean \"budget\""},
    {"study: test", "study: test\nxyzzy: 1", "2:1", "its keys: study, domain, impossible"},
    {"study: test", "study: test\n[a, b]: 1", "2:1", "a key is a list"},
    {"study: test\n", "study: test\n? [a]\n", "2:3", "a key is a list"},
    {"study: test\n", "- a\n", "2:1", "check indentation"},
    /* yaml */
    {"study: test", "study: \"test", "11:15", "that began on line 1"},
    /* domain */
    {"    min: 0", "    min: zero", "5:10", "whole number"},
    {"    min: 0", "    min: 00", "5:10", "leading zeros"},
    {"    min: 0", "    min: '0'", "5:10", "without quotes"},
    {"    min: 0", "    min: 0.0", "5:10", "whole number"},
    {"    min: 0", "    min: 99999999999999999999", "5:10", "should be from"},
    {"    min: 0\n", "", "3:5", "integer attribute age lacks the key \"min\""},
    {"    max: 9\n", "", "3:5", "integer attribute age lacks the key \"max\""},
    {"    max: 9", "    max: -1", "6:10", "max is -1; it should be from 0"},
    {"    max: 9", "    max: 70000", "3:5", "1 to 65535 are allowed"},
    {"    max: 9", "    max: 9\n    bins: 3", "7:11", "takes no \"bins\""},
    {"    outside: clip", "    outside: clp", "7:14", "did you mean \"clip\""},
    {"    outside: clip", "    outside: missing", "7:14", "needs \"missing\" beside it"},
    {"    outside: clip", "    outsid: clip", "7:5", "did you mean \"outside\""},
    {"    outside: clip", "    outside: somewhere-else", "7:14", "it may be: error, clip, missing"},
    {"    missing: \"?\"", "    missing: [a]", "11:14", "missing is a list"},
    {"name: ward", "name: age", "8:11", "is an attribute age already"},
    {"name: ward", "name: \"\"", "8:11", "1 to 127 bytes"},
    {"name: ward", "name: " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "12345678", "8:11",
     "1 to 127 bytes"},
    {"name: ward", "name: [a]", "8:11", "name is a list"},
    {"  - name: ward\n    kind: categorical", "  - ward\n  - kind: categorical", "8:5",
     "an attribute is a single value; it should be a mapping"},
    {"  - name: ward\n    kind: categorical", "  - kind: categorical", "8:5",
     "lacks the key \"name\""},
    {"kind: categorical", "kind: categoric", "9:11", "It may be: categorical, integer, numeric"},
    {"kind: categorical", "kind: categoricall", "9:11", "did you mean \"categorical\""},
    {"    kind: categorical\n", "", "8:5", "lacks the key \"kind\""},
    {"values: [a, b, c]", "values: []", "10:13", "has 0 items; it needs at least 1"},
    {"values: [a, b, c]", "values: a", "10:13", "values is a single value; it should be a list"},
    {"values: [a, b, c]", "values: [a, b, a]", "10:13", "label 'a' is listed twice"},
    {"values: [a, b, c]", "values: [a, [b], c]", "10:17", "a value is a list"},
    {"values: [a, b, c]", "values: [a, b, \"?\"]", "10:13", "?"},
    {"values: [a, b, c]", "values: [a, b, \"c\\0d\"]", "10:20", "control"},
    {"values: [a, b, c]", "values: [a, b, \"\\e[2J\"]", "10:20",
     "a value holds a control character; take it out"},
    {"name: ward", "name: \"a\\nTerms b\"", "8:11", "name holds a control character"},
    {"missing: \"?\"", "missing: \"\\u009b2J\"", "11:14", "missing holds a control character"},
    {"study: test", "study: test\n\"\\e]0;\": 1", "2:1", "a key holds a control character"},
    {"    values: [a, b, c]\n", "", "8:5", "categorical attribute ward lacks the key \"values\""},
    {"    values: [a, b, c]", "    values: [a, b, c]\n    min: 1", "11:10", "takes no \"min\""},
    {"    values: [a, b, c]", "    values: [a, b, c]\n    outside: clip", "11:14",
     "no order to clip"},
    {"edges: [0, 1.5, 3]", "edges: [0]", "14:12", "at least 2"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 1.5]", "14:21", "edges ascend"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, inf]", "14:21", "should be a number"},
    {"edges: [0, 1.5, 3]", "edges: [0, 0x1, 3]", "14:16", "should be a number"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, 1e999]", "14:21", "should be from"},
    {"    edges: [0, 1.5, 3]\n", "", "12:5", "needs \"edges\", or \"min\", \"max\" and \"bins\""},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    min: 1", "15:10", "takes no \"min\""},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    values: [a]", "15:13",
     "takes no \"values\""},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    max: 1", "15:10", "takes no \"max\""},
    {"    edges: [0, 1.5, 3]", "    edges: [0, 1.5, 3]\n    bins: 1", "15:11", "takes no \"bins\""},
    {"    min: 10\n", "", "15:5", "numeric attribute dose lacks the key \"min\""},
    {"    min: 10\n", "    min: ten\n", "17:10", "should be a number"},
    {"    max: 20\n    bins: 5\n", "", "15:5", "lacks the key \"max\""},
    {"    bins: 5\n", "", "15:5", "numeric attribute dose lacks the key \"bins\""},
    {"    min: 10\n    max: 20\n", "", "15:5", "lacks the key \"min\""},
    {"    max: 20", "    max: twenty", "18:10", "should be a number"},
    {"    max: 20\n", "", "15:5", "numeric attribute dose lacks the key \"max\""},
    {"    max: 20", "    max: 10", "18:10", "should exceed min"},
    {"    bins: 5", "    bins: 0", "19:11", "from 1 to 65534"},
    {"domain:\n", "domain: []\nignored:\n", "3:1", "no key \"ignored\""},
    /* workload */
    {"workload:", "impossible: {age: 1}\nworkload:", "20:13", "should be a list"},
    {"workload:", "impossible:\n  - {}\nworkload:", "21:5", "names no column"},
    {"workload:", "impossible:\n  - {agee: 1}\nworkload:", "21:6", "did you mean \"age\""},
    {"workload:", "impossible:\n  - {age: 10, ward: a}\nworkload:", "21:11", "no value \"10\""},
    {"workload:", "impossible:\n  - {age: 1, ward: d}\nworkload:", "21:20", "no value \"d\""},
    {"workload:", "impossible:\n  - {age: {from: 1}}\nworkload:", "21:11", "lacks the key \"to\""},
    {"workload:", "impossible:\n  - {age: {from: 5, to: 4}}\nworkload:", "21:25", "from 5 to 9"},
    {"workload:", "impossible:\n  - {ward: {from: a, to: b}}\nworkload:", "21:12", "list them"},
    {"workload:", "impossible:\n  - {bmi: 1}\nworkload:", "21:11", "{from: 0, to: 1.5}"},
    {"workload:", "impossible:\n  - {bmi: {from: 0, to: 1}}\nworkload:", "21:25", "not an edge"},
    {"workload:", "impossible:\n  - {bmi: {from: 3, to: 0}}\nworkload:", "21:25", "ends where"},
    {"workload:", "impossible:\n  - age\nworkload:", "21:5", "a combination is a single value"},
    {"workload:", "impossible:\n  - {age: []}\nworkload:", "21:11", "has 0 items"},
    {"workload:", "impossible:\n  - {age: [1, 10]}\nworkload:", "21:15", "no value \"10\""},
    {"workload:", "impossible:\n  - {age: [[1]]}\nworkload:", "21:12", "age is a list"},
    {"workload:", "impossible:\n  - {age: {from: x, to: 4}}\nworkload:", "21:18", "whole number"},
    {"workload:", "impossible:\n  - {bmi: {from: x, to: 3}}\nworkload:", "21:18", "a number"},
    {"workload:",
     BIG "impossible:\n  - {big: {from: 0, to: 59999}, ward: [a, b, c], dose: {from: 10, "
         "to: 20}, bmi: {from: 0, to: 3}}\nworkload:",
     "23:5", "more than 1000000 cells"},
    {"workload:", BIG "impossible:\n  - {big: 1, huge: 1, ward: a}\nworkload:", "23:5",
     "these columns have more than 4294967295 cells together"},
    {WORKLOAD, "workload: {random: 2}\n", "20:11", "{random: 3, count: 64, seed: 1}"},
    {WORKLOAD, "workload: {random: 2, count: 2}\n", "20:11", "needs a count and a seed"},
    {WORKLOAD, "workload: {random: 9, count: 2, seed: 1}\n", "20:20", "from 1 to 4"},
    {WORKLOAD, "workload: {random: 2, count: 0, seed: 1}\n", "20:30", "from 1 to 100000"},
    {WORKLOAD, "workload: {random: 2, count: 2, seed: -1}\n", "20:39", "from 0 to"},
    {WORKLOAD, "workload: {random: 2, count: 7, seed: 1}\n", "20:11", "1 to 6 are possible"},
    {WORKLOAD, "workload: {all: 2, random: 2}\n", "20:11", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: {all: 2, seed: 1}\n", "20:11", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: {all: 2, count: 1}\n", "20:11", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: {}\n", "20:11", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: 5\n", "20:11", "workload is a single value; it should be a list"},
    {WORKLOAD, "workload: {al: 2}\n", "20:12", "did you mean \"all\"?"},
    {WORKLOAD, "workload: {all: 9}\n", "20:17", "from 1 to 4"},
    {"workload:\n", "workload: {all: 2}\nmodell:\n", "21:1", "did you mean \"model\""},
    {"attributes: [age, ward]", "attributes: [age, wrad]", "21:24", "did you mean \"ward\""},
    {"attributes: [age, ward]", "attributes: [age, elephant]", "21:24",
     "no attribute \"elephant\"; name one"},
    {"attributes: [age, ward]", "attributes: [age, age]", "21:24", "comes twice"},
    {"attributes: [age, ward]", "attributes: []", "21:18", "at least 1 and at most 8"},
    {"attributes: [age, ward]", "attributes: age", "21:18", "should be a list"},
    {"attributes: [age, ward]", "attributes: [age, [ward]]", "21:24", "an attribute is a list"},
    {"attributes: [age, ward]", "attributes: [age, age, age, age, age, age, age, age, age]",
     "21:18", "has 9 items; it needs at least 1 and at most 8"},
    {"attributes: [age, ward]", "attributes: [age]", "21:3", "ward"},
    {"attributes: [age, ward], ", "", "21:5", "lacks the key \"attributes\""},
    {"weight: 2", "weight: 0", "21:39", "from 1e-06 to 1e+06"},
    {"weight: 2", "weight: nan", "21:39", "should be a number"},
    {"weight: 2", "wieght: 2", "21:31", "did you mean \"weight\""},
    {"  - {attributes: [bmi, dose]}",
     "  - {attributes: [bmi, dose]}\n  - {attributes: [dose, bmi]}", "21:3", "twice"},
    /* budget */
    {"epsilon: 1", "epsilon: 0", "24:12", "epsilon is 0; it should be from 0.0001 to 100"},
    {"epsilon: 1", "epsilon: one", "24:12", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: 1e", "24:12", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: .", "24:12", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: -1", "24:12", "should be from"},
    {"epsilon: 1", "epsilon: '1'", "24:12", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: [1]", "24:12", "epsilon is a list"},
    {"noise: box-muller", "noise: {}", "27:8", "noise is a mapping"},
    {"epsilon: 1", "epsilon: !!float 1", "24:12", "tags"},
    {"epsilon: 1", "epsilon: &e 1", "24:12", "anchors"},
    {"epsilon: 1", "epsilon: *e", "24:12", "anchors"},
    {"  epsilon: 1\n", "", "24:3", "lacks the key \"epsilon\""},
    {"delta: 1e-6", "delta: 0", "25:10", "should be from 1e-15 to 0.01"},
    {"delta: 1e-6", "delta: 0.1", "25:10", "should be from 1e-15 to 0.01"},
    {"rows_per_person: 2", "rows_per_person: 0", "26:20", "from 1 to 10000"},
    {"rows_per_person: 2", "row_per_person: 2", "26:3", "did you mean \"rows_per_person\""},
    {"noise: box-muller", "noise: boxmuller", "27:8", "did you mean \"box-muller\""},
    {"noise: box-muller", "score: l3", "27:8", "l1"},
    {"rounds: 4", "rounds: 0", "28:9", "from 1 to 1000"},
    {"rounds: 4", "rounds: 1001", "28:9", "from 1 to 1000"},
    {"rounds: 4", "rounds: [4]", "28:9", "rounds is a list"},
    /* servers */
    {"  - {name: s0, endpoint: tcp://here:7100, key: @0}\n", "", "30:3",
     "has 2 items; it needs exactly 3"},
    {"name: s0", "name: s1", "31:12", "the name s1 is taken (line 30)"},
    {"name: s0", "name: o1", "35:12", "the name o1 is taken (line 30)"},
    {"name: s0", "name: S0", "30:12", "should be 1 to 31"},
    {"name: s0", "name: [s0]", "30:12", "name is a list"},
    {"key: @0", "key: trefoil1-abc", "30:48", "not a public key"},
    {"key: @0", "key: [@0]", "30:48", "key is a list"},
    {"key: @0", "key: @1", "31:48", "s1 has the key of s0 (line 30)"},
    {"key: @0", "key: @5", "37:21", "a0 has the key of s0 (line 30)"},
    {", key: @0", "", "30:5", "lacks the key \"key\""},
    {"tcp://here:7110", "here:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://-here:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://.here:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "\"tcp://[::1:7110\"", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "\"tcp://[]:7110\"", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "\"tcp://[here]:7110\"", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "\"tcp://here:\"", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:071", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:711000", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:7110x", "31:26", "tcp://host:port"},
    {"tcp://here:7110",
     "tcp://" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
         TEN TEN TEN TEN "1234:7110",
     "31:26", "tcp://host:port"},
    {"tcp://here:7110", "[tcp]", "31:26", "endpoint is a list"},
    {"tcp://here:7110", "tcp://here:0", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:65532", "31:26", "1 to 65531"},
    {"tcp://here:7110", "tcp://he re:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "ipc://here:7110", "31:26", "tcp://host:port"},
    {"tcp://here:7110", "tcp://here:7104", "31:26", "overlap those of server s0"},
    /* owners */
    {"max_rows: 500", "max_rows: 0", "34:26", "from 1 to 2147483647"},
    {"max_rows: 500", "max_rows: 500, min_rows: 501", "34:41", "from 0 to 500"},
    {"max_rows: 500", "max_rows: 5e2", "34:26", "whole number"},
    {"max_rows: 500", "max_rows: [500]", "34:26", "max_rows is a list"},
    {"max_rows: 500", "max_rows: 2147483647", "34:3", "need 32 bits; at most 31"},
    {"max_rows: 500, ", "", "34:5", "lacks the key \"max_rows\""},
    {"name: o0", "name: [o0]", "34:12", "name is a list"},
    {"key: @3", "key: trefoil1-abc", "34:36", "not a public key"},
    {"max_rows: 500", "max_rows: 500, batch: [x], columns: [age]", "34:38", "batch is a list"},
    {"max_rows: 500", "max_rows: 500, batch: x", "34:5", "\"batch\" without \"columns\""},
    {"max_rows: 500", "max_rows: 500, columns: [age]", "34:5", "\"columns\" without \"batch\""},
    {"max_rows: 500", "max_rows: 500, batch: X, columns: [age]", "34:38", "should be 1 to 31"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: []", "34:50", "at least 1"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [agee]", "34:51", "mean \"age\"?"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, age]", "34:56", "comes twice"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, bmi]", "34:38",
     "no owner of batch x holds the column ward"},
    {"rounds: 4", "rounds: 4\nmin_owners: 0", "29:13", "from 1 to 2"},
    {"rounds: 4", "rounds: 4\nmin_owners: 3", "29:13", "from 1 to 2"},
    {"rounds: 4", "rounds: 4\nlate_uploads: joint", "29:15", "did you mean \"join\""},
    {"  - {name: o0, max_rows: 500, key: @3}\n  - {name: o1, max_rows: 300, key: @4}\n", "  []\n",
     "34:3", "has 0 items"},
    {"  - {name: a0, key: @5}\n", "  {}\n", "37:3", "analysts is a mapping; it should be a list"},
    {"  - {name: a0, key: @5}\n", "  - a0\n", "37:5", "an analyst is a single value"},
    {"  - {name: a0, key: @5}\n", "  - {name: A, key: @5}\n", "37:12", "should be 1 to 31"},
    {"  - {name: a0, key: @5}\n", "  - {name: a0, key: x}\n", "37:21", "not a public key"},
    {"max_rows: 500", "max_rows: 500, pad_to: 499", "34:39", "from 500 to"},
    {"max_rows: 500", "max_rows: 500, pad_to: 2147483647, as: records", "34:3", "at most 31"},
    {"max_rows: 500", "max_rows: 500, as: record", "34:35", "did you mean"},
    /* the roster */
    {"rounds: 4", "rounds: 4\nroster: 0", "29:9", "from 1 to"},
    {"rounds: 4", "rounds: 4\nrevoked: @6", "29:10", "revoked is a single value"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: [x]}", "29:18", "a signature is a list"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: " SIGNATURE "AAAA}", "29:18", "not a signature"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: \"" SIGNATURE "!\"}", "29:18", "not a signature"},
    {"rounds: 4", "rounds: 4\nrevoked: [trefoil1-xyz]", "29:11", "not a public key"},
    {"rounds: 4", "rounds: 4\nrevoked: [@1]", "29:10", "the key of server s1 is revoked"},
    {"rounds: 4", "rounds: 4\nsignatures: {s7: x}", "29:14", "has no key \"s7\""},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: trefoil-sig1-AA}", "29:18", "not a signature"},
    /* deadlines, model */
    {"connect: 10", "connect: 0", "39:12", "from 1 to 3600"},
    {"deadlines:\n  connect: 10\n  round: 20\n", "deadlines: 5\n", "38:12",
     "deadlines is a single value"},
    {"model:\n  max_mib: 40\n  iterations: 50\n  final_iterations: 60\n", "model: 5\n", "41:8",
     "model is a single value"},
    {"round: 20", "round: 20\n  uploads: [1]", "41:12", "uploads is a list"},
    {"round: 20", "round: 86401", "40:10", "from 1 to 86400"},
    {"round: 20", "round: 20\n  uploads: 2030-02-30T00:00:00Z", "41:12", "2026-12-01T18:00:00Z"},
    {"round: 20", "round: 20\n  uploads: 2030-02-03", "41:12", "a time in UTC"},
    {"rounds: 4", "rounds: 4\nretain_days: 0", "29:14", "from 1 to 3650"},
    {"max_mib: 40", "max_mib: 40.5", "42:12", "whole number"},
    {"iterations: 50", "iterations: true", "43:15", "whole number"},
    {"final_iterations: 60", "final_iterations: 60\n---\na: 1", "45:1", "second document"},
    {"final_iterations: 60", "final_iterations: [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "44:35",
     "nested too deeply"},
    {"final_iterations: 60", "final_iterations: 60\n\tx: 1", "45:1", "check indentation"},
    {"final_iterations: 60", "final_iterations: 60\n  \xff: 1", "45:3", "UTF-8"},
    {"final_iterations: 60", "final_iterations: 60\n  \xc3\xa9\xff: 1", "45:4", "UTF-8"},
};

static bool message_is(const char *message, const char *place, const char *words)
{
    char begin[64];
    int n = snprintf(begin, sizeof begin, "error: t.yaml:%s: ", place);
    return strncmp(message, begin, (size_t)n) == 0 && strstr(message + n, words) != NULL;
}

static void every_mistake_has_its_place(void **state)
{
    struct fixture *f = *state;
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const struct mistake *m = &mistakes[i];
        struct study *s;
        enum err e = parse_edit(f, m->find, m->replace, &s);
        /* one line, and only one */
        size_t line = strcspn(f->sink, "\n");
        if (e != ERR_STUDY || s != NULL || f->sink[line] != '\n' || f->sink[line + 1] != '\0' ||
            !message_is(f->sink, m->place, m->words)) {
            print_error("\"%s\" -> \"%s\"\n  expected %s: ... %s\n  got %s\n", m->find, m->replace,
                        m->place, m->words, f->sink);
            wrong++;
        }
        study_free(&s);
    }
    assert_int_equal(wrong, 0);
}

/* Positions and sizes of whole texts, of which edits of the base text do not tell. */
static void whole_files_have_their_errors(void **state)
{
    static const struct {
        const char *text, *place, *words;
    } cases[] = {
        {"", "1:1", "the file is empty"},
        {"# only a comment\n", "1:1", "the file is empty"},
        {"just text\n", "1:1", "this is no study file"},
        {"- a\n- b\n", "1:1", "this is no study file"},
        {"study: x\n", "1:1", "lacks the key \"domain\""},
        {"study: x\ndomain: [] \nworkload: 0\nbudget: 0\nrounds: 1\nservers: 0\nowners: "
         "0\nanalysts: 0\n",
         "2:9", "domain has 0 items"},
        {"study: x\ndomain: {} \nworkload: 0\nbudget: 0\nrounds: 1\nservers: 0\nowners: "
         "0\nanalysts: 0\n",
         "2:9", "the domain has no attribute; add one"},
        {"a: [1, 2\n", "2:1", "that began on line 1"},
        {"%YAML 3.0\n---\na: 1\n", "1:1", "incompatible YAML document; check indentation"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct study *s;
        assert_int_equal(parse_text(f, cases[i].text, &s), ERR_STUDY);
        if (!message_is(f->sink, cases[i].place, cases[i].words))
            fail_msg("expected %s: ... %s; got %s", cases[i].place, cases[i].words, f->sink);
    }
}

static void the_mapping_form_of_a_domain_has_its_errors(void **state)
{
    static const struct mistake cases[] = {
        {"max: 4}", "max: 4}\n  age: {}", "4:3", "comes twice"},
        {"max: 4}", "max: 4, name: b}", "3:46", "has its name already"},
        {"max: 4}", "max: 4, kind: numeric}", "3:40", "comes twice"},
        {"age: {kind: integer, min: 0, max: 4}", "age: 4", "3:8", "an attribute is a single value"},
        {"age: {kind: integer, min: 0, max: 4}", "[a]: 4", "3:3", "a key is a list"},
        {"age: {kind: integer, min: 0, max: 4}", "age: {kind: integer, min: 0}", "3:8",
         "lacks the key \"max\""},
    };
    static const char text[] =
        "study: x\ndomain:\n  age: {kind: integer, min: 0, max: 4}\n"
        "workload: {all: 1}\nbudget: {}\nrounds: 1\nservers: []\nowners: []\n"
        "analysts: []\n";
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b = edited(text, cases[i].find, cases[i].replace);
        struct study *s;
        assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
        if (!message_is(f->sink, cases[i].place, cases[i].words))
            fail_msg("expected %s: ... %s; got %s", cases[i].place, cases[i].words, f->sink);
        bytes_clear(&b);
    }
}

static void all_of_too_many_attributes_is_refused_before_it_is_built(void **state)
{
    struct fixture *f = *state;
    struct bytes b = {0};
    struct study *s;
    char line[96];
    bytes_put(&b, "study: x\nworkload: {all: 8}\ndomain:\n", 36);
    for (int i = 0; i < 256; i++) {
        int n = snprintf(line, sizeof line, "  - {name: a%d, kind: integer, min: 0, max: 1}\n", i);
        bytes_put(&b, line, (size_t)n);
    }
    snprintf(line, sizeof line, "budget: 0\nrounds: 1\nservers: 0\nowners: 0\nanalysts: 0\n");
    bytes_put(&b, line, strlen(line) + 1);
    assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
    assert_true(message_is(f->sink, "2:17", "more than 100000"));
    bytes_clear(&b);
}

static void a_file_that_is_too_large_or_absent_is_refused(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/trefoil-study-XXXXXX";
    int fd = mkstemp(path);
    struct study *s;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (5 << 20)), 0);
    close(fd);
    f->sink[0] = '\0';
    assert_int_equal(study_load(&s, path, &f->log), ERR_RANGE);
    assert_non_null(strstr(f->sink, path));
    f->sink[0] = '\0';
    assert_int_equal(study_parse(&s, path, "", YAML_FILE_MAX + 1, &f->log), ERR_STUDY);
    assert_non_null(strstr(f->sink, "is larger than the 4194304 bytes allowed here"));
    assert_int_equal(unlink(path), 0);
    f->sink[0] = '\0';
    assert_int_equal(study_load(&s, path, &f->log), ERR_SYSTEM);
    assert_non_null(strstr(f->sink, path));
    unlink(path);
    assert_int_equal(study_load(&s, path, &f->log), ERR_SYSTEM);
    assert_null(s);
}

/* Two owners of a batch: what each lacks or both have, and bounds that differ. */
static void a_batchs_owners_fit_together(void **state)
{
    static const char o0[] = "{name: o0, max_rows: 500, key: @3}";
    static const char o1[] = "{name: o1, max_rows: 300, key: @4}";
    static const struct {
        const char *first, *second, *place, *words;
    } cases[] = {
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", NULL, NULL},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 300, key: @4, batch: x, columns: [bmi, dose]}", "35:5",
         "max_rows 500 and 300, pad_to 500 and 300; make"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose, age]}",
         "35:", "o0 and o1 both hold the column age of batch x"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, key: @4, batch: y, columns: [bmi, dose]}", "34",
         "no owner of batch x holds the column bmi"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], as: counts}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", "34:5",
         "o0 holds some of the columns, and so cannot count marginals"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], pad_to: 501}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", "35:5",
         "pad_to 501 and 500; make them equal"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b = edited(base_text, o0, cases[i].first);
        struct bytes c = edited((const char *)b.data, o1, cases[i].second);
        struct study *s;
        enum err e = parse_text(f, (const char *)c.data, &s);
        assert_int_equal(e, cases[i].words == NULL ? ERR_OK : ERR_STUDY);
        if (e == ERR_OK) {
            bool has[2] = {true, false};
            char got[256];
            differing(f->base, s, got, sizeof got);
            assert_string_equal(got, "bounds");
            assert_int_equal(s->owner[1].batch, 0);
            assert_int_equal(s->owner[0].columns, 2);
            assert_int_equal(s->owner[0].column[0], 0); /* in the domain's order */
            assert_int_equal(s->owner[1].column[1], 3);
            assert_true(s->owner[0].records && s->owner[1].records);
            /* 500 records of a validity bit and two columns: 4 + 2 bits; 1 + 3 bits */
            assert_int_equal(study_upload_bytes(s, 0), (1 + 4 + 2) * 63);
            assert_int_equal(study_upload_bytes(s, 1), (1 + 1 + 3) * 63);
            assert_int_equal(s->count_bits, 9); /* of the batch once */
            assert_int_equal(study_taking_part(s, has), 0);
            assert_false(has[0]);
            has[0] = has[1] = true;
            assert_int_equal(study_taking_part(s, has), 2);
        } else {
            char begin[64];
            snprintf(begin, sizeof begin, "error: t.yaml:%s", cases[i].place);
            assert_int_equal(strncmp(f->sink, begin, strlen(begin)), 0);
            assert_non_null(strstr(f->sink, cases[i].words));
        }
        study_free(&s);
        bytes_clear(&c);
        bytes_clear(&b);
    }
}

static void columns_apart_need_marginals_that_servers_can_count(void **state)
{
    static const char five[] = "domain:\n  - {name: a, kind: integer, min: 0, max: 1}\n"
                               "  - {name: b, kind: integer, min: 0, max: 1}\n"
                               "  - {name: c, kind: integer, min: 0, max: 1}\n"
                               "  - {name: d, kind: integer, min: 0, max: 1}\n"
                               "  - {name: e, kind: integer, min: 0, max: 1}\n"
                               "workload: {all: 5}\n";
    struct fixture *f = *state;
    struct bytes text = {0};
    const char *budget = strstr(base_text, "budget:");
    struct bytes b, c;
    struct study *s;
    bytes_put(&text, "study: test\n", 12);
    bytes_put(&text, five, strlen(five));
    bytes_put(&text, budget, strlen(budget) + 1);
    b = edited((const char *)text.data, "max_rows: 500",
               "max_rows: 500, batch: x, columns: [a, b]");
    c = edited((const char *)b.data, "max_rows: 300",
               "max_rows: 500, batch: x, columns: [c, d, e]");
    assert_int_equal(parse_text(f, (const char *)text.data, &s), ERR_OK);
    study_free(&s);
    assert_int_equal(parse_text(f, (const char *)c.data, &s), ERR_STUDY);
    assert_non_null(strstr(f->sink, "in marginals of at most 4 columns"));
    bytes_clear(&text);
    bytes_clear(&b);
    bytes_clear(&c);
}

static void a_mapping_has_its_bound(void **state)
{
    static const char text[] = "[true, {a: 1, b: 2}]";
    struct fixture *f = *state;
    struct yaml_file *file;
    size_t count;
    f->sink[0] = '\0';
    assert_int_equal(yaml_parse(&file, "t.yaml", text, strlen(text), &f->log), ERR_OK);
    assert_int_equal(yaml_entries(file, yaml_item(file, yaml_root(file), 1), "x", 1, &count),
                     ERR_STUDY);
    assert_true(message_is(f->sink, "1:8", "has 2 entries; at most 1"));
    f->sink[0] = '\0';
    assert_int_equal(yaml_entries(file, yaml_item(file, yaml_root(file), 0), "x", 1, &count),
                     ERR_STUDY);
    assert_true(message_is(f->sink, "1:2", "should be a mapping"));
    assert_int_equal(
        yaml_mapping(file, yaml_item(file, yaml_root(file), 1), "x", NULL, YAML_KEYS_MAX + 1, NULL),
        ERR_MISUSE);
    yaml_close(&file);
    assert_null(file);
}

static void the_nearest_word_is_suggested(void **state)
{
    static const char *const words[] = {"domain", "rounds", "budget", "noise"};
    (void)state;
    assert_int_equal(nearest("domian", words, 4), 0); /* a swap is one slip */
    assert_int_equal(nearest("round", words, 4), 1);
    assert_int_equal(nearest("bugdet", words, 4), 2);
    assert_int_equal(nearest("noize", words, 4), 3);
    assert_int_equal(nearest("x", words, 4), 4);
    assert_int_equal(nearest("", words, 4), 4);
    assert_int_equal(nearest("elephants", words, 4), 4);
    assert_int_equal(nearest("a-word-of-more-than-forty-characters-in-all-!", words, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_has_its_place),
        cmocka_unit_test(a_batchs_owners_fit_together),
        cmocka_unit_test(columns_apart_need_marginals_that_servers_can_count),
        cmocka_unit_test(whole_files_have_their_errors),
        cmocka_unit_test(the_mapping_form_of_a_domain_has_its_errors),
        cmocka_unit_test(all_of_too_many_attributes_is_refused_before_it_is_built),
        cmocka_unit_test(a_file_that_is_too_large_or_absent_is_refused),
        cmocka_unit_test(a_mapping_has_its_bound),
        cmocka_unit_test(the_nearest_word_is_suggested),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
