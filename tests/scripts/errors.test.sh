#!/usr/bin/env bash
# Mistakes that people make, command by command: each is answered with the right exit code and with words that
# name the cause and the next step. Writes TAP.
set -u
. tests/scripts/support.sh
servers=()
finish() {
    for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null; done
    wait
    rm -rf "$folder"
}
trap finish EXIT
tree=$PWD
cd "$folder" || exit 1

# says CODE WORDS COMMAND...: the command ends so, and says the words; "-" for none.
says() {
    local code=$1 words=$2 status
    shift 2
    timeout "$(patience 30)" "$trefoil" "$@" >said 2>&1 </dev/null
    status=$?
    number=$((number + 1))
    if [ "$status" -eq "$code" ] && { [ "$words" = - ] || grep -qF -- "$words" said; }; then
        echo "ok $number - $code: trefoil $*"
    else
        echo "not ok $number - trefoil $*"
        echo "# exit code $status instead of $code, or not said: $words"
        sed 's/^/# /' said
        failed=1
    fi
}

# --- a study on free ports of this machine

names="north east west hospital-a hospital-b office"
for name in $names stranger; do "$trefoil" keygen $name.key >$name.public 2>/dev/null; done
"$trefoil" init study.yaml 2>/dev/null
sed -i '/^    max: 99/{n;d}' study.yaml # each age by itself
for name in $names; do
    sed -i "s|REPLACE-WITH-KEY-OF-$name\$|$(head -n 1 $name.public)|" study.yaml
done
sed -i -e "s|north.example.org:7100|127.0.0.1:$port|" -e "s|east.example.org:7100|127.0.0.1:$((port + 5))|" \
    -e "s|west.example.org:7100|127.0.0.1:$((port + 10))|" -e 's/^rounds: auto/rounds: 2/' \
    -e 's/rows_per_person: 1/rows_per_person: 2/' -e 's/^    missing: "?"$/&\n    outside: error/' -e 's/connect: 30/connect: 5/' -e 's/round: 120/round: 20/' study.yaml
sed 's/epsilon: 1$/epsilon: 2/' study.yaml >other.yaml
cmp -s study.yaml other.yaml && echo "not ok 0 - the other study is the same"
rows() { # how many
    awk -v n="$1" 'BEGIN {
        srand(n); split("heart lung injury infection other", d, " ")
        print "age,sex,bmi,stay_days,diagnosis"
        for (i = 0; i < n; i++)
            print int(90 * rand()) "," (rand() < 0.5 ? "female" : "male") "," 17 + 20 * rand() "," \
                int(30 * rand()) "," d[1 + int(5 * rand())] }'
}
rows 300 >a.csv && rows 200 >b.csv && rows 5000 >many.csv
mkdir folder

# --- 2: the command line

says 2 'did you mean trefoil check?' chek study.yaml
says 2 'usage: trefoil check STUDY' check
says 2 'usage: trefoil run STUDY' run study.yaml --key office.key
says 2 'did you mean --out?' run study.yaml --key office.key --outt x
says 2 'whole number from 1' run study.yaml --key office.key --out x --rows many
says 2 'should look like' keygen new.key --until yesterday
says 2 'a study takes 1 to 31 of' keygen new.key --name 'St. Mary'
says 2 'whole number from 1' run study.yaml --key office.key --out x --rounds 0
says 2 'run needs --key FILE and --out DIR' run study.yaml
says 2 'there is completion for bash and zsh' complete fish
says 2 'trefoil --help lists them' help nothing
says 2 'write PORT, ADDRESS:PORT' serve study.yaml --key north.key --folder s --status 99999
says 2 '--delimiter is one character or the word tab' share study.yaml a.csv --key hospital-a.key --delimiter tabs
says 2 '--decimal a point or a comma' aim study.yaml a.csv --out x --decimal ''
says 2 'and the two differ' aim study.yaml a.csv --out x --delimiter ';' --decimal ';'
says 2 '--decimal a point or a comma' aim study.yaml a.csv --out x --decimal x
says 2 'aim needs --out DIR' aim study.yaml a.csv
says 2 'synth needs --out FILE' synth result/model
says 2 'serve needs --key FILE and --folder DIR' serve study.yaml --key north.key
says 2 'recover needs --key FILE and --folder DIR' recover study.yaml
says 2 'share needs --key FILE' share study.yaml a.csv
says 2 'share needs the data' share study.yaml --key hospital-a.key
says 2 '--status and --withdraw are two commands' share study.yaml --key hospital-a.key --status --withdraw
says 2 '--status and --withdraw take no data' share study.yaml a.csv --key hospital-a.key --status
says 2 'give it the key alone' share study.yaml --key hospital-a.key --book
says 2 'an argument is missing' share --key hospital-a.key
for option in --dry-run --replace '--as records' '--person who' '--stats x'; do
    # shellcheck disable=SC2086
    says 2 'leave out the options about data' share study.yaml --key hospital-a.key --withdraw $option
