#!/bin/bash
# The command line of the model checker: what it prints, what it refuses, and its exit status.
#
#   tests/check/test_cli.sh PATH/TO/weft-check
#
# One line a test, then `N passed, N failed`. Exit status 1 when a test failed, 2 for wrong usage.
set -u

if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: $0 PATH/TO/weft-check (an executable file)" >&2
    exit 2
fi
check=$1
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
out=$dir/out err=$dir/err
passed=0 failed=0

# run ARGS...: runs the checker; its output is then in $out and $err, its exit status in $status.
run() {
    "$check" "$@" >"$out" 2>"$err" </dev/null
    status=$?
}
ok() {
    passed=$((passed + 1))
    echo "ok   $1"
}
fail() {
    failed=$((failed + 1))
    echo "FAIL $1: $2"
    grep -Ev '^(ok | )' "$out" | sed 's/^/     out: /' | head -5
    sed 's/^/     err: /' "$err" | head -5
}
# expect NAME STATUS FILE PATTERN...: the last run ended with STATUS and FILE has a line for each PATTERN.
expect() {
    local name=$1 want=$2 file=$3 pattern
    shift 3
    if [ "$status" -ne "$want" ]; then
        fail "$name" "exit status $status, expected $want"
        return
    fi
    for pattern in "$@"; do
        if ! grep -Eq -e "$pattern" "$file"; then
            fail "$name" "no line matches '$pattern'"
            return
        fi
    done
    ok "$name"
}
nothing_run() {
    if grep -Eq 'passed, [0-9]+ failed|EXHAUSTED|VIOLATION' "$out"; then
        fail "$1" "scenarios were run all the same"
    else
        ok "$1"
    fi
}

# ---- names -------------------------------------------------------------------------------------------------------

run no_such_scenario
expect "an unknown name is refused, by name" 2 "$err" "no_such_scenario"
expect "an unknown name lists the known scenarios" 2 "$err" '^ *sb_rlx ' '^ *peterson_sc ' '^sb:$'
nothing_run "an unknown name runs nothing"
run sb_sc no_such_scenario
expect "an unknown name is refused beside a known one" 2 "$err" "no_such_scenario"
nothing_run "an unknown name beside a known one runs nothing"
run 'no_such_*'
expect "a pattern that matches nothing is refused" 2 "$err" 'no_such_\*'

run --list
expect "--list names scenarios under their groups" 0 "$out" '^sb:$' '^ +sb_rlx +.*SB, relaxed' '^exclusion:$'
expect "--list says which are flawed" 0 "$out" 'sb_rlx .*flawed'
nothing_run "--list runs nothing"
if [ "$(grep -c '^  sb_sc ' "$out")" -eq 1 ]; then ok "--list names a scenario once"; else
    fail "--list names a scenario once" "sb_sc is not there exactly once"
fi

run sb_sc
expect "a scenario runs in every model" 0 "$out" 'c11 +sb_sc EXHAUSTED [0-9]+ executions' \
    'tso +sb_sc EXHAUSTED [0-9]+ executions' 'sc +sb_sc EXHAUSTED [0-9]+ executions' '^3 passed, 0 failed$'
run lb
expect "a group runs all its scenarios" 0 "$out" 'lb_rlx EXHAUSTED' 'lb_thin_air EXHAUSTED' '^15 passed, 0 failed$'
run 'w2plus2_*'
expect "a pattern runs what it matches" 0 "$out" 'w2plus2_sc EXHAUSTED' 'w2plus2_rlx VIOLATION' '^15 passed, 0 failed$'
run sb_sc sb_sc
expect "a scenario named twice runs once" 0 "$out" '^3 passed, 0 failed$'

# ---- long forms ---------------------------------------------------------------------------------------------------

run --short --list
if grep -q '^  state_crowd ' "$out"; then fail "--short lists no long form" "state_crowd is there"; else
    expect "--short lists no long form" 0 "$out" '^  state_crowd_wake_cancel ' '^  sb_sc ' '^state_crowd:$'
