#!/usr/bin/env bash
# What people see: the demo and the first study on a terminal of 80 columns (tmux), where no line wraps and progress is
# drawn over; and piped, where all is plain lines. Writes TAP.
set -u
. tests/scripts/support.sh

# Keys and signatures are one word, longer than any terminal is wide.
no_wider() { # file
    awk 'length > 80 && !/trefoil[12]-|trefoil-sig1-/ { print "# " length ": " $0; bad = 1 } END { exit bad }' "$1"
}

tests/scripts/commands.sh docs/first_study.md |
    sed -e "s|127.0.0.1:7100|127.0.0.1:$port|; s|127.0.0.1:7110|127.0.0.1:$((port + 5))|" \
        -e "s|127.0.0.1:7120|127.0.0.1:$((port + 10))|" -e "s|^cd \"\$(mktemp -d)\"|cd \"\$1\"|" \
        -e "s|^export PATH=.*|export PATH=\"$(dirname "$trefoil"):\$PATH\"|" >"$folder/commands"
echo "trefoil demo --folder demo" >>"$folder/commands"

mkdir -p "$folder/piped/demo/result" # as from an earlier demo, which is replaced
touch "$folder/piped/demo/.trefoil-demo" "$folder/piped/demo/result/earlier"
timeout "$(patience 30)" bash -e "$folder/commands" "$folder/piped" >"$folder/plain" 2>&1
result $? "piped: the first study and a demo run"
[ ! -e "$folder/piped/demo/result/earlier" ] && [ -s "$folder/piped/demo/result/report.html" ]
result $? "piped: an earlier demo is replaced"
! grep -q $'[\r\033]' "$folder/plain"
result $? "piped: nothing is drawn over"
no_wider "$folder/plain"
result $? "piped: lines of at most 80 columns"
for name in $("$trefoil" --help | awk '/^  [a-z]+ / && $1 != "trefoil" { print $1 }'); do
    "$trefoil" help "$name"
done >"$folder/help"
"$trefoil" --help >>"$folder/help"
no_wider "$folder/help"
result $? "help: lines of at most 80 columns"

if ! have tmux tmux; then
    skip "a terminal of 80 columns" "tmux is absent and cannot be installed"
    end_test
fi
# tmux of our own: no configuration, a server that ends with its only window
tmux=(timeout "$(patience 30)" env TERM=xterm tmux -L "trefoil-$$" -f "$folder/tmux.conf")
echo "set -g history-limit 10000" >"$folder/tmux.conf"
mkdir "$folder/terminal"
cat >"$folder/window" <<X
tmux -L trefoil-$$ wait-for begin
timeout $(patience 30) bash -e "$folder/commands" "$folder/terminal"
echo \$? >"$folder/status"
tmux -L trefoil-$$ wait-for -S finished
tmux -L trefoil-$$ wait-for end
X
"${tmux[@]}" new-session -d -x 80 -y 50 "bash '$folder/window'"
"${tmux[@]}" pipe-pane "cat >'$folder/raw'"
"${tmux[@]}" wait-for -S begin
"${tmux[@]}" wait-for finished
"${tmux[@]}" capture-pane -p -S - >"$folder/screen"
"${tmux[@]}" capture-pane -p -J -S - | sed 's/ *$//' >"$folder/joined"
"${tmux[@]}" wait-for -S end

[ "$(cat "$folder/status")" = 0 ]
result $? "terminal: the first study and a demo run"
no_wider "$folder/joined"
result $? "terminal: no line wraps"
grep -q $'fitting the model\r\033\\[K' "$folder/raw" && ! grep -q 'fitting the model' "$folder/screen"
result $? "terminal: what is waited for is drawn over"
# what was drawn over is gone: every line of the run's display is one that a pipe gets as well
sed -n '/^round   marginal/,/^took:/p' "$folder/screen" >"$folder/display"
grep -qE '^([0-9]+)/\1 .* 0\.0 %' "$folder/display" &&
    ! grep -vE '^(round  |[0-9]+/[0-9]+ |        |took:)' "$folder/display"
result $? "terminal: a line a round stays"
end_test
