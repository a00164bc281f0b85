/* parties/study: every error of a study file with its place, and what to do. */
#include "tests/support/parse.h"

#include "base/nearest.h"
#include "parties/study/study_uploads.h"
#include "parties/study/yaml.h"

/* --- errors ----------------------------------------------------------------------------------- */

#define TEN "abcdefghij"
#define WORKLOAD                                                                                   \
    "workload:\n  - {attributes: [age, ward], weight: 2}\n  - {attributes: [bmi, dose]}\n"
#define BIGS "\n  - {attributes: [big]}\n  - {attributes: [huge]}"
#define PERSON "rounds: 4\nperson: {columns: [who]}\n"
#define IS_NUMBERS "    kind: numeric\n    edges: [0, 1.5, 3]"
#define IS_DATES "    kind: date\n    "
#define IS_YEAR IS_DATES "edges: [2021-01-01, 2022-01-01]"
#define EDGES "    edges: [0, 1.5, 3]"
#define BIG                                                                                        \
    "  - {name: big, kind: integer, min: 0, max: 65534}\n"                                         \
    "  - {name: huge, kind: integer, min: 0, max: 65534}\n"

/*
 * The message must begin with "error: t.yaml:<place>: " and contain the words. The place is where
 * the mark ^ is; the mark itself is not part of the text.
 */
struct mistake {
    const char *find, *replace, *words;
};

