#!/bin/bash
# Predicted next to measured on this machine: bench/predict/host.sh [-r RUNS] [-d DELAY_US] [-c CLASSES] [-w FOLDER] [CASE...].
# A case is PROGRAM:PROCESSES:IMBALANCE of record/examples/ with --compute=sleep, PROGRAM:2:busy with real computation, or lammps:2:busy.
# Printed are seconds of the marked part of the program (lammps: of the whole run): the least and the mean of RUNS recorded runs,
# how far they lie apart, and predictions from the run that took least:
#   here    the same machine: network of platform.toml, which coppice platform measure wrote first
#   there   another machine: twice the computing time, DELAY_US more for each send; measured by runs that sleep so long, predicted
#           from the run here and replays of the representatives with twice the computing time; with real computation
#           the network stays
# Other work on the processors disturbs MPI calls, which no model has: use a machine that does nothing else.
# The parts of the error follow, that of replays for all representatives together and for the worst of them.
# Needs mpicc, mpif90, mpirun (Open MPI) and coppice in PATH or COPPICE.
set -eu
runs=3 delay=2000 classes=20% work=
here=$(cd "$(dirname "$0")" && pwd) coppice=${COPPICE:-coppice}
while getopts r:d:c:w: o; do
	case $o in
	r) runs=$OPTARG ;;
	d) delay=$OPTARG ;;
	c) classes=$OPTARG ;;
	w) work=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ $# = 0 ]; then
	for p in stencil wavefront pipeline; do
		for n in 4 8 16; do set -- "$@" $p:$n:0 $p:$n:50; done
	done
	set -- "$@" stencil:2:busy wavefront:2:busy lammps:2:busy
fi
if [ -z "$work" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launcher() { echo "mpirun --oversubscribe --bind-to none -n $1"; }

# command PROGRAM PROCESSES KIND FACTOR DELAY prints a program and its arguments.
command() {
	local size steps slow
	case $1 in
	stencil) size=2000 steps=100 slow=$((5 * $2 / 2)) ;;
	wavefront) size=256 steps=5 slow=$((150 * $2)) ;;
	pipeline) size=512 steps=$((50 * ($2 - 2))) slow=40 ;;
	lammps)
		echo "lmp -in $here/melt.lmp -log none -screen none"
		return
		;;
	esac
	if [ "$3" = busy ]; then
		[ "$1" = wavefront ] && slow=20 || slow=1
		echo "$work/$1 --size $size --steps $steps --slow $((slow * $4))"
	else
		echo "$work/$1 --size $size --steps $steps --compute sleep --imbalance $3 --slow $((slow * $4)) --delay-us $5"
	fi
}

# seconds XTF prints the time of interval 1, or of the whole run where there is none.
seconds() {
	local ticks
	ticks=$("$coppice" report "$1" --format json | awk '$1 == "\"resolution\":" { print $2 + 0; exit }')
	"$coppice" report "$1" intervals --format csv | awk -F, -v t="$ticks" '$5 == 1 && $9 > m { m = $9 } $4 == 0 && $9 > w { w = $9 } END { printf "%.6f\n", (m ? m : w) / t }'
}

# recorded NAME COMMAND... records and analyses a run and prints its seconds. LOGS are the processes with receive logs.
recorded() {
	local name=$1 logs=${LOGS:-}
	shift
	rm -rf "$work/$name"
	"$coppice" record ${logs:+--log-ranks "$logs"} -o "$work/$name" -- "$@" >>"$work/log" 2>&1
	"$coppice" analyze "$work/$name/traces.otf2" -o "$work/$name.xtf" -f -q 2>>"$work/log"
	seconds "$work/$name.xtf"
}