fi
run --list
expect "--list says which are long forms" 0 "$out" '^  state_crowd +\[deep\]'
run --short --random 1 shutdown_child
expect "--short leaves a model out in which the scenario is long" 1 "$out" 'sc +shutdown_child' 'tso +shutdown_child' '^0 passed, 2 failed$'
run --short state_crowd_wake_cancel state_crowd --model sc
expect "--short runs the others of a group" 0 "$out" 'state_crowd_wake_cancel EXHAUSTED' '^3 passed, 0 failed$'
run --short find_steal
expect "--short refuses to run nothing" 2 "$err" 'none of these scenarios'
run --deep --list
if grep -q '^  state_crowd_wake_cancel ' "$out"; then fail "--deep lists long forms only" "state_crowd_wake_cancel is there"; else
    expect "--deep lists long forms only" 0 "$out" '^  state_crowd ' '^  shutdown_child ' '^state_crowd:$'
fi
run --deep --random 1 shutdown_child
expect "--deep runs the model that --short leaves out" 1 "$out" 'c11 +shutdown_child' '^0 passed, 1 failed$'
run --deep sb_sc
expect "--deep refuses to run nothing" 2 "$err" 'none of these scenarios'

# ---- models ------------------------------------------------------------------------------------------------------

for model in c11 tso sc; do
    run sb_rlx --model $model
    expect "--model $model runs that model alone" 0 "$out" "$model +sb_rlx " '^1 passed, 0 failed$'
done
run sb_rlx --model arm
expect "--model refuses what it does not know" 2 "$err" "arm" "c11.*tso.*sc"
nothing_run "--model refused runs nothing"
run sb_rlx --model
expect "--model without a value is refused" 2 "$err" "c11.*tso.*sc"

# ---- numbers and options --------------------------------------------------------------------------------------------

for option in --bound --random --sample --seed --max-executions; do
    run sb_sc $option many
    expect "$option refuses a word" 2 "$err" "$option"
    run sb_sc $option
    expect "$option without a value is refused" 2 "$err" "$option"
    run sb_sc $option -1
    expect "$option refuses a negative number" 2 "$err" "$option"
done
run sb_sc --frobnicate
expect "an unknown option is refused, by name" 2 "$err" "frobnicate"
nothing_run "an unknown option runs nothing"
run --help
expect "--help tells the options" 0 "$out" "--list" "--model" "--bound" "--replay" "--max-executions" "--oracle" "--short" "--deep"

# ---- counts ------------------------------------------------------------------------------------------------------

run choose_in_range choose_pair choose_and_store --model c11
expect "executions are counted once each" 0 "$out" 'choose_in_range EXHAUSTED 3 executions' \
    'choose_pair EXHAUSTED 6 executions' 'choose_and_store EXHAUSTED 6 executions'
run sb_sc --model sc
expect "store buffering has three outcomes under sc" 0 "$out" 'sb_sc EXHAUSTED 3 executions'
run sb iriw coherence choices release_sequence --oracle
expect "the naive enumeration counts the same" 0 "$out" 'oracle agrees' ', 0 failed$'

# ---- caps --------------------------------------------------------------------------------------------------------

run sb_sc --max-executions 1
expect "a scenario that hits its cap says so and fails" 1 "$out" 'sb_sc CAPPED' '^0 passed, 3 failed$'
run sb_sc --max-executions 100
expect "a scenario below its cap is exhausted" 0 "$out" 'sb_sc EXHAUSTED' '^3 passed, 0 failed$'
run spinlock3 --model c11 --random 5
expect "random executions are no exhaustion" 1 "$out" 'spinlock3 CAPPED' '^0 passed, 1 failed$'
run spinlock3 --model c11 --sample 5
expect "a sample that finds nothing is what was asked for" 0 "$out" 'spinlock3 CAPPED' '^1 passed, 0 failed$'
run sb_rlx --model c11 --sample 1
expect "a sample that misses an expected violation fails" 1 "$out" 'sb_rlx CAPPED' '^0 passed, 1 failed$'
run sb_rlx --model c11 --random 200
expect "random executions find a violation" 0 "$out" 'sb_rlx VIOLATION'

# ---- violations and replay ------------------------------------------------------------------------------------------