static const struct mistake mistakes[] = {
    /* top */
    {"study: test", "study: ^Test", "should be 1 to 31 of a-z"},
    {"study: test", "study: ^''", "should be 1 to 31"},
    {"study: test", "study:^", "has no value"},
    {"study: test", "study: ^[a]", "is a list; it should be a single value"},
    {"study: test", "study: ^abcdefghijklmnopqrstuvwxyz012345", "should be 1 to 31"},
    {"study: test", "study: test\n^study: test", "comes twice"},
    {"study: test", "study: test\n^budgett: 1", "did you mean \"budget\""},
    {"study: test", "study: test\n^xyzzy: 1", "its keys: study, columns_from, domain"},
    {"study: test", "study: test\n^[a, b]: 1", "a key is a list"},
    {"study: test\n", "study: test\n? ^[a]\n", "a key is a list"},
    {"study: test\n", "- a\n^", "check indentation"},
    /* domain */
    {"    min: 0", "    min: ^zero", "whole number"},
    {"    min: 0", "    min: ^00", "leading zeros"},
    {"    min: 0", "    min: ^'0'", "without quotes"},
    {"    min: 0", "    min: ^0.0", "whole number"},
    {"    min: 0", "    min: ^99999999999999999999", "should be from"},
    {"    max: 9", "    max: ^-1", "max is -1; it should be from 0"},
    {"    max: 9", "    max: 9\n    bins: ^11", "there are 10 whole numbers from 0 to 9"},
    {"    min: 0\n    max: 9", "    min: 0\n    max: ^0\n    bins: 3", "should exceed min, 0"},
    {"    min: 0\n    max: 9", "    edges: [0, ^1.5, 9]", "whole number"},
    {"    min: 0\n    max: 9", "    edges: [0, 9]\n    max: ^9", "takes no \"max\""},
    {"    max: 9", "    max: 9\n    step: ^2", "takes no \"step\""},
    {"    max: 9", "    max: 9\n    spikes: ^[2]", "takes no \"spikes\""},
    {"    max: 9", "    max: 9\n    tail: ^exponential", "takes no \"tail\""},
    {"    max: 9", "    max: 9\n    bins: 2\n    step: ^0.5", "whole number"},
    {"    max: 9", "    max: 9\n    bins: 2\n    step: ^0", "should be above 0"},
    {"    max: 9", "    max: 9\n    bins: 2\n    spikes: [^2.5]", "whole number"},
    {"    max: 9", "    max: 9\n    missing: ^[NA, \"5.0\"]", "both a value and the missing one"},
    {"    max: 9", "    max: 9\n    missing: ^[NA, \"\", NA]", "'NA' comes twice"},
    {"    max: 9", "    max: 9\n    missing: ^[\"\", NA, NA]\n    write: NA", "'NA' comes twice"},
    {"    max: 9", "    max: 9\n    missing: ^[]", "has 0 items"},
    {"    max: 9", "    max: 9\n    missing: [NA, ^[\"\"]]", "missing is a list"},
    {"    max: 9", "    max: 9\n    missing: ^[NA, \" x\"]", "has spaces around it"},
    {"    max: 9", "    max: 9\n    missing: NA\n    write: ^[NA]", "write is a list"},
    {"    max: 9", "    max: 9\n    write: ^NA", "add \"missing\" beside it"},
    {"values: [a, b, c]\n    missing: \"?\"", "values: [a, b, c]\n    missing: ^[\"?\", b]",
     "'b' is both a value and the missing one"},
    {"    values: [a, b, c]", "    values: [a, b, c]\n    step: ^1", "takes no \"step\""},
    {EDGES, EDGES "\n    step: ^0", "should be above 0"},
    {EDGES, EDGES "\n    from: ^2021-01-01", "may be missing where one of them is"},
    {"    max: 9", "    max: 9\n    unit: ^day", "takes no \"unit\""},
    {"values: [a, b, c]", "values: [a, b, c]\n    format: ^\"%Y\"", "takes no \"format\""},
    {IS_NUMBERS, IS_DATES "from: 2021-01-01\n    to: 2021-12-31\n    bins: ^monthly",
     "did you mean \"month\""},
    {IS_NUMBERS, IS_DATES "from: 2021-01-01\n    to: 2021-12-31\n    bins: ^hour",
     "\"unit: hour\" or a finer one"},
    {IS_NUMBERS, IS_DATES "from: 2021-01-01\n    to: ^2020-12-31\n    bins: day",
     "to is before from"},
    {IS_NUMBERS, IS_DATES "from: 2021-01-01\n    to: 2021-01-05\n    bins: ^6",
     "there are 5 whole numbers from 2021-01-01 to 2021-01-05"},
    {IS_NUMBERS, IS_DATES "from: ^2021-02-29\n    to: 2021-12-31\n    bins: day",
     "from is \"2021-02-29\"; write a date such as 2021-03-04"},
    {IS_NUMBERS, IS_DATES "from: ^2021-02-20 12:00\n    to: 2021-12-31\n    bins: day",
     "without a time, or give a finer \"unit\""},
    {IS_NUMBERS, IS_DATES "from: 0001-01-01\n    to: 9999-12-31\n    bins: ^day",
     "more than 65535 of these bins"},
    {IS_NUMBERS, IS_DATES "edges: [2021-01-01, ^2021-01-01, 2022-01-01]",
     "the edge 2021-01-01 does not exceed the one before, 2021-01-01"},
    {IS_NUMBERS, IS_YEAR "\n    bins: ^2", "takes no \"bins\""},
    {IS_NUMBERS, IS_YEAR "\n    missing: ^[NA, 2021-05-06]", "2021-05-06 is missing, and amid"},
    {IS_NUMBERS, IS_YEAR "\n    step: ^7", "takes no \"step\""},
    {IS_NUMBERS, IS_YEAR "\n    spikes: [^2020-12-31]",
     "the spike 2020-12-31 is not within 2021-01-01 to 2022-01-01"},
    {IS_NUMBERS, IS_YEAR "\n    unit: ^week", "day, hour, minute"},
    {IS_NUMBERS, IS_YEAR "\n    format: ^\"%d.%m\"", "needs the year %Y"},
    {IS_NUMBERS, IS_YEAR "\n    format: [\"%d/%m/%Y\", ^\"%m/%d/%Y\"]",
     "'04/03/2021' would be 4 March 2021 in the format '%d/%m/%Y', but 3 April 2021"},
    {EDGES, EDGES "\n    step: ^one", "should be a number"},
    {EDGES, EDGES "\n    step: ^1e-13", "12 digits after"},
    {EDGES, "    edges: [0, 1.25, 1.75, 3]\n    step: ^1",
     "from 1.25 to 1.75 holds no multiple of the step 1"},
    {EDGES, EDGES "\n    spikes: ^0", "should be a list"},
    {EDGES, EDGES "\n    spikes: ^[]", "has 0 items"},
    {EDGES, EDGES "\n    spikes: [1, ^1.0]", "1 comes twice"},
    {EDGES, EDGES "\n    spikes: [0, ^4]", "not within 0 to 3"},
    {EDGES, EDGES "\n    spikes: [^a]", "should be a number"},
    {EDGES, EDGES "\n    step: ^1\n    spikes: [0.5]", "from 0.5 to 0.5 holds no multiple"},
    {EDGES, EDGES "\n    tail: ^exponentiall", "did you mean \"exponential\""},
    {EDGES, EDGES "\n    tail: ^[]", "tail is a list"},
    {EDGES, EDGES "\n    tail: ^{}", "lacks the key \"typical\""},
    {EDGES, EDGES "\n    tail: {^mean: 2}", "typical"},
    {EDGES, EDGES "\n    tail: {typical: ^3}", "3 is not typical of the bin from 1.5 to 3"},
    {EDGES, "    edges: [0, 1, 3]\n    spikes: [3]\n    step: 1\n    tail: {typical: ^2.5}",
     "2.5 is not typical of the bin from 1 to 2"},
    {EDGES, "    edges: [0, 1, 2]\n    step: 1\n    tail: {typical: ^2}", "not typical"},
    {EDGES, "    edges: [0, 3]\n    step: 4\n    tail: ^exponential", "every bin holds one number"},
    {EDGES, EDGES "\n    missing: ^[\"\", \"1\"]\n    spikes: [1]",
     "both a value and the missing one"},
    {EDGES, "    edges: [0, 6]\n    missing: [\"\", \"2\"]\n    step: ^1",
     "2 is missing, and amid the numbers of the bin from 0 to 6; put an edge there"},
    {"    outside: clip", "    outside: ^clp", "did you mean \"clip\""},
    {"    outside: clip", "    outside: ^missing", "needs \"missing\" beside it"},
    {"    outside: clip", "    ^outsid: clip", "did you mean \"outside\""},
    {"    outside: clip", "    outside: ^somewhere-else", "it may be: error, clip, missing"},
    {"    missing: \"?\"", "    missing: ^{a: b}", "missing is a mapping"},
    {"    missing: \"?\"", "    missing: [\"?\", ^[a]]", "missing is a list"},
    {"name: ward", "name: ^age", "is an attribute age already"},
    {"name: ward", "name: ^\"\"", "1 to 127 bytes"},
    {"name: ward", "name: ^" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "12345678",
     "1 to 127 bytes"},
    {"name: ward", "name: ^[a]", "name is a list"},
    {"  - name: ward\n    kind: categorical", "  - ^ward\n  - name: ward\n    kind: categorical",
     "an attribute is a single value; it should be a mapping"},
    {"  - name: ward\n    kind: categorical", "  - ^kind: categorical", "lacks the key \"name\""},
    {"kind: categorical", "kind: ^categoric", "It may be: categorical, integer, numeric"},
    {"kind: categorical", "kind: ^categoricall", "did you mean \"categorical\""},
    {"values: [a, b, c]", "values: ^[]", "has 0 items; it needs at least 1"},
    {"values: [a, b, c]", "values: ^a", "values is a single value; it should be a list"},
    {"values: [a, b, c]", "values: {^fil: x}", "did you mean \"file\""},
    {"values: [a, b, c]", "values: {file: ^a/b}", "without a folder"},
    {"values: [a, b, c]", "values: {file: ^none.txt}", "no none.txt beside the study file"},
    {"study: test", "study: test\ncolumns_from: ^[a]", "columns_from is a list"},
    {"values: [a, b, c]", "values: ^[a, b, a]", "label 'a' is listed twice"},
    {"values: [a, b, c]", "values: [a, ^[b], c]", "a value is a list"},
    {"values: [a, b, c]", "values: ^[a, b, \"?\"]", "?"},
    {"values: [a, b, c]", "values: [a, b, ^\"c\\0d\"]", "control"},
    {"values: [a, b, c]", "values: [a, b, ^\"\\e[2J\"]",
     "a value holds a control character; take it out"},
    {"name: ward", "name: ^\"a\\nTerms b\"", "name holds a control character"},
    {"missing: \"?\"", "missing: ^\"\\u009b2J\"", "missing holds a control character"},
    {"study: test", "study: test\n^\"\\e]0;\": 1", "a key holds a control character"},
    {"    values: [a, b, c]", "    values: [a, b, c]\n    min: ^1", "takes no \"min\""},
    {"    values: [a, b, c]", "    values: [a, b, c]\n    outside: ^clip", "no order to clip"},
    {"edges: [0, 1.5, 3]", "edges: ^[0]", "at least 2"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, ^1.5]", "edges ascend"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, ^inf]", "should be a number"},
    {"edges: [0, 1.5, 3]", "edges: [0, ^0x1, 3]", "should be a number"},
    {"edges: [0, 1.5, 3]", "edges: [0, 1.5, ^1e999]", "should be from"},
    {EDGES, EDGES "\n    min: ^1", "takes no \"min\""},
    {EDGES, EDGES "\n    values: ^[a]", "takes no \"values\""},
    {EDGES, EDGES "\n    max: ^1", "takes no \"max\""},
    {EDGES, EDGES "\n    bins: ^1", "takes no \"bins\""},
    {"    min: 10\n", "    min: ^ten\n", "should be a number"},
    {"    max: 20", "    max: ^twenty", "should be a number"},
    {"    max: 20", "    max: ^10", "should exceed min"},
    {"    bins: 5", "    bins: ^0", "from 1 to 65534"},
    {"noise: box-muller", "noise: box-muller\n^ignored: 1", "no key \"ignored\""},
    /* workload */
    {"workload:", "impossible: ^{age: 1}\nworkload:", "should be a list"},
    {"workload:", "impossible:\n  - ^{}\nworkload:", "names no column"},
    {"workload:", "impossible:\n  - {^agee: 1}\nworkload:", "did you mean \"age\""},
    {"workload:", "impossible:\n  - {age: ^10, ward: a}\nworkload:", "no value \"10\""},
    {"workload:", "impossible:\n  - {age: 1, ward: ^d}\nworkload:", "no value \"d\""},
    {"workload:", "impossible:\n  - {age: ^{from: 1}}\nworkload:", "lacks the key \"to\""},
    {"workload:", "impossible:\n  - {age: {from: 5, to: ^4}}\nworkload:", "from 5 to 9"},
    {"workload:", "impossible:\n  - {ward: ^{from: a, to: b}}\nworkload:", "list them"},
    {"workload:", "impossible:\n  - {bmi: ^1}\nworkload:", "{from: 0, to: 1.5}"},
    {"workload:", "impossible:\n  - {bmi: {from: 0, to: ^1}}\nworkload:", "not an edge"},
    {"workload:", "impossible:\n  - {bmi: {from: 3, to: ^0}}\nworkload:", "ends where"},
    {"workload:", "impossible:\n  - ^age\nworkload:", "a combination is a single value"},
    {"workload:", "impossible:\n  - {age: ^[]}\nworkload:", "has 0 items"},
    {"workload:", "impossible:\n  - {age: [1, ^10]}\nworkload:", "no value \"10\""},
    {"workload:", "impossible:\n  - {age: [^[1]]}\nworkload:", "age is a list"},
    {"workload:", "impossible:\n  - {age: {from: ^x, to: 4}}\nworkload:", "whole number"},
    {"workload:", "impossible:\n  - {bmi: {from: ^x, to: 3}}\nworkload:", "a number"},
    {"workload:",
     BIG "impossible:\n  - ^{big: {from: 0, to: 59999}, ward: [a, b, c], dose: {from: 10, "
         "to: 20}, bmi: {from: 0, to: 3}}\nworkload:" BIGS,
     "more than 1000000 cells"},
    {"workload:", BIG "impossible:\n  - ^{big: 1, huge: 1, ward: a}\nworkload:" BIGS,
     "these columns have more than 4294967295 cells together"},
    {WORKLOAD, "workload: ^{random: 2}\n", "{random: 3, count: 64, seed: 1}"},
    {WORKLOAD, "workload: ^{random: 2, count: 2}\n", "needs a count and a seed"},
    {WORKLOAD, "workload: {random: ^9, count: 2, seed: 1}\n", "from 1 to 4"},
    {WORKLOAD, "workload: {random: 2, count: ^0, seed: 1}\n", "from 1 to 100000"},
    {WORKLOAD, "workload: {random: 2, count: 2, seed: ^-1}\n", "from 0 to"},
    {WORKLOAD, "workload: ^{random: 2, count: 7, seed: 1}\n", "1 to 6 are possible"},
    {WORKLOAD, "workload: ^{all: 2, random: 2}\n", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: ^{all: 2, seed: 1}\n", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: ^{all: 2, count: 1}\n", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: ^{}\n", "should be {all: k}, {random: k"},
    {WORKLOAD, "workload: ^5\n", "workload is a single value; it should be a list"},
    {WORKLOAD, "workload: {^al: 2}\n", "did you mean \"all\"?"},
    {WORKLOAD, "workload: {all: ^9}\n", "from 1 to 4"},
    {"workload:\n", "workload: {all: 2}\n^modell:\n", "did you mean \"model\""},
    {"attributes: [age, ward]", "attributes: [age, ^wrad]", "did you mean \"ward\""},
    {"attributes: [age, ward]", "attributes: [age, ^elephant]",
     "no attribute \"elephant\"; name one"},
    {"attributes: [age, ward]", "attributes: [age, ^age]", "comes twice"},
    {"attributes: [age, ward]", "attributes: ^[]", "at least 1 and at most 8"},
    {"attributes: [age, ward]", "attributes: ^age", "should be a list"},
    {"attributes: [age, ward]", "attributes: [age, ^[ward]]", "an attribute is a list"},
    {"attributes: [age, ward]", "attributes: ^[age, age, age, age, age, age, age, age, age]",
     "has 9 items; it needs at least 1 and at most 8"},
    {"weight: 2", "weight: ^0", "from 1e-06 to 1e+06"},
    {"weight: 2", "weight: ^nan", "should be a number"},
    {"weight: 2", "^wieght: 2", "did you mean \"weight\""},
    /* budget */
    {"epsilon: 1", "epsilon: ^0", "epsilon is 0; it should be from 0.0001 to 100"},
    {"epsilon: 1", "epsilon: ^one", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: 1\n  enforce_person: ^true", "add person: {columns: [..]}"},
    {"epsilon: 1", "epsilon: 1\n  enforce_person: ^yes", "enforce_person is \"yes\""},
    {"rounds: 4", "rounds: ^sweeps 9", "or a number of them"},
    {"rounds: 4", "rounds: ^sweeps3", "write rounds: sweeps"},
    {"rounds: 4", "score: l2\nrounds: ^sweeps 2", "needs score: l1"},
    {"rounds: 4", "rounds: 4\nscore: l2\nassess: ^0.1", "assess opens distances"},
    {"rounds: 4", "rounds: 4\nassess: ^0.6", "from 0.001 to 0.5"},
    {"rounds: 4", "method: copula\nassess: ^0.1", "for method: aim alone"},
    {"rounds: 4", "rounds: 4\nperson: ^{columns: [who]}", "or enforce_person: true to the budget"},
    {"rounds: 4", "rounds: 4\nperson: {columns: ^[]}", "has 0 items"},
    {"rounds: 4", "rounds: 4\nperson: ^{normalise: [nfc]}", "lacks the key \"columns\""},
    {"rounds: 4", "rounds: 4\nperson: {columns: [who, ^who]}", "who comes twice"},
    {"rounds: 4", "rounds: 4\nperson: {columns: [^\"a,b\"]}", "without commas"},
    {"rounds: 4", "rounds: 4\nperson: {columns: [^\" a\"]}", "without spaces around it"},
    {"rounds: 4", "rounds: 4\nperson: {columns: [a], normalise: [^nfd]}", "did you mean \"nfc\""},
    {"rounds: 4", "rounds: 4\nperson: {columns: [a], normalise: [case, ^case]}", "comes twice"},
    /* link */
    {"rounds: 4", "rounds: 4\nlink: ^true", "add person: {columns: [..]}"},
    {"rounds: 4", "rounds: 4\nlink: ^yes", "link is \"yes\""},
    {"rounds: 4", "rounds: 4\nlink: {^kep: o0}", "did you mean \"keep\""},
    {"rounds: 4", "rounds: 4\nlink: {min_linked: ^0}", "from 1 to"},
    {"rounds: 4", "rounds: 4\nlink: {look: ^0.1}", "where min_linked is given"},
    {"rounds: 4", "rounds: 4\nlink: {min_linked: 9, look: ^0.6}", "from 0.0001 to 0.5"},
    {"rounds: 4", PERSON "link: true\nlate_uploads: ^join", "joined once, before the run"},
    {"rounds: 4", PERSON "link: ^true", "nobody is to be linked"},
    {"rounds: 4", "rounds: 4\nlink: false\nperson: ^{columns: [who]}", "add link for the"},
    /* open_owners */
    {"rounds: 4", "rounds: 4\nopen_owners: ^{issuer: @7, max: 9}", "needs the key min_owners"},
    {"rounds: 4", "rounds: 4\nopen_owners: ^{issuer: @7}", "lacks the key \"max\""},
    {"deadlines:", "open_owners: {issuer: ^@5, max: 9}\ndeadlines:", "has the key of a0"},
    {"rounds: 4", "rounds: 4\nopen_owners: {max: ^0, issuer: @7}", "from 1 to 1000000"},
    {"rounds: 4", "rounds: 4\nopen_owners: {revoked: [^9], issuer: @7, max: 9}", "from 0 to 8"},
    {"rounds: 4", "rounds: 4\nmin_owners: ^12\nopen_owners: {issuer: @7, max: 9}", "from 1 to 11"},
    {"epsilon: 1", "epsilon: ^1e", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: ^.", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: ^-1", "should be from"},
    {"epsilon: 1", "epsilon: ^'1'", "such as 2, 0.5 or 1e-6"},
    {"epsilon: 1", "epsilon: ^[1]", "epsilon is a list"},
    {"noise: box-muller", "noise: ^{}", "noise is a mapping"},
    {"epsilon: 1", "epsilon: ^!!float 1", "tags"},
    {"epsilon: 1", "epsilon: ^&e 1", "anchors"},
    {"epsilon: 1", "epsilon: ^*e", "anchors"},
    {"delta: 1e-6", "delta: ^0", "should be from 1e-15 to 0.01"},
    {"delta: 1e-6", "delta: ^0.1", "should be from 1e-15 to 0.01"},
    {"rows_per_person: 2", "rows_per_person: ^0", "from 1 to 10000"},
    {"rows_per_person: 2", "accounting: ^gaus", "it may be: zcdp, gaussian"},
    {"rows_per_person: 2", "^row_per_person: 2", "did you mean \"rows_per_person\""},
    {"noise: box-muller", "noise: ^boxmuller", "did you mean \"box-muller\""},
    {"noise: box-muller", "score: ^l3", "l1"},
    {"noise: box-muller", "security: ^abrt", "did you mean \"abort\""},
    {"noise: box-muller", "security: ^malicious", "it may be: semi-honest, abort"},
    {"rounds: 4", "rounds: ^0", "from 1 to 1000"},
    {"rounds: 4", "rounds: ^1001", "from 1 to 1000"},
    {"rounds: 4", "rounds: ^[4]", "rounds is a list"},
    {"rounds: 4", "method: ^copla", "did you mean \"copula\""},
    {"rounds: 4", "method: copula\nrounds: ^4", "method: copula has no rounds"},
    {"rounds: 4", "method: copula\nimpossible: ^[{age: 1, ward: a}]", "what is impossible"},
    {"rounds: 4", "method: copula\nlate_uploads: ^join", "rows that come during a run"},
    {"rounds: 4", "method: copula\nscore: ^l2", "nothing has a score"},
    {"rounds: 4", "rounds: 4\ncopula: ^{}", "for method: copula alone"},
    {"rounds: 4", "method: copula\ncopula: ^2", "copula is a single value"},
    {"rounds: 4", "method: copula\ncopula: {clip: ^0.1}", "from 0.5 to 8"},
    {"rounds: 4", "method: copula\ncopula: {share: ^1}", "from 0.01 to 0.99"},
    {"rounds: 4", "method: copula\ncopula: {^shares: 0.5}", "did you mean \"share\""},
    /* servers */
    {"name: s0", "name: ^S0", "should be 1 to 31"},
    {"name: s0", "name: ^[s0]", "name is a list"},
    {"key: @0", "key: ^trefoil1-abc", "not a public key"},
    {"key: @0", "key: ^[@0]", "key is a list"},
    {"tcp://here:7110", "^here:7110", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://here", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://:7110", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://-here:7110", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://.here:7110", "tcp://host:port"},
    {"tcp://here:7100", "tcp://here:7100, ranks: ^here",
     "ranks is a single value; it should be a list"},
    {"tcp://here:7100", "tcp://here:7100, ranks: ^[]", "ranks has 0 items"},
    {"tcp://here:7100", "tcp://here:7100, ranks: [a, ^'b:7100']",
     "ranks has \"b:7100\"; it should be a host"},
    {"tcp://here:7110", "^\"tcp://[::1:7110\"", "tcp://host:port"},
    {"tcp://here:7110", "^\"tcp://[]:7110\"", "tcp://host:port"},
    {"tcp://here:7110", "^\"tcp://[here]:7110\"", "tcp://host:port"},
    {"tcp://here:7110", "^\"tcp://here:\"", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://here:071", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://here:711000", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://here:7110x", "tcp://host:port"},
    {"tcp://here:7110",
     "^tcp://" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
         TEN TEN TEN TEN "1234:7110",
     "tcp://host:port"},
    {"tcp://here:7110", "^[tcp]", "endpoint is a list"},
    {"tcp://here:7110", "^tcp://here:0", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://here:65532", "1 to 65531"},
    {"tcp://here:7110", "^tcp://he re:7110", "tcp://host:port"},
    {"tcp://here:7110", "^ipc://here:7110", "tcp://host:port"},
    {"tcp://here:7110", "^tcp://here:7104", "overlap those of server s0"},
    /* owners */
    {"max_rows: 500", "max_rows: ^0", "from 1 to 2147483647"},
    {"max_rows: 500", "max_rows: 500, min_rows: ^501", "from 0 to 500"},
    {"max_rows: 500", "max_rows: ^5e2", "whole number"},
    {"max_rows: 500", "max_rows: 500, expected_rows: ^501", "from 1 to 500"},
    {"max_rows: 500", "max_rows: ^[500]", "max_rows is a list"},
    {"name: o0", "name: ^[o0]", "name is a list"},
    {"key: @3", "key: ^trefoil1-abc", "not a public key"},
    {"max_rows: 500", "max_rows: 500, rows: ^400", "\"rows\" without \"batch\""},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age], rows: ^501", "1 to 500"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age], rows: ^0", "1 to 500"},
    {"max_rows: 500", "max_rows: 500, min_rows: 9, batch: x, columns: [age], rows: ^8", "9 to 500"},
    {"max_rows: 500", "max_rows: 500, batch: ^[x], columns: [age]", "batch is a list"},
    {"max_rows: 500", "max_rows: 500, batch: ^X, columns: [age]", "should be 1 to 31"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: ^[]", "at least 1"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [^agee]", "mean \"age\"?"},
    {"max_rows: 500", "max_rows: 500, batch: x, columns: [age, ^age]", "comes twice"},
    {"max_rows: 500", "max_rows: 500, batch: ^x, columns: [age, bmi]",
     "no owner of batch x holds the column ward"},
    {"rounds: 4", "rounds: 4\nmin_owners: ^0", "from 1 to 2"},
    {"rounds: 4", "rounds: 4\nmin_owners: ^3", "from 1 to 2"},
    {"rounds: 4", "rounds: 4\nlate_uploads: ^joint", "did you mean \"join\""},
    {"  - {name: o0, max_rows: 500, key: @3}\n  - {name: o1, max_rows: 300, key: @4}\n", "  ^[]\n",
     "has 0 items"},
    {"  - {name: a0, key: @5}\n", "  ^{}\n", "analysts is a mapping; it should be a list"},
    {"  - {name: a0, key: @5}\n", "  - ^a0\n", "an analyst is a single value"},
    {"  - {name: a0, key: @5}\n", "  - {name: ^A, key: @5}\n", "should be 1 to 31"},
    {"  - {name: a0, key: @5}\n", "  - {name: a0, key: ^x}\n", "not a public key"},
    {"max_rows: 500", "max_rows: 500, pad_to: ^499", "from 500 to"},
    {"max_rows: 500", "max_rows: 500, as: ^record", "did you mean"},
    /* the roster */
    {"rounds: 4", "rounds: 4\nroster: ^0", "from 1 to"},
    {"rounds: 4", "rounds: 4\nrevoked: ^@6", "revoked is a single value"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: ^[x]}", "a signature is a list"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: ^" SIGNATURE "AAAA}", "not a signature"},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: ^\"" SIGNATURE "!\"}", "not a signature"},
    {"rounds: 4", "rounds: 4\nrevoked: [^trefoil1-xyz]", "not a public key"},
    {"rounds: 4", "rounds: 4\nrevoked: ^[@1]", "the key of server s1 is revoked"},
    {"rounds: 4", "rounds: 4\nmin_owners: 1\nopen_owners: {issuer: @7, max: 9}\nrevoked: ^[@7]",
     "a key of the issuer of open_owners is revoked"},
    {"rounds: 4", "rounds: 4\nsignatures: {^s7: x}", "has no key \"s7\""},
    {"rounds: 4", "rounds: 4\nsignatures: {s1: ^trefoil-sig1-AA}", "not a signature"},
    /* deadlines, model */
    {"connect: 10", "connect: ^0", "from 1 to 3600"},
    {"deadlines:\n  connect: 10\n  round: 20\n", "deadlines: ^5\n", "deadlines is a single value"},
    {"model:\n  max_mib: 40\n  iterations: 50\n  final_iterations: 60\n", "model: ^5\n",
     "model is a single value"},
    {"round: 20", "round: 20\n  uploads: ^[1]", "uploads is a list"},
    {"round: 20", "round: ^86401", "from 1 to 86400"},
    {"round: 20", "round: 20\n  uploads: ^2030-02-30T00:00:00Z", "2026-12-01T18:00:00Z"},
    {"round: 20", "round: 20\n  uploads: ^2030-02-03", "a time in UTC"},
    {"rounds: 4", "rounds: 4\nretain_days: ^0", "from 1 to 3650"},
    {"max_mib: 40", "max_mib: ^40.5", "whole number"},
    {"iterations: 50", "iterations: ^true", "whole number"},
    {"iterations: 50", "apart: [age, ^height]", "no attribute \"height\""},
    {"final_iterations: 60", "final_iterations: 60\n^---\na: 1", "second document"},
    {"final_iterations: 60", "final_iterations: [[[[[[[[[[[[[[^[[[[1]]]]]]]]]]]]]]]]]]",
     "nested too deeply"},
    {"final_iterations: 60", "final_iterations: 60\n^\tx: 1", "check indentation"},
    {"final_iterations: 60", "final_iterations: 60\n  ^\xff: 1", "UTF-8"},
    {"final_iterations: 60", "final_iterations: 60\n  \xc3\xa9^\xff: 1", "UTF-8"},
};

/* For these the place is elsewhere than the edit: where `at` begins. */
static const struct {
    struct mistake mistake;
    const char *at;
} elsewhere[] = {
    {{"study: test\n", "", "lacks the key \"study\""}, "domain:"},
    {{"study: test", "study: \"test", "that began on line 1"}, "?\""},
    {{"    min: 0\n", "", "integer attribute age lacks the key \"min\""}, "name: age"},
    {{"    max: 9\n", "", "integer attribute age lacks the key \"max\""}, "name: age"},
    {{"    max: 9", "    max: 70000", "1 to 65535 are allowed"}, "name: age"},
    {{"    kind: categorical\n", "", "lacks the key \"kind\""}, "name: ward"},
    {{"    values: [a, b, c]\n", "", "categorical attribute ward lacks the key \"values\""},
     "name: ward"},
    {{"    edges: [0, 1.5, 3]\n", "", "needs \"edges\", or \"min\", \"max\" and \"bins\""},
     "name: bmi"},
    {{"    min: 10\n", "", "numeric attribute dose lacks the key \"min\""}, "name: dose"},
    {{"    max: 20\n    bins: 5\n", "", "lacks the key \"max\""}, "name: dose"},
    {{"    bins: 5\n", "", "numeric attribute dose lacks the key \"bins\""}, "name: dose"},
    {{"    min: 10\n    max: 20\n", "", "lacks the key \"min\""}, "name: dose"},
    {{"    max: 20\n", "", "numeric attribute dose lacks the key \"max\""}, "name: dose"},
    {{"attributes: [age, ward]", "attributes: [age]", "ward"}, "- {attributes:"},
    {{"attributes: [age, ward], ", "", "lacks the key \"attributes\""}, "{weight:"},
    {{"  - {attributes: [bmi, dose]}",
      "  - {attributes: [bmi, dose]}\n  - {attributes: [dose, bmi]}", "twice"},
     "- {attributes:"},
    {{"  epsilon: 1\n", "", "lacks the key \"epsilon\""}, "delta:"},
    {{"  - {name: s0, endpoint: tcp://here:7100, key: @0}\n", "",
      "has 2 items; it needs exactly 3"},
     "- {name:"},
    {{"name: s0", "name: s1", "the name s1 is taken (line 30)"}, "s1, endpoint: tcp://here:7110"},
    {{"name: s0", "name: o1", "the name o1 is taken (line 30)"}, "o1, max_rows:"},
    {{"key: @0", "key: @1", "s1 has the key of s0 (line 30)"}, "@1}\n  - {name: s2"},
    {{"key: @0", "key: @5", "a0 has the key of s0 (line 30)"}, "@5}\ndeadlines:"},
    {{", key: @0", "", "lacks the key \"key\""}, "{name:"},
    {{"max_rows: 500", "max_rows: 2147483647", "need 32 bits; at most 31"}, "- {name: o0"},
    {{"max_rows: 500, ", "", "lacks the key \"max_rows\""}, "{name: o0"},
    {{"max_rows: 500", "max_rows: 500, batch: x", "\"batch\" without \"columns\""}, "{name: o0"},
    {{"max_rows: 500", "max_rows: 500, columns: [age]", "\"columns\" without \"batch\""},
     "{name: o0"},
    {{"max_rows: 500", "max_rows: 500, pad_to: 2147483647, as: records", "at most 31"},
     "- {name: o0"},
};

static bool message_is(const char *message, const char *place, const char *words)
{
    char begin[64];
    int n = snprintf(begin, sizeof begin, "error: t.yaml:%s: ", place);
    return strncmp(message, begin, (size_t)n) == 0 && strstr(message + n, words) != NULL;
}

/* Takes the mark out, or looks for `at`: line and column, counted from 1. */
static void take_place(struct bytes *text, const char *at, char place[32])
{
    char *mark = at != NULL ? strstr((char *)text->data, at) : strchr((char *)text->data, '^');
    unsigned line = 1, column = 1;
    assert_non_null(mark);
    for (const char *p = (const char *)text->data; p < mark; p++)
        if (*p == '\n') {
            line++;
            column = 1;
        } else
            column += ((unsigned char)*p & 0xc0) != 0x80;
    snprintf(place, 32, "%u:%u", line, column);
    if (at == NULL)
        memmove(mark, mark + 1, strlen(mark));
}

/* Whether a text is refused at its place, in one line with these words. */
static bool is_refused(struct parse_fixture *f, struct bytes *text, const char *at,
                       const char *words)
{
    char place[32];
    struct study *s CLEAN(study_free) = NULL;
    take_place(text, at, place);
    enum err e = parse_text(f, (const char *)text->data, &s);
    size_t line = strcspn(f->sink, "\n");
    if (e == ERR_STUDY && s == NULL && f->sink[line] == '\n' && f->sink[line + 1] == '\0' &&
        message_is(f->sink, place, words))
        return true;
    print_error("expected %s: ... %s\n  got %s\n", place, words, f->sink);
    return false;
}

/* `at` is NULL if the mark is in the replacement. */
static bool is_edit_refused(struct parse_fixture *f, const char *text, const struct mistake *m,
                            const char *at)
{
    struct bytes b CLEAN(bytes_clear) = edited(text, m->find, m->replace);
    bool refused = is_refused(f, &b, at, m->words);
    if (!refused)
        print_error("  for \"%s\" -> \"%s\"\n", m->find, m->replace);
    return refused;
}

TEST(every_mistake_has_its_place)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        wrong += !is_edit_refused(*state, base_text, &mistakes[i], NULL);
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        wrong += !is_edit_refused(*state, base_text, &elsewhere[i].mistake, elsewhere[i].at);
    assert_int_equal(wrong, 0);
}