done
says 2 '--as is "rows"' share study.yaml a.csv --key hospital-a.key --as rows
says 2 '--retries is "-1"' share study.yaml a.csv --key hospital-a.key --retries -1
says 2 'write one after MODEL, or --file FILE' query result/model
says 2 'exclude each other' query result/model 'SELECT COUNT(*) FROM t' --json --csv
says 2 '--quick leaves the intervals out' query result/model 'SELECT COUNT(*) FROM t' --quick --level 0.9
says 2 '--columns is for people' query result/model --columns --json
says 2 '--rows is "0"' synth result/model --out rows.csv --rows 0
says 2 '--seed is "x"' synth result/model --out rows.csv --seed x
says 2 '--rows is "1e3"' aim study.yaml a.csv --out x --rows 1e3
says 2 '--seed is "-1"' aim study.yaml a.csv --out x --seed -1
says 2 '--wait is "long"' run study.yaml --key office.key --out x --wait long
says 2 '--seed is ""' run study.yaml --key office.key --out x --seed=
for run in 12 0123456789abcdef0123456789abcdeg 0123456789abcdef0123456789abcdef00; do
    says 2 '--continue needs the number of a run: 32 digits' run study.yaml --key office.key --out x --continue $run
done
says 2 '--worst is "few"' eval study.yaml a.csv a.csv --worst few
says 2 '--delimiter is one character' eval study.yaml a.csv a.csv --delimiter ab
says 2 'leave them out with --sql' eval study.yaml a.csv --sql x --table t --decimal ,
says 2 '--seed is "seven"' demo --seed seven
says 2 '--folder: the name is empty or too long' demo --folder ''
says 2 '--folder: the name is empty or too long' demo --folder "$(printf '%05000d' 1)"
for listen in :7100 '[::1' "$(printf '%0300d' 1)"; do
    says 2 'write ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT' serve study.yaml --key north.key --folder s --listen "$listen"
done
says 2 "--listen's port is \"65535\"" serve study.yaml --key north.key --folder s --listen '[::1]:65535'
says 2 '--log is "xml"' serve study.yaml --key north.key --folder s --log xml
says 2 'name a study file, or --server' check study.yaml --server 9100
says 2 '--server is "north:9100"; write PORT' check --server north:9100
for more in '--key office.key' --fingerprint '--statement x' '--page x' '--token x' --board; do
    # shellcheck disable=SC2086
    says 2 '--receipt and --statement stand alone' check study.yaml --receipt x $more
done
for one in '--page x' '--token x' --board; do
    # shellcheck disable=SC2086
    says 2 "and so do --page, --token and --board" check study.yaml --key office.key $one
done
says 2 '--show makes nothing' keygen --show north.key --renew east.key
says 2 '--show makes nothing' keygen --show north.key --until 2199-01-01
says 2 'roster takes show STUDY, or sign STUDY --key FILE' roster show study.yaml --key north.key
says 2 'roster takes show STUDY, or sign STUDY --key FILE' roster sign study.yaml
says 2 'roster takes show STUDY, or sign STUDY --key FILE' roster sign study.yaml --key north.key --since study.yaml
says 0 'usage: trefoil audit' audit -h
TREFOIL_KERNEL=abacus says 0 'TREFOIL_KERNEL names no instruction set' --version

# --- 1: files, folders, ports

says 1 'cannot open nowhere.yaml' check nowhere.yaml
says 1 'cannot open the key nowhere.key' check study.yaml --key nowhere.key
says 1 'cannot open nowhere.csv' share study.yaml nowhere.csv --key hospital-a.key
for command in 'share nowhere.yaml a.csv --key hospital-a.key' 'serve nowhere.yaml --key north.key --folder s' \
    'recover nowhere.yaml --key north.key --folder s' 'run nowhere.yaml --key office.key --out x' \
    'aim nowhere.yaml a.csv --out x' 'eval nowhere.yaml a.csv a.csv' 'plan nowhere.yaml' \
    'roster show nowhere.yaml' 'roster show study.yaml --since nowhere.yaml' 'roster sign nowhere.yaml --key north.key'; do
    # shellcheck disable=SC2086
    says 1 'cannot open nowhere.yaml' $command