# replayed COMMAND... replays each log of the last run with logs and prints a flag FLAG=FOLDER for each. Sleeping processes are
# replayed alone, computing ones together, as many as ran.
replayed() {
	local flag=$1 log
	shift
	rm -rf "$work/replayed"
	if [ "$kind" = busy ]; then
		"$coppice" replay "$work"/again/logs/*.log --repeat 3 --ranks-per-node $((n / $(ls "$work"/again/logs/*.log | wc -l))) -o "$work/replayed" -- "$@" >>"$work/log" 2>&1
		echo "$flag=$work/replayed"
		return
	fi
	for log in "$work"/again/logs/*.log; do
		"$coppice" replay "$log" -o "$work/replayed/$(basename "$log")" -- "$@" >>"$work/log" 2>&1
		echo "$flag=$work/replayed/$(basename "$log")"
	done
}

# share NAME prints a part of the error from a report, in per cent.
share() { awk -v name="\"$1\":" '$1 == name { v = $2; sub(",", "", v); print (v == "null") ? "n/a" : sprintf("%.2f", 100 * v); exit }'; }

# row WHAT FILE PREDICTED PARTS: least, mean and spread of the numbers in FILE next to a prediction.
row() {
	awk -v what="$1" -v p="$3" -v parts="$4" '{ s += $1; if (!n++ || $1 < a) a = $1; if ($1 > b) b = $1 } END {
		m = s / n
		printf "%-20s %9.4f %9.4f %7.2f %% %9.4f %+7.2f %% %+7.2f %%   %s\n", what, a, m, 100 * (b - a) / m, p, 100 * (p / a - 1), 100 * (p / m - 1), parts }' "$2"
}

for p in stencil pipeline; do mpicc -O2 -std=gnu11 -I"$here/../../record/include" -o "$work/$p" "$here/../../record/examples/$p.c"; done
(cd "$work" && mpif90 -O2 -o wavefront "$here/../../record/include/coppice_intervals.f90" "$here/../../record/examples/wavefront.f90")
$(launcher 2) "$coppice" platform measure -o "$work/platform.toml" -f --name here
# there: the sender pays the delay, between processes; a sleep takes longer than it should
cat >"$work/nap.c" <<'END'
#define _GNU_SOURCE
#include "options.h"
int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < 200; i++) {
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		sleep_for(atof(argv[1]));
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%.0f\n", (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec));
	}
	return 0;
}
END
gcc -O2 -w -I"$here/../../record/examples" -o "$work/nap" "$work/nap.c"
nap=$("$work/nap" "$delay" | sort -n | sed -n 100p) # the median
awk -v d="$nap" '/^\[/ { node = $0 == "[links.node]" } node && $1 == "o_send_ns" { $3 += d } { print }' "$work/platform.toml" >"$work/there.toml"

echo "a sleep of $delay us takes $nap ns"
printf '%-20s %9s %9s %9s %9s %9s %9s   %s\n' case least mean spread predicted 'to least' 'to mean' 'error in per cent: network, classes, replay'
for c; do
	IFS=: read -r program n kind <<<"$c"
	launch=$(launcher "$n")
	: >"$work/here" && : >"$work/there"
	for i in $(seq 1 "$runs"); do
		recorded "again" $launch $(command "$program" "$n" "$kind" 1 0) >>"$work/here"
		[ "$(sort -n "$work/here" | head -1)" = "$(tail -1 "$work/here")" ] && cp "$work/again.xtf" "$work/first.xtf"
	done
	"$coppice" predict "$work/first.xtf" --platform "$work/platform.toml" --classes "$classes" -q -o "$work/here.xtf" -f --format json >"$work/here.json"
	reps=$(awk '$1 == "\"representative\":" { sub(",", "", $2); print $2 }' "$work/here.json" | sort -un | paste -sd,)
	LOGS=$reps recorded "again" $launch $(command "$program" "$n" "$kind" 1 0) >/dev/null
	vectors=$(replayed --host-vectors $(command "$program" "$n" "$kind" 1 0))
	"$coppice" predict "$work/first.xtf" --self-check --substitute copy --classes "$classes" --host-platform "$work/platform.toml" $vectors -q --format json >"$work/check.json"
	all=$("$coppice" predict "$work/first.xtf" --platform "$work/platform.toml" --classes "$classes" ${vectors//--host-/--} -q |
		awk '$1 == "process" && / there, / { for (i = 1; i < NF; i++) { if ($(i + 2) == "there,") t += $i; if ($(i + 2) == "recorded,") r += $i } } END { printf "%.2f", r ? 100 * (t > r ? t - r : r - t) / r : 0 }')
	parts="$(share net <"$work/check.json") $(share class <"$work/check.json") $all (of one process at most $(share replay <"$work/check.json"))"
	row "$c here" "$work/here" "$(seconds "$work/here.xtf")" "$parts"
	[ "$program" = lammps ] && continue
	vectors=$(replayed --vectors $(command "$program" "$n" "$kind" 2 0))
	target=$work/there.toml
	[ "$kind" = busy ] && target=$work/platform.toml
	"$coppice" predict "$work/first.xtf" --platform "$target" --classes "$classes" $vectors -q -o "$work/there.xtf" -f --format json >"$work/there.json"
	for i in $(seq 1 "$runs"); do
		recorded "target" $launch $(command "$program" "$n" "$kind" 2 "$delay") >>"$work/there"
	done
	row "$c there" "$work/there" "$(seconds "$work/there.xtf")" "representatives $reps"
done