/* Errors that no edit of the base text can cause. */
TEST(whole_files_have_their_errors)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"^", "the file is empty"},
        {"^# only a comment\n", "the file is empty"},
        {"^just text\n", "this is no study file"},
        {"^- a\n- b\n", "this is no study file"},
        {"^study: x\n", "lacks the key \"domain\""},
        {"study: x\ndomain: ^[] \nworkload: 0\nbudget: 0\nrounds: 1\nservers: 0\nowners: "
         "0\nanalysts: 0\n",
         "domain has 0 items"},
        {"study: x\ndomain: ^{} \nworkload: 0\nbudget: 0\nrounds: 1\nservers: 0\nowners: "
         "0\nanalysts: 0\n",
         "the domain has no attribute; add one"},
        {"a: [1, 2\n^", "that began on line 1"},
        {"^%YAML 3.0\n---\na: 1\n", "incompatible YAML document; check indentation"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b CLEAN(bytes_clear) = {0};
        struct study *s;
        char place[32];
        bytes_put(&b, cases[i].text, strlen(cases[i].text) + 1);
        take_place(&b, NULL, place);
        assert_int_equal(parse_text(*state, (const char *)b.data, &s), ERR_STUDY);
        assert_true(message_is(((struct parse_fixture *)*state)->sink, place, cases[i].words));
    }
}

