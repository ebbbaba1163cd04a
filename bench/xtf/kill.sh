#!/bin/sh
# Kills one rank of an analysis at a random moment, again and again, and checks
# after each kill that what stands under the final name is complete or that
# nothing does, and that a run with another number of ranks succeeds over what was
# left behind, with the same bytes.
#
#   bench/xtf/kill.sh [KILLS [SEED]]     default: 200 1
#
# It needs bin/coppice and Open MPI's mpirun. The moments are drawn from a seeded
# generator: a delay after the work folder appears, or after the commit begins.
# What a kill hits depends on the machine's load; the outcome must not.
set -eu
kills=${1:-200} seed=${2:-1}
cd "$(dirname "$0")/../.."
coppice=$PWD/bin/coppice
[ -x "$coppice" ] || { echo "build first: go build -o bin/coppice ./cmd/coppice" >&2; exit 2; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$coppice" demo --archive "$dir" --spec stencil:procs=8,events=2M >/dev/null
in=$dir/traces.otf2 ref=$dir/ref.xtf
export OUT="$dir/run.xtf"
"$coppice" analyze "$in" -o "$ref" -q -j 2

# The rank VICTIM dies DELAY seconds after a file of the run appears.
cat >"$dir/rank" <<'EOF'
seen() { [ -e "$1" ]; }
if [ "$OMPI_COMM_WORLD_RANK" = "$VICTIM" ]; then
	"$@" & child=$!
	while kill -0 $child 2>/dev/null && ! seen "$OUT".$AFTER*; do sleep 0.002; done
	sleep "$DELAY"
	kill -9 $child 2>/dev/null
	wait $child
else exec "$@"; fi
EOF

fail() { echo "kill $n: $*" >&2; exit 1; }

# owner_gone waits for the process that holds the lock: mpirun may end a moment
# before its ranks.
owner_gone() {
	[ -e "$OUT.lock" ] || return 0
	pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$OUT.lock")
	while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
}

# One line a kill: ranks, victim, delay, and what to wait for.
awk -v n="$kills" -v s="$seed" 'BEGIN { srand(s); for (i = 0; i < n; i++) {
	r = 2 + int(rand() * 4); a = rand() < 0.5
	printf "%d %d %.4f %s\n", r, int(rand() * r), rand() * (a ? 0.02 : 0.4), a ? "out." : "work" } }' >"$dir/plan"

n=0 none=0 complete=0
while read -r ranks VICTIM DELAY AFTER <&3; do
	n=$((n + 1))
	export VICTIM DELAY AFTER
	mpirun --oversubscribe --bind-to none -n "$ranks" sh "$dir/rank" \
		"$coppice" analyze "$in" -o "$OUT" -q --store 0 </dev/null >"$dir/log" 2>&1 && code=0 || code=$?
	if [ -e "$OUT" ]; then
		cmp -s "$OUT" "$ref" || fail "the file under the final name differs"
		complete=$((complete + 1))
		rm "$OUT"
	else
		[ "$code" != 0 ] || fail "exit code 0 and no file: $(cat "$dir/log")"
		none=$((none + 1))
	fi
	owner_gone
	"$coppice" analyze "$in" -o "$OUT" -q -j $((1 + n % 3)) || fail "the run after it fails"
	cmp -s "$OUT" "$ref" || fail "the run after it makes another file"
	rm "$OUT"
	left=$(ls "$dir" | grep '^run' || true)
	[ -z "$left" ] || fail "left behind: $left"
	[ $((n % 20)) != 0 ] || echo "$n kills: $none without a file, $complete with the complete one"
done 3<"$dir/plan"
echo "$n kills: $none before the file was there, $complete after; every later run succeeded"