done
for command in 'share study.yaml a.csv' 'serve study.yaml --folder s' 'recover study.yaml --folder s' \
    'run study.yaml --out x' 'roster sign study.yaml'; do
    # shellcheck disable=SC2086
    says 1 'cannot open the key nowhere.key' $command --key nowhere.key
done
says 1 'cannot open nowhere.csv' aim study.yaml a.csv nowhere.csv --out x
says 1 'cannot open nowhere.csv' eval study.yaml nowhere.csv a.csv
says 1 'cannot open nowhere.csv' eval study.yaml a.csv nowhere.csv
says 1 'cannot open nowhere' check study.yaml --statement nowhere
says 1 'cannot open nowhere' audit nowhere
says 1 'cannot open nowhere' synth nowhere --out rows.csv
says 1 'north does not exist: restore it from a backup' recover study.yaml --key north.key --folder north
says 1 'a.csv is there and is not a folder' recover study.yaml --key north.key --folder a.csv
says 1 'a.csv is there and is not a folder' aim study.yaml a.csv --out a.csv
says 1 'left alone' keygen north.key
says 1 'left alone' init study.yaml
says 1 '/nowhere/new.key' keygen /nowhere/new.key
says 1 'a.csv is there and is not a folder' run study.yaml --key office.key --out a.csv
says 1 'a.csv is there and is not a folder' serve study.yaml --key north.key --folder a.csv
says 1 'cannot open nowhere/store.sqlite: No such file or directory' backup nowhere copy
says 1 'name what trefoil backup wrote' restore nowhere new
says 6 'was not made by trefoil backup' restore a.csv new
says 1 'a.csv is there and is not a folder' demo --folder a.csv
says 1 'cannot read folder: Is a directory' check folder
says 1 'cannot read folder: Is a directory' share study.yaml folder --key hospital-a.key
says 1 'no such address' serve study.yaml --key north.key --folder s --listen 203.0.113.9

# --- 3: studies and keys

says 3 'this is no study file' check a.csv
says 3 'this is no study file' check north.key
says 3 'the file is empty' check /dev/null
says 3 'not an intact private key' check study.yaml --key study.yaml
says 3 'folder is not a file' check study.yaml --key folder
sed 's/^rounds:/round:/' study.yaml >wrong.yaml
says 3 'did you mean "rounds"?' check wrong.yaml
sed 's/max_rows: 4095/max_rows: few/' study.yaml >wrong.yaml
says 3 'wrong.yaml:' plan wrong.yaml
sed 's/epsilon: 1$/epsilon: 90/' study.yaml >wrong.yaml
for command in 'aim wrong.yaml a.csv --out x' 'serve wrong.yaml --key north.key --folder s' \
    'recover wrong.yaml --key north.key --folder folder'; do
    # shellcheck disable=SC2086
    says 3 'lower epsilon or raise delta' $command
done
sed "s|127.0.0.1:$((port + 5))|127.0.0.1:$port|" study.yaml >wrong.yaml
says 3 'overlap those of server north' check wrong.yaml
sed "s|tcp://127.0.0.1:$port|127.0.0.1:$port|" study.yaml >wrong.yaml
says 3 'it should be tcp://host:port' check wrong.yaml
sed "s|$(head -n 1 east.public)|$(head -n 1 north.public)|" study.yaml >wrong.yaml
says 3 'east has the key of north' check wrong.yaml
sed "s|$(head -n 1 east.public)|trefoil1-abc|" study.yaml >wrong.yaml
says 3 'this is not a public key' check wrong.yaml
says 3 'needs no signatures' roster sign study.yaml --key north.key
says 3 "not one of the study's servers" roster sign study.yaml --key hospital-a.key
says 3 'the terms of this study file are' share study.yaml a.csv --key hospital-a.key --dry-run --fingerprint x
for asks in --withdraw --status '--keep x'; do
    # shellcheck disable=SC2086
    says 3 'the terms of this study file are' share study.yaml --key hospital-a.key $asks --fingerprint x