/* A file's mistakes are all shown at once, each once, and nothing that only follows from them. */
TEST(all_mistakes_are_shown_at_once)
{
    static const struct mistake several[] = {
        {"    min: 0\n    max: 9", "    mn: 0\n    mx: 9", ""},
        {"kind: categorical", "kind: text", ""},
        {"epsilon: 1", "epsilon: 0", ""},
        {"delta: 1e-6", "delta: 1", ""},
        {"noise: box-muller", "noise: white", ""},
        {"rounds: 4", "rounds: 0", ""},
        {"tcp://here:7110", "here:7110", ""},
        {"max_rows: 500", "max_rows: 0", ""},
        {"max_rows: 300, key: @4", "key: @4", ""},
        {"name: a0", "name: A", ""},
        {"connect: 10", "connect: 0", ""},
        {"round: 20", "round: 0", ""},
        {"max_mib: 40", "max_mib: 0", ""},
    };
    static const char expected[][8] = {"5:5",   "6:5",   "9:11",  "27:8",  "24:12",
                                       "25:10", "28:9",  "31:26", "34:26", "35:5",
                                       "37:12", "39:12", "40:10", "42:12"};
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = edited(base_text, "study: test", "study: test");
    struct study *s;
    const char *line = f->sink;
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        struct bytes next = edited((const char *)b.data, several[i].find, several[i].replace);
        bytes_clear(&b);
        b = next;
    }
    assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(message_is(line, expected[i], ""));
        line += strcspn(line, "\n") + 1;
    }
    assert_string_equal(line, "");
}

