#!/bin/bash
# `weft check FILE.c`: a user's own files. Verdicts, traces, what is refused and how, and that nothing is left behind.
#
#   tests/check/test_own.sh PATH/TO/weft
#
# One line a test, then `N passed, N failed`. Exit status 1 when a test failed, 2 for wrong usage.
set -u

if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: $0 PATH/TO/weft (an executable file)" >&2
    exit 2
fi
weft=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
out=$dir/out
passed=0 failed=0
mkdir "$dir/tmp"
export TMPDIR=$dir/tmp # whatever is left there was left behind

# run WORDS...: weft check WORDS; what it prints is then in $out, its exit status in $status.
run() {
    "$weft" check "$@" >"$out" 2>&1 </dev/null
    status=$?
}
ok() {
    passed=$((passed + 1))
    echo "ok   $1"
}
fail() {
    failed=$((failed + 1))
    echo "FAIL $1: $2"
    grep -v '^ok ' "$out" | sed 's/^/     | /' | head -20
}
# expect NAME STATUS PATTERN...: the last run ended with STATUS, printed a line for each PATTERN, and left nothing behind.
expect() {
    local name=$1 want=$2 pattern
    shift 2
    if [ "$status" -ne "$want" ]; then
        fail "$name" "exit status $status, expected $want"
        return
    fi
    for pattern in "$@"; do
        if ! grep -Eq -e "$pattern" "$out"; then
            fail "$name" "no line matches '$pattern'"
            return
        fi
    done
    if [ -n "$(ls -A "$TMPDIR")" ]; then
        fail "$name" "left behind: $(ls -A "$TMPDIR")"
        rm -rf "${TMPDIR:?}"/*
        return
    fi
    ok "$name"
}
own=tests/check/own

# ---- the example, and the page that shows it ------------------------------------------------------------------------------

run examples/check/spsc_wrong.c
expect "the example's fault is found" 1 '^ok +tso ring_in_order EXHAUSTED' '^FAIL c11 ring_in_order VIOLATION data-race' \
    'ring.tail = 1 rlx' 'the read: spsc_wrong.c:[0-9]+, by thread 1' 'the other write: spsc_wrong.c:[0-9]+, by thread 0' '^2 passed, 1 failed$'
cp "$out" "$dir/wrong"
string=$(sed -n "s/.*replay: weft check \(.*\)/\1/p" "$dir/wrong")
eval "run $string"
expect "its replay line is a command that shows it again" 1 'c11 ring_in_order VIOLATION data-race' 'ring.tail = 1 rlx'
run examples/check/spsc.c
expect "the mended example passes" 0 '^ok +c11 ring_in_order EXHAUSTED' '^3 passed, 0 failed$'
diff <(sed '1,/^#include/d' examples/check/spsc_wrong.c) <(sed '1,/^#include/d' examples/check/spsc.c) >"$out"
if [ "$(grep -c '^[<>]' "$out")" = 2 ] && grep -q '^< .*memory_order_relaxed);$' "$out" && grep -q '^> .*memory_order_release);$' "$out"; then
    ok "the two differ in one memory order"
else
    fail "the two differ in one memory order" "behind the first comment, another difference than that"
fi
# Blocks of the page: what is printed is what it says, and the code is the example's.
page=docs/checking-your-code.md
awk -v "out=$dir/block" '/^```/ {on = !on; n += on; next} on {print > (out n)}' $page
missing='' shown=0
for block in "$dir"/block*; do
    grep -q 'VIOLATION\|CHK_SCENARIO(ring\|ring_push' "$block" || continue
    shown=$((shown + 1))
    while IFS= read -r line; do
        grep -qxF -e "$line" "$dir/wrong" examples/check/spsc_wrong.c examples/check/spsc.c || missing=$line
    done < <(grep -v '^\$ \|^$' "$block")
done
: >"$out"
if [ -z "$missing" ] && [ $shown -gt 2 ]; then ok "the page shows the example and what is printed"; else fail "the page shows the example and what is printed" "$shown blocks; not so: $missing"; fi

# ---- verdicts ---------------------------------------------------------------------------------------------------------------

for file in locks waiting classics stack memory operators; do
    run $own/$file.c -- -Wall -Wextra -Werror
    expect "$file: every verdict as written" 0 '^[1-9][0-9]* passed, 0 failed$'
    cp "$out" "$dir/$file"
done
run $own/locks.c flag_lock cas_lock ticket_lock library_mutex --oracle
expect "loops that are found: the naive enumeration counts the same" 0 'oracle agrees' ', 0 failed$'
run $own/stack.c stack_pops --model c11 --show
expect "a use after free is shown with its places" 0 'the use: stack.c:[0-9]+' 'freed: stack.c:[0-9]+' 'allocated: stack.c:[0-9]+' 'head: &block2 -> &block1'
run $own/memory.c null_pointer overflow trap --model c11 --show
expect "a crash is shown with its place" 0 'the crash: memory.c:[0-9]+' 'invalid address: \(nil\)' 'stack has overflowed' '__builtin_trap'
run $own/endless.c
expect "a loop that is not the same in any two rounds" 1 'CAPPED by a thread has too many events' 'operations: endless.c:7' 'chk_loop_begin'
run $own/assumed.c
expect "an assumption that never holds" 1 'FAIL c11 assumed_away EXHAUSTED .* chk_assume left all out' '^0 passed, 1 failed$'
run $own/classics.c --list
expect "--list has the file's scenarios alone" 0 '^classics:$' 'dekker_unfenced +\[flawed\]'
run $own/classics.c 'dekker*' --model tso
expect "names and options are for the file's scenarios" 0 '^ok +tso dekker_unfenced VIOLATION assertion' '^3 passed, 0 failed$'

# ---- several files, options of the compiler, names of their own -----------------------------------------------------------------

cat >"$dir/counter.c" <<'END'
/* Names that the checker's own code has as well. */
#include "counter.h"
atomic_int cells, run, model, graph_push, report_trace, memory_alloc, sys;
void count(void) { cells += BY; }
END
cat >"$dir/counter.h" <<'END'
#include <stdatomic.h>
extern atomic_int cells;
void count(void);
END
cat >"$dir/scenario.c" <<'END'
#include "counter.h"
#include <weft/chk.h>
static void finish(void) { chk_assert(cells == 4, "both counted by two"); }
CHK_SCENARIO(counts, .threads = {count, count}, .finish = finish)
END
run "$dir/counter.c" "$dir/scenario.c" -- -DBY=2
expect "several files, with an option" 0 '^3 passed, 0 failed$'
run "$dir/counter.c" "$dir/scenario.c" --model c11 -- -DBY=3
expect "an option is part of the replay line" 1 "replay: weft check .*counter.c .*scenario.c --replay 'counts@c11:0*1*' -- -DBY=3"
if command -v clang >/dev/null; then
    CC='clang -w' run $own/classics.c
    expect "another compiler, with a word" 0 ', 0 failed$'
fi

# ---- what goes wrong ----------------------------------------------------------------------------------------------------------

run "$dir/missing.c"
expect "a file that is not there" 2 "^weft check: .*missing.c: No such file"
printf 'int f(void) { return x; }\n' >"$dir/broken.c"
run "$dir/broken.c"
expect "a file that does not compile: the compiler's words" 2 'broken.c:1:22: error: .*x' '^weft check: .*broken.c was not compiled$'
printf 'int f(void) { return 0; }\n' >"$dir/none.c"
run "$dir/none.c"
expect "a file without a scenario" 2 'there is no scenario in these files: CHK_SCENARIO'
run "$dir/scenario.c"
expect "a file that needs another" 2 'undefined reference to .count' 'was not linked; a file that the named ones need can be named beside them'
CC=no-such-compiler run "$dir/none.c"
expect "no compiler" 2 'the compiler no-such-compiler cannot be run: No such file.*CC'
TMPDIR=/nonexistent run "$dir/none.c"
expect "no place for temporary files" 2 'no temporary folder /nonexistent'
for word in nonesuch.cpp ./nonesuch "$out"; do
    run "$word"
    expect "a file that is not C: $(basename "$word")" 2 'only C is checked, in files whose names end in .c'
done
run examples/check/spsc.c "$PWD/examples/check/spsc.c"
expect "a file that is named twice" 2 '/spsc.c is named twice'
mkdir "$dir/folder.c"
run "$dir/folder.c"
expect "a folder" 2 'folder.c is a folder'
printf '#include <weft/chk.h>\nCHK_SCENARIO(idle, .about = "nothing")\n' >"$dir/idle.c"
run "$dir/idle.c"
expect "a scenario without threads" 2 "scenario 'idle' of idle.c has no threads"
run $own/refused_create.c
expect "a thread of its own" 3 'starts_thread calls pthread_create.*chk_self'
run $own/refused_local.c
expect "thread-local data" 3 'thread-local data .*struct of its own'
run $own/refused_mixed.c
expect "a plain access to an atomic object" 3 'writes pair, an atomic object, by a plain access at refused_mixed.c:12' 'atomic_init'
run $own/refused_big.c
expect "an atomic object that is too big" 3 'atomic object of 100 bytes; at most 64'

# Interrupted while the compiler runs: it ends too, and nothing is left behind.
printf '#!/bin/sh\necho $$ >"%s/compiler"\nexec sleep 600\n' "$dir" >"$dir/slow"
chmod +x "$dir/slow"
for signal in INT TERM; do
    rm -f "$dir/compiler"
    CC=$dir/slow env --default-signal=INT "$weft" check "$dir/none.c" >"$out" 2>&1 </dev/null &
    command=$!
    until [ -s "$dir/compiler" ]; do sleep 0.05; done
    kill -$signal $command
    wait $command
    status=$?
    expect "interrupted by SIG$signal" $((128 + $(kill -l $signal)))
    if kill -0 "$(cat "$dir/compiler")" 2>/dev/null; then fail "SIG$signal ends the compiler" "it still runs"; else ok "SIG$signal ends the compiler"; fi
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