done
chmod 644 office.key
says 3 'chmod 600 office.key' run study.yaml --key office.key --out x
chmod 600 office.key
says 3 'that of the analyst office' serve study.yaml --key office.key --folder s
sed 's/^study: example/&\nroster: 2/' study.yaml >amended.yaml
for command in 'share amended.yaml a.csv --key hospital-a.key' 'run amended.yaml --key office.key --out x' \
    'serve amended.yaml --key north.key --folder s'; do
    # shellcheck disable=SC2086
    says 3 'roster 2 of study example is not signed by server north and server east and server west; their operators should run trefoil roster sign' $command
done
sign() { "$trefoil" roster sign amended.yaml --key "$1".key >/dev/null; }
sign north && sign east && sign west
head -n -2 amended.yaml >cut.yaml # one of three signatures is left
says 3 'is not signed by server east and server west; their operators should' share cut.yaml a.csv --key hospital-a.key
head -n -1 amended.yaml >cut.yaml
says 3 'is not signed by server west; its operator should' share cut.yaml a.csv --key hospital-a.key
head -c -20 amended.yaml >cut.yaml
says 3 'this is not a signature of west, or it was cut short' share cut.yaml a.csv --key hospital-a.key
says 3 'trefoil: the study or key file is not valid; correct it and try again' check cut.yaml
sed 's/epsilon: 1$/epsilon: 0.00009/' study.yaml >wrong.yaml
says 3 'it should be from 0.0001 to' check wrong.yaml
grep -q '`epsilon`: from 0.0001 to' "$tree/docs/study.md"
result $? "docs/study.md has the same least epsilon"
says 3 'that of the owner hospital-a' recover study.yaml --key hospital-a.key --folder s
says 3 'that of the server north' share study.yaml a.csv --key north.key
says 3 'that of the owner hospital-a' run study.yaml --key hospital-a.key --out none
says 3 - run study.yaml --key stranger.key --out none
[ ! -e none ]
result $? "a run that cannot be makes no folder"

# --- 6: data

sed '1s/bmi/BMI/' a.csv >wrong.csv
says 6 'no column is named bmi' share study.yaml wrong.csv --key hospital-a.key
sed 1d a.csv >wrong.csv
says 6 'names none of them; add a header' share study.yaml wrong.csv --key hospital-a.key
tr , ';' <a.csv >wrong.csv
says 6 "it seems to be ';'" share study.yaml wrong.csv --key hospital-a.key
sed '3s/,[a-z]*$/,toothache/' a.csv >wrong.csv
says 6 "wrong.csv:3:5: diagnosis is 'toothache'; it must be one of" share study.yaml wrong.csv --key hospital-a.key
# what seems wrong is not sent, and no server is asked
awk -F, -v OFS=, 'NR > 1 && NR % 2 == 0 { $3 = "" } 1' a.csv >wrong.csv
says 6 'nothing was sent: correct what the warnings above name' share study.yaml wrong.csv --key hospital-a.key
sed 's/^age,/Age,/' a.csv >wrong.csv
says 6 'there is Age: upper and lower case differ' share study.yaml wrong.csv --key hospital-a.key
: >wrong.csv
says 6 'it needs a header line' share study.yaml wrong.csv --key hospital-a.key
says 6 'more than the 4095 rows' share study.yaml many.csv --key hospital-b.key
iconv -f utf-8 -t utf-16 a.csv >wrong.csv
says 6 'save it as CSV in UTF-8' share study.yaml wrong.csv --key hospital-a.key
sed '3s/^[0-9]*/forty/' a.csv >wrong.csv
says 6 "wrong.csv:3:1: age is 'forty'; it must be a whole number" share study.yaml wrong.csv --key hospital-a.key
sed '3s/,.*$//' a.csv >wrong.csv
says 6 'wrong.csv:3: the row has 1 fields, the header 5' share study.yaml wrong.csv --key hospital-a.key
sed '2s/[a-z]*$/hj\xe4rt/' a.csv >wrong.csv
says 6 'save the file as UTF-8' share study.yaml wrong.csv --key hospital-a.key
sed 's/injury/m\xc3\xbcde/' study.yaml >composed.yaml # one character, and the same as two
sed 's/injury/mu\xcc\x88de/' study.yaml >decomposed.yaml
sed 's/injury/m\xc3\xbcde/' a.csv >composed.csv
sed 's/injury/mu\xcc\x88de/' a.csv >decomposed.csv
says 0 '300 rows' share composed.yaml composed.csv --key hospital-a.key --dry-run
says 0 '300 rows' share decomposed.yaml decomposed.csv --key hospital-a.key --dry-run
says 6 '(decomposed Unicode: U+0075 U+0308 for one letter. The study may have it composed: save the file in the form NFC)' \
    share composed.yaml decomposed.csv --key hospital-a.key --dry-run