TEST(too_many_mistakes_end_at_twenty)
{
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = {0};
    struct study *s;
    size_t lines = 0;
    bytes_put_text(&b, "study: x\ndomain:\n");
    for (int i = 0; i < 100; i++)
        bytes_put_text(&b, "  - {name: a, kind: b}\n");
    bytes_put(&b, "", 1);
    assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
    for (const char *p = f->sink; *p != '\0'; p++)
        lines += *p == '\n';
    assert_true(strstr(f->sink, "t.yaml: there may be more mistakes") != NULL);
    assert_int_equal(lines, 3 + 19 + 1); /* three keys lack, which count once */
}

/* Without keys a study can be explained and planned, and nothing else. */
TEST(a_draft_needs_no_keys)
{
    static const struct mistake lacking[] = {
        {", key: @0", ", key: REPLACE-WITH-KEY-OF-s0", ""},
        {", key: @1", ", key: KEY-OF-s0", ""},
        {", key: @2", "", ""},
        {"name: o1, max_rows: 300, key: @4", "max_rows: 300, expected_rows: 200", ""}};
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = edited(base_text, "study: test", "study: test"), text;
    struct study *s CLEAN(study_free);
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        struct bytes next = edited((const char *)b.data, lacking[i].find, lacking[i].replace);
        bytes_clear(&b);
        b = next;
    }
    assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
    text = with_keys(f, (const char *)b.data);
    OK(study_parse_draft(&s, "t.yaml", text.data, text.size, &f->log));
    bytes_clear(&text);
    assert_int_equal(s->keyless, 4);
    assert_string_equal(s->owner[1].name, "owner-2");
    assert_true(public_identity_is_none(&s->owner[1].key));
    assert_false(public_identity_is_none(&s->owner[0].key));
    assert_string_equal(public_identity_fingerprint(&s->server[2].key).text, "not yet");
    assert_int_equal(study_rows(s, false), 800);
    assert_int_equal(study_rows(s, true), 700);
}

