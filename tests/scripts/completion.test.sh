#!/usr/bin/env bash
# What the shells offer: bash's script is run, and zsh's parsed where zsh is installed. Writes TAP.
set -u
. tests/scripts/support.sh

"$trefoil" complete bash >"$folder/trefoil.bash"
"$trefoil" complete zsh >"$folder/_trefoil"
# shellcheck disable=SC1091
source "$folder/trefoil.bash"

offers() { # expected words...
    COMP_WORDS=(trefoil "${@:1:$#-1}") COMP_CWORD=$(($# - 1))
    local expected=${!#}
    _trefoil
    [ "${COMPREPLY[*]}" = "$expected" ] || { echo "# ${COMP_WORDS[*]}: ${COMPREPLY[*]}"; return 1; }
}

offers ke keygen
result $? "a command"
offers syn synth
result $? "another command"
offers synth --sam --sampling
result $? "an option"
offers synth --sampling '' 'rounded independent'
result $? "an option's choices"
offers share --as '' 'counts records auto'
result $? "choices of an option"
offers serve --noise-ahead '' off
result $? "no word that stands for a number"
offers refit --max --max-mib
result $? "an option with a dash"
offers query --js --json
result $? "an option without a value"
offers run study.yaml --se --seed
result $? "an option after a file"
offers help che check
result $? "a command to be helped with"
offers complete '' 'bash zsh'
result $? "shells"
touch "$folder/study.yaml" "$folder/my.key"
cd "$folder" || exit 1
offers check st study.yaml
result $? "a file"
offers check study.yaml --key m my.key
result $? "a file after an option"
offers admit --earlier st study.yaml
result $? "a study after an option"
offers run study.yaml --rows '' ''
result $? "nothing where a number goes"

grep -qF "'--receipt[only verify what the servers signed for an owner (trefoil share)]:FILE:_files'" _trefoil
result $? "zsh is told what an option is for, to the end of the sentence"
if command -v zsh >/dev/null; then
    zsh -n _trefoil
    result $? "zsh parses its script"
else
    skip 'zsh parses its script' 'there is no zsh'
fi
end_test