says 6 '(the study has decomposed Unicode: U+0075 U+0308 for one letter' \
    share decomposed.yaml composed.csv --key hospital-a.key --dry-run
sed '1s/bmi/bmu\xcc\x88/' a.csv >wrong.csv
says 6 '(decomposed Unicode: U+0075 U+0308 for one letter' \
    share <(sed 's/name: bmi/name: bm\xc3\xbc/' study.yaml) wrong.csv --key hospital-a.key --dry-run
tr , '\t' <a.csv >tab.csv
says 0 '300 rows' share study.yaml tab.csv --key hospital-a.key --dry-run --delimiter tab
says 0 '300 rows' share study.yaml tab.csv --key hospital-a.key --dry-run --delimiter '\t'
says 6 'names none of them' share study.yaml study.yaml --key hospital-a.key
sed 1q a.csv >wrong.csv
says 0 'has a header and no rows: is it the right file?' share study.yaml wrong.csv --key hospital-a.key --dry-run
says 0 '300 rows' share study.yaml <(printf '\xef\xbb\xbf'; sed 's/$/\r/' a.csv) --key hospital-a.key --dry-run
sed 's/^workload:.*/workload: {all: 5}/' study.yaml >wide.yaml
says 5 'the study cannot take records of hospital-a' share wide.yaml a.csv --key hospital-a.key --dry-run --as records
sed 's/max_rows: 8191/&\n    as: records/' study.yaml >records.yaml
says 5 'the study bounds hospital-a as an owner of records' share records.yaml a.csv --key hospital-a.key --dry-run --as counts
sed -e 's/^workload:.*/workload: {all: 5}/' -e 's/max: 60/max: 6000/' -e 's/bins: 12/bins: 600/' -e 's/max_rows: 8191/max_rows: 1000000000/' \
    study.yaml >large.yaml
sed -e 's/epsilon: 1$/epsilon: 0.0001/' -e 's/rows_per_person: 2/rows_per_person: 10/' study.yaml >poor.yaml
for command in 'check STUDY' 'check STUDY --fingerprint' 'plan STUDY' 'run STUDY --key office.key --out x' \
    'aim STUDY a.csv --out x'; do
    # shellcheck disable=SC2086
    says 6 "lower the owners' max_rows" ${command/STUDY/large.yaml}
    # shellcheck disable=SC2086
    says 3 'raise epsilon or measure fewer marginals' ${command/STUDY/poor.yaml}
done
sed -e 's/rows_per_person: 2/rows_per_person: 100/' -e 's/^rounds: 2/rounds: 800/' -e 's/epsilon: 1$/epsilon: 6/' \
    study.yaml >heavy.yaml
says 0 '0.5  does not fit this study' plan heavy.yaml
says 6 'is no audit log' audit a.csv
says 6 'is empty, or its last line is cut' audit <(:)
awk '{ print $0 "," (NR == 1 ? "who" : int(NR / 2)) }' a.csv >persons.csv
says 0 'Nobody has more than 2 rows here, by the column who, which is not sent' \
    share study.yaml persons.csv --key hospital-a.key --dry-run --person who
says 6 'one person has 3 rows' share study.yaml <(sed '4s/2$/1/' persons.csv) --key hospital-a.key --dry-run --person who
says 0 'wrote measurements.json, model, errors and synthetic.csv' aim study.yaml a.csv b.csv --out central
sed 's/max_rows: [0-9]*/max_rows: 1/' study.yaml >few.yaml
says 6 "there are more than the 2 rows that the study's owners may bring" aim few.yaml a.csv b.csv --out x
says 0 'This was a dry run' share study.yaml a.csv --key hospital-a.key --dry-run --as auto
says 6 'a.csv is not a statement of trefoil serve --purge' check study.yaml --statement a.csv
says 6 - check study.yaml --receipt a.csv
says 6 - synth a.csv --out rows.csv
echo 'impossible: [{nosuch: 1, sex: female}]' >z.yaml
says 0 'nothing is charged to the budget' refit central --out refitted
says 2 'refit needs --out DIR' refit central
says 2 '--out is the result itself' refit central --out central
says 1 'cannot open a.csv/model' refit a.csv --out refitted
says 3 'z.yaml:1:15: ' refit central --out refitted --impossible z.yaml
says 6 'is no model of this version' query a.csv 'SELECT COUNT(*) FROM t'
mkdir -p trained && : >trained/classifier.json
for command in "query trained count" 'refit trained --out refitted' 'synth trained/model --out rows.csv' \
    'explore trained --out page.html' 'eval study.yaml a.csv a.csv --model trained'; do
    says 6 'trefoil predict uses it' $command