TEST(the_mapping_form_of_a_domain_has_its_errors)
{
    static const struct mistake cases[] = {
        {"max: 4}", "max: 4}\n  ^age: {}", "comes twice"},
        {"max: 4}", "max: 4, name: ^b}", "has its name already"},
        {"max: 4}", "max: 4, ^kind: numeric}", "comes twice"},
        {"age: {kind: integer, min: 0, max: 4}", "age: ^4", "an attribute is a single value"},
        {"age: {kind: integer, min: 0, max: 4}", "^[a]: 4", "a key is a list"},
        {"age: {kind: integer, min: 0, max: 4}", "age: ^{kind: integer, min: 0}",
         "lacks the key \"max\""},
    };
    static const char text[] = "study: x\ndomain:\n  age: {kind: integer, min: 0, max: 4}\n"
                               "workload: {all: 1}\nbudget: {epsilon: 1, delta: 1e-6}\nrounds: 1\n"
                               "servers:\n"
                               "  - {name: s0, endpoint: tcp://a:7100, key: @0}\n"
                               "  - {name: s1, endpoint: tcp://b:7100, key: @1}\n"
                               "  - {name: s2, endpoint: tcp://c:7100, key: @2}\n"
                               "owners: [{name: o0, max_rows: 500, key: @3}]\n"
                               "analysts: [{name: a0, key: @5}]\n";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_true(is_edit_refused(*state, text, &cases[i], NULL));
}

