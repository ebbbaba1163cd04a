#!/usr/bin/env bash
# reading: how fast OTF2 archives are read, by bench/otf2/run.sh. A generated ring of messages, and real archives.
. bench/sections/lib.sh

decode="by location, counted"
touch="by location, every event looked at"
merge="by time, every event looked at"

# compare WHAT PEER ARGUMENTS...: of otf2/run.sh
compare() {
	local what=$1 peer=$2 with=libotf2 package=libotf2-trace-dev mode reader own other
	shift 2
	[ "$peer" = libotf2 ] || with=python package=python3-otf2
	say "$what, $peer"
	bench/otf2/run.sh -l -w $with "$@" >"$BENCH_WORK/lines"
	[ -s "$BENCH_WORK/lines" ] || skip reading "$what" "$peer" "needs Debian's $package"
	while IFS=$'\t' read -r mode reader own other; do
		row reading "$what: ${!mode}" "$peer" "$own" "$other" "M events/CPU s" more
	done <"$BENCH_WORK/lines"
}

peer libotf2 "$(debian libotf2-trace-dev), cc -O3 -march=native"
peer "Python bindings" "$(debian python3-otf2)"
if quick; then
	compare "ring, 16 locations, 200k events" libotf2 -r 1 ring:procs=16,events=200k,jitter=5
	compare "ring, 16 locations, 200k events" "Python bindings" -r 1 ring:procs=16,events=200k,jitter=5
else
	compare "ring, 16 locations, 16M events" libotf2 -r 5 ring:procs=16,events=16M,jitter=5
	compare "ring, 16 locations, 1M events" "Python bindings" -r 3 ring:procs=16,events=1M,jitter=5
fi
for name in npb-cg.S-16 npb-lu.S-func-4; do
	if real "$name"; then
		compare "$name" libotf2 -r "$(quick && echo 1 || echo 7)" "$anchor"
		compare "$name" "Python bindings" -r "$(quick && echo 1 || echo 3)" "$anchor"
	else
		skip reading "$name" libotf2 "no such real archive (--traces)"
	fi
done