done
says 2 'there is no column "agee"' query central 'SELECT AVG(agee) FROM t'
says 2 'arithmetic is not done here' query central 'SELECT COUNT(*) / 2 / 3 FROM t'
says 2 'there is no question in' query central --file <(echo ';')
printf 'SELECT COUNT(*)\nFROM t WHERE agee > 3;' >q.sql
says 2 'q.sql:2:14: there is no column "agee"' query central --file q.sql
says 2 'line 2 of the question is not UTF-8; is it Latin-1' query central $'SELECT\nCOUNT(*) FROM t\xe4'
for not in '\xed\xa0\x80' '\xe0\x80\x80' '\xf0\x80\x80\x80' '\xf4\x90\x80\x80'; do
    says 2 'line 1 of the question is not UTF-8' query central --json "SELECT COUNT(*) FROM $(printf "$not")"
done
says 2 'in UTF-16; save it as UTF-8' query central --file <(printf '\xff\xfeS\0')
printf '\xef\xbb\xbfSELECT COUNT(*) FROM t' | "$trefoil" query central --file - | grep -q COUNT
says 2 'is no text' query central --file <(printf 'SELECT\0')
"$trefoil" query central 'SELECT COUNT(*) FROM t' | grep -q '95 %' &&
    ! "$trefoil" query central 'SELECT COUNT(*) FROM t' --quick 2>&1 | grep -q '95 %\|intervals'
result $? "query --quick has no intervals"
"$trefoil" query central 'SELECT COUNT(*) FROM t' >/dev/full 2>said
[ $? -eq 1 ] && grep -q 'cannot write to standard output' said
result $? "answers that nobody gets are a failure"
"$trefoil" synth central/model --rows 30 --out rows.csv >said && "$trefoil" synth central/model --rows 30 --out - >-rows &&
    cmp rows.csv ./-rows && grep -q '^wrote 30 rows' said && [ ! -e ./- ]
result $? "synth --out - writes to the standard output"
"$trefoil" synth central/model --where "age >= 60 AND sex = 'female'" --rows 50 --out w.csv >said &&
    awk -F, 'NR > 1 && ($1 < 60 || $2 != "female") { bad = 1 } END { exit bad || NR != 51 }' w.csv
result $? "synth --where draws rows that meet the condition"
printf 'sex,bmi,note\nfemale,20.5,x\n\nmale,?,y\n' >started.csv
"$trefoil" synth central/model --given started.csv --fill '?' --out done.csv >said 2>&1 &&
    awk -F, 'NR == 2 { bad = $2 != "female" || $3 != 20.5 } NR == 3 { bad = bad || $2 != "male" || $3 !~ /^[0-9]/ }
             END { exit bad || NR != 3 }' done.csv
result $? "synth --given completes rows"
echo 'impossible: [{sex: male, diagnosis: other}]' >never.yaml
"$trefoil" refit central --out never --impossible never.yaml >/dev/null 2>&1
printf 'sex,diagnosis\nfemale,other\n\nmale,other\n' >started.csv
says 6 'started.csv:4: the model has no such row' synth never/model --given started.csv --out never.csv
[ ! -e never.csv ]
result $? "nothing is written where a row cannot be"
says 2 'there is no column "agee"' synth central/model --where 'agee > 3' --out w.csv
says 2 'AND or OR' synth central/model --where 'age > 3 GROUP BY sex' --out w.csv
says 2 'nothing is known' synth never/model --where "sex = 'male' AND diagnosis = 'other'" --out w.csv
says 2 'leave out --sampling rounded' synth central/model --where 'age > 3' --sampling rounded --out w.csv
says 2 'leave out --where' synth central/model --where 'age > 3' --given a.csv --out w.csv
says 2 '--fill is about' synth central/model --fill x --out w.csv
"$trefoil" synth central/model --rows 30 --out - >/dev/full 2>said
[ $? -eq 1 ] && grep -q 'cannot write to the standard output' said
result $? "a standard output that is full fails"
sed -n 's/^retain_days: .*/retain_days: 1/;p' study.yaml >day.yaml
says 0 'keep the uploads for 1 day after the last one came' check day.yaml
awk '/^  - name: hospital-b/ { for (i = 0; i < 9; i++) printf "  - {name: h%d, key: KEY%d, max_rows: 90}\n", i, i } { print }' \
    study.yaml >eleven.yaml