TEST(all_of_too_many_attributes_is_refused_before_it_is_built)
{
    struct parse_fixture *f = *state;
    struct bytes b CLEAN(bytes_clear) = {0};
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
}

/* A study of all triples of so many columns, with nothing wrong before its budget. */
static void triples(struct bytes *b, const char *security, int columns)
{
    char line[128];
    int n = snprintf(line, sizeof line, "study: x\nsecurity: %s\nworkload: {all: 3}\ndomain:\n",
                     security);
    bytes_put(b, line, (size_t)n);
    for (int i = 0; i < columns; i++) {
        n = snprintf(line, sizeof line, "  - {name: a%d, kind: integer, min: 0, max: 1}\n", i);
        bytes_put(b, line, (size_t)n);
    }
    n = snprintf(line, sizeof line, "budget: 0\nrounds: 1\nservers: 0\nowners: 0\nanalysts: 0\n");
    bytes_put(b, line, (size_t)n + 1);
}

TEST(more_marginals_than_a_selection_takes_are_refused)
{
    static const struct {
        const char *security;
        int columns; /* the least that are too many */
        const char *place, *words;
    } cases[] = {{"semi-honest", 74, "3:11",
                  "has 67599 marginals with the smaller ones they contain; with security: "
                  "semi-honest a round selects from at most 65536. List fewer"},
                 {"abort", 47, "3:11",
                  "has 17343 marginals with the smaller ones they contain; with security: abort a "
                  "round selects from at most 16384. List fewer"}};
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int more = 0; more < 2; more++) {
            struct bytes b CLEAN(bytes_clear) = {0};
            struct study *s;
            triples(&b, cases[i].security, cases[i].columns - 1 + more);
            assert_int_equal(parse_text(f, (const char *)b.data, &s), ERR_STUDY);
            assert_int_equal(message_is(f->sink, cases[i].place, cases[i].words), more);
        }
}