# The replay string in $out, without its quotes.
replay_string() { sed -n "s/.*--replay '\([^']*\)'.*/\1/p" "$out" | head -1; }

run peterson_printed --model tso --show
expect "a violation says what and shows a table" 0 "$out" 'tso +peterson_printed VIOLATION .*race' \
    'thread +0 .*\| thread +1' 'flag\[0\] = 1' 'exclusion\.c:[0-9]+' "--replay 'peterson_printed@tso:[0-9a-z]+'"
run peterson_printed --model tso
if grep -q -- --replay "$out"; then fail "an expected violation stays quiet" "it shows its trace"; else
    ok "an expected violation stays quiet"
fi

# Every violation of the litmus tests, replayed: the same words again (but for addresses), and exit status 1.
words() { sed 's/^\(ok\|FAIL\) *//; s/ (as expected).*//; s/0x[0-9a-f]*/ADDRESS/g; s/  */ /g; q'; }
table=$(dirname "$0")/../../docs/checker-litmus.md
mapfile -t groups < <(sed -n 's/^## .*(`check\/litmus\/\(.*\)\.c`)$/\1/p' "$table")
run "${groups[@]}" --show
expect "the litmus tests pass" 0 "$out" ' passed, 0 failed$'
cp "$out" "$dir/all"

# The table in docs/checker-litmus.md: the same tests, and the same verdict in each model.
awk '$4 == "EXHAUSTED" || $4 == "VIOLATION" { print $3, $2, $4 }' "$dir/all" | sort >"$dir/found"
awk -F ' *[|] *' '
    function verdict(word) { return word == "forbidden" || word == "sound" ? "EXHAUSTED" : "VIOLATION" }
    /^[|] `/ { gsub("`", "", $2); print $2, "c11", verdict($3)
        print $2, "tso", verdict($4)
        print $2, "sc", verdict($5) }
' "$table" | sort >"$dir/written"
if diff "$dir/written" "$dir/found" >"$out"; then
    ok "the table of litmus tests says what the checker says ($(wc -l <"$dir/found") verdicts)"
else
    fail "the table of litmus tests says what the checker says" "docs/checker-litmus.md (<) and the run (>) differ"
fi

wrong='' count=0 verdict=''
while IFS= read -r line; do
    case $line in
    *' VIOLATION '*) verdict=$(words <<<"$line") ;;
    *"--replay '"*)
        line=${line#*--replay \'}
        run --replay "${line%%\'*}"
        count=$((count + 1))
        if [ $status -ne 1 ] || [ "$(words <"$out")" != "$verdict" ]; then
            wrong=$verdict
            break
        fi
        verdict=''
        ;;
    esac
done <"$dir/all"
violations=$(grep -c ' VIOLATION ' "$dir/all")
if [ -n "$wrong" ]; then
    fail "replays reproduce their violations" "exit status $status, and not: $wrong"
elif [ "$count" -ne "$violations" ]; then
    fail "replays reproduce their violations" "$count replay strings for $violations violations"
else
    ok "replays reproduce their violations ($count of them)"
fi

run sb_rlx --model c11 --show
string=$(replay_string)
run --replay "$string"
expect "a replay shows the table and its own string again" 1 "$out" 'sb_rlx VIOLATION assertion' \
    'thread +0 .*\| thread +1' "--replay '$string'"
run --replay 'sb_rlx@c11:0011'
expect "a replay without a violation says so" 0 "$out" 'no violation'

for string in '' nonsense sb_rlx 'sb_rlx@' 'sb_rlx@c11' 'sb_rlx@arm:0011' '@c11:0011' 'no_such@c11:0011' \
    'sb_rlx@c11:!?' 'sb_rlx@c11:b011' 'sb_rlx@c11:0011z' 'sb_rlx@c11:0066' 'sb_rlx@c11:00 11' 'sb_rlx@c11:00110011'; do
    run --replay "$string"
    expect "the replay string '$string' is refused with what was expected" 2 "$err" 'replay string' 'NAME@MODEL:STEPS'
done
run --replay
expect "--replay without a string is refused" 2 "$err" '--replay'

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