for ((i = 0; i < 9; i++)); do
    sed -i "s|KEY$i,|$("$trefoil" keygen h$i.key 2>/dev/null | head -n 1),|" eleven.yaml
done
says 0 'and 1 more owner' plan eleven.yaml
says 2 'are about --simulate; give that, too' plan study.yaml --seed 3
says 2 'are about --simulate; give that, too' plan study.yaml --like a.csv

# --- 4: servers that are down

says 4 "server 0 (north) at tcp://127.0.0.1:$port: nobody listens there; see that the server runs" \
    run study.yaml --key office.key --out x
number=$((number + 1))
if grep -q 'server 1 (east) .*: nobody listens' said && grep -q 'server 2 (west) .*: nobody listens' said; then
    echo "ok $number - each server that is down is named"
else
    echo "not ok $number - each server that is down is named"
    failed=1
fi
says 4 'server 0 (north)' share study.yaml a.csv --key hospital-a.key --retries 0
says 4 'server 2 (west)' share study.yaml --key hospital-a.key --status
! grep -q '(west):.*(west)' said
result $? "a server's name is said once"

# --- keys put into a study file, and warrants of its approvers

{ cat study.yaml && printf 'approvers:\n  at_least: 1\n  people:\n    - name: board\n    - {name: privacy}\n'; } >approved.yaml
for name in board privacy; do says 0 'it is in approved.yaml now' keygen $name.key --name $name --into approved.yaml; done
grep -qx "      key: $("$trefoil" keygen --show board.key 2>/dev/null | head -n 1)" approved.yaml &&
    grep -qxF "    - {name: privacy, key: $("$trefoil" keygen --show privacy.key 2>/dev/null | head -n 1)}" approved.yaml
result $? "a key stands beside its name, in either form of a list"
says 3 'has nobody named nobody' keygen nobody.key --name nobody --into approved.yaml
says 2 'leave the other options out' keygen north.seal --sealing north.key approved.yaml --force
says 0 'approve' check approved.yaml
warrant=(approve approved.yaml --to warrant)
asks=(--analyst office --share 50% --until 2099-12-31 --purpose report)
wrongly() { # OPTION TEXT WORDS: with this text for one of them
    local a=("${asks[@]}") i
    for i in "${!a[@]}"; do [ "${a[i]}" != "$1" ] || a[i + 1]=$2; done
    says 2 "$3" "${warrant[@]}" "${a[@]}" --key board.key
}
says 3 'has no approvers, so no run needs a warrant' approve study.yaml --to warrant
says 2 'a new warrant needs --analyst, --share, --until and --purpose' "${warrant[@]}" --key board.key
says 2 'a new warrant needs --key of the approver' "${warrant[@]}" "${asks[@]}"
wrongly --analyst nobody 'the study has no analyst named nobody'
wrongly --share 101 '--share is a percentage above 0, such as 50%'
wrongly --until soon 'the last day should look like 2027-06-30'
wrongly --until 2020-02-29 '--until 2020-02-29 is over'
wrongly --purpose "$(printf '%0201d' 0)" '--purpose has more than 200 bytes'
says 0 'signed   board' "${warrant[@]}" "${asks[@]}" --key board.key
says 2 'is there and says what it permits' "${warrant[@]}" "${asks[@]}" --key privacy.key
says 2 'has no approvers; leave out --warrant' run study.yaml --key office.key --out x --warrant warrant

# --- a study file from what there is

says 2 'give one of them' init new.yaml --columns a.csv --header a.csv
says 2 'give --sql, too' init new.yaml --lookup wards
says 0 'wrote new.yaml' init new.yaml --header a.csv
grep -q 'FILL-IN' new.yaml && grep -q 'stay_days' new.yaml
result $? "a header gives the names, and where to fill in"
says 0 'wrote public.yaml' init public.yaml --from a.csv
says 0 '300 rows' plan public.yaml --simulate --like a.csv