TEST(a_file_that_is_too_large_or_absent_is_refused)
{
    struct parse_fixture *f = *state;
    char path[] = "/tmp/trefoil-study-XXXXXX";
    int fd = mkstemp(path);
    struct study *s;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (5 << 20)), 0);
    close(fd);
    f->sink[0] = '\0';
    GIVES(study_load(&s, path, &f->log), ERR_RANGE, f->sink, path);
    f->sink[0] = '\0';
    assert_int_equal(study_parse(&s, path, "", YAML_FILE_MAX + 1, &f->log), ERR_STUDY);
    support_says(f->sink, "is larger than the 4194304 bytes allowed here");
    assert_int_equal(unlink(path), 0);
    f->sink[0] = '\0';
    GIVES(study_load(&s, path, &f->log), ERR_SYSTEM, f->sink, path);
    unlink(path);
    assert_int_equal(study_load(&s, path, &f->log), ERR_SYSTEM);
    assert_null(s);
}

/* Two owners of a batch: columns that neither or both have, and bounds that differ. */
TEST(a_batchs_owners_fit_together)
{
    static const char o0[] = "{name: o0, max_rows: 500, key: @3}";
    static const char o1[] = "{name: o1, max_rows: 300, key: @4}";
    static const struct {
        const char *first, *second, *at, *words;
    } cases[] = {
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", NULL, NULL},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 300, key: @4, batch: x, columns: [bmi, dose]}", "{name: o1",
         "max_rows 500 and 300, pad_to 500 and 300; make"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age]}",
         "{name: o1, max_rows: 500, batch: x, columns: ^[bmi, dose, age], key: @4}", NULL,
         "o0 and o1 both hold the column age of batch x"},
        {"{name: o0, max_rows: 500, batch: ^x, columns: [ward, age], key: @3}",
         "{name: o1, max_rows: 500, key: @4, batch: y, columns: [bmi, dose]}", NULL,
         "no owner of batch x holds the column bmi"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], as: counts}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", "{name: o0",
         "o0 holds some of the columns, and so cannot count marginals"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], rows: 400}",
         "{name: o1, max_rows: 500, batch: x, columns: [bmi, dose], rows: ^401, key: @4}", NULL,
         "have rows 400 and 401"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], rows: 400}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", "{name: o1",
         "have rows 400 and 0"},
        {"{name: o0, max_rows: 500, key: @3, batch: x, columns: [ward, age], pad_to: 501}",
         "{name: o1, max_rows: 500, key: @4, batch: x, columns: [bmi, dose]}", "{name: o1",
         "pad_to 501 and 500; make them equal"},
    };
    struct parse_fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes b CLEAN(bytes_clear) = edited(base_text, o0, cases[i].first);
        struct bytes c CLEAN(bytes_clear) = edited((const char *)b.data, o1, cases[i].second);
        if (cases[i].words != NULL) {
            assert_true(is_refused(f, &c, cases[i].at, cases[i].words));
            continue;
        }
        bool has[2] = {true, false};
        char got[256];
        struct study *s CLEAN(study_free) = MADE_LAST(study, parse_text, f, (const char *)c.data);
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
        assert_int_equal(s->count_bits, 9); /* for the batch once */
        assert_int_equal(study_taking_part(s, has), 0);
        assert_false(has[0]);
        has[0] = has[1] = true;
        assert_int_equal(study_taking_part(s, has), 2);
    }
}

TEST(columns_apart_need_marginals_that_servers_can_count)
{
    static const char five[] = "domain:\n  - {name: a, kind: integer, min: 0, max: 1}\n"
                               "  - {name: b, kind: integer, min: 0, max: 1}\n"
                               "  - {name: c, kind: integer, min: 0, max: 1}\n"
                               "  - {name: d, kind: integer, min: 0, max: 1}\n"
                               "  - {name: e, kind: integer, min: 0, max: 1}\n"
                               "workload: {all: 5}\n";
    struct parse_fixture *f = *state;
    struct bytes text CLEAN(bytes_clear) = {0};
    const char *budget = strstr(base_text, "budget:");
    bytes_put(&text, "study: test\n", 12);
    bytes_put(&text, five, strlen(five));
    bytes_put(&text, budget, strlen(budget) + 1);
    struct bytes b CLEAN(bytes_clear) = edited((const char *)text.data, "max_rows: 500",
                                               "max_rows: 500, batch: x, columns: [a, b]");
    struct bytes c CLEAN(bytes_clear) = edited((const char *)b.data, "max_rows: 300",
                                               "max_rows: 500, batch: x, columns: [c, d, e]");
    struct study *s = MADE_LAST(study, parse_text, f, (const char *)text.data);
    study_free(&s);
    assert_int_equal(parse_text(f, (const char *)c.data, &s), ERR_STUDY);
    support_says(f->sink, "in marginals of at most 4 columns");
}

TEST(a_mapping_has_its_bound)
{
    static const char text[] = "[true, {a: 1, b: 2}]";
    struct parse_fixture *f = *state;
    size_t count;
    f->sink[0] = '\0';
    struct yaml_file *file = MADE(yaml_file, yaml_parse, "t.yaml", text, strlen(text), &f->log);
    assert_int_equal(yaml_entries(file, yaml_item(file, yaml_root(file), 1), "x", 1, &count),
                     ERR_STUDY);
    assert_true(message_is(f->sink, "1:8", "has 2 entries; at most 1"));
    f->sink[0] = '\0';
    assert_int_equal(yaml_entries(file, yaml_item(file, yaml_root(file), 0), "x", 1, &count),
                     ERR_STUDY);
    assert_true(message_is(f->sink, "1:2", "should be a mapping"));
    assert_int_equal(
        yaml_mapping(file, yaml_item(file, yaml_root(file), 1), "x", NULL, YAML_KEYS_MAX + 1),
        ERR_MISUSE);
    yaml_close(&file);
    assert_null(file);
}

TEST(the_nearest_word_is_suggested)
{
    static const char *const words[] = {"domain", "rounds", "budget", "noise"};
    assert_int_equal(nearest("domian", words, 4), 0); /* a swap is one slip */
    assert_int_equal(nearest("round", words, 4), 1);
    assert_int_equal(nearest("bugdet", words, 4), 2);
    assert_int_equal(nearest("noize", words, 4), 3);
    assert_int_equal(nearest("x", words, 4), 4);
    assert_int_equal(nearest("", words, 4), 4);
    assert_int_equal(nearest("elephants", words, 4), 4);
    assert_int_equal(nearest("a-word-of-more-than-forty-characters-in-all-!", words, 4), 4);
}

MAIN(support_run_tests(setup, teardown))