# --- with servers

for name in north east west; do
    (ulimit -Sn 256 && exec "$trefoil" serve study.yaml --key $name.key --folder $name --listen 127.0.0.1) >$name.log 2>&1 &
    servers+=($!)
done
for name in north east west; do
    within 6 grep -q 'is ready' $name.log
done
says 1 'another trefoil serve uses this folder' serve study.yaml --key north.key --folder north --listen 127.0.0.1
says 1 'uses this folder: stop it first' recover study.yaml --key north.key --folder north
open=$(awk '/^Max open files/ { print $4 }' "/proc/${servers[0]}/limits") most=$(ulimit -Hn)
{ [ "$most" != unlimited ] && [ "$most" -lt 4096 ]; } || most=4096
[ "$open" = "$most" ]
result $? "a server may open $most files"
says 1 'has this port' serve study.yaml --key north.key --folder other --listen 127.0.0.1
says 1 'hospital-a has not uploaded yet; it should run trefoil share' run study.yaml --key office.key --out x
[ "$(grep -c 'hospital-a has not uploaded yet' said)" -eq 1 ] && grep -q '^error: all three servers: not ready yet' said
result $? "what all three servers say is told once"
says 0 "no server holds an upload of this owner now" share study.yaml --key hospital-a.key --withdraw
says 3 'knows the study example by other terms' share other.yaml a.csv --key hospital-a.key
says 0 'all three servers have stored' share study.yaml a.csv --key hospital-a.key
says 0 'all three servers have stored' share study.yaml a.csv --key hospital-a.key
long=$(printf './%.0s' {1..2040})hospital-a.key
says 1 'this path is too long' share study.yaml a.csv --key "$long"
says 1 'cannot create a file beside nowhere/receipt' share study.yaml a.csv --key hospital-a.key --receipt nowhere/receipt
says 0 'all three servers have stored' share study.yaml b.csv --key hospital-b.key \
    --fingerprint "$("$trefoil" check study.yaml --fingerprint)"
says 3 'other terms than this file' run other.yaml --key office.key --out elsewhere
says 0 'differential privacy for all rows of one person' run study.yaml --key office.key --out result
head -c -9 north/audit.log >torn
says 6 'torn is empty, or its last line is cut' audit torn
cp -r north copy && sed -i '1s/./x/9' copy/audit.log
says 6 'audit.log:1: the chain breaks here' recover study.yaml --key north.key --folder copy
says 5 'an earlier run spent the rest' run study.yaml --key office.key --out again
sed "s|$(head -n 1 office.public)|$(head -n 1 stranger.public)|" study.yaml >strange.yaml
says 3 "does not admit this key: it is revoked, or not in the study file" run strange.yaml --key stranger.key --out x
says 0 'wrote report.html' refit result --study study.yaml --out rerun
for file in model measurements.json synthetic.csv stats.json report.html; do cmp result/$file rerun/$file || break; done
result $? "refit gives what the run of three servers gave"
says 2 'rerun/report.html would not be of the new model' refit result --quick --out rerun
cp result/report.html result/stats.json .
says 0 'wrote report.html' run study.yaml --key office.key --out result
cmp result/report.html report.html && cmp result/stats.json stats.json
result $? "a finished run that is asked again leaves its report as it is"
says 6 - eval study.yaml study.yaml result/synthetic.csv
says 3 - check result/model


# --- 3: servers of two versions; the other one is this program with its version written over

version=$("$trefoil" --version | awk 'NR == 1 { print $2 }')
sed "s/\x00${version//./\\.}\x00/\x009${version:1}\x00/g" "$trefoil" >newer
chmod +x newer
if [ "$(./newer --version 2>/dev/null | awk 'NR == 1 { print $2 }')" = "9${version:1}" ]; then
    kill "${servers[2]}"
    wait "${servers[2]}"
    ./newer serve study.yaml --key west.key --folder west --listen 127.0.0.1 >newer.log 2>&1 &
    servers[2]=$!
    within 6 grep -q 'is ready' newer.log
    says 3 "server 2 runs trefoil 9${version:1} (protocol 5), we run $version (protocol 5): all three need the same version; ours is the older one, upgrade it" \
        run study.yaml --key office.key --out again
else
    skip 'servers of two versions' 'this build has its version in a place where it cannot be written over'
fi
end_test
