#!/usr/bin/env bash
# What takes minutes of a real Slurm (scripts/slurm), with the program as it is: the USR1 before the time limit, the limit
# itself without one, preemption under mpirun, and a chain of a recorded program, its analysis and its prediction. Each ends
# with a line "ok" or "FAIL"; the status is the number of failures. Needs root, Slurm (scripts/setup --test) and mpicc.
#
# usage: bench/slurm/run.sh [CASE...]     limit timeout preempt record; all without names
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
if [ "${1:-}" != inside ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	go build -o "$work/coppice" ./cmd/coppice || exit 1
	KILL_WAIT=20 scripts/slurm run "$work/daemons" "$root/bench/slurm/run.sh" inside "$work" "$@"
	exit
fi
work=$2
shift 2
[ $# -gt 0 ] || set -- limit timeout preempt record
cd "$work" || exit 1
coppice=$work/coppice
failed=0
printf 'schema = "coppice.site/1"\ncores = 8\nmemory_gib = 32\nmax_minutes = 10\nnotice_seconds = 30\n' >site.toml
printf 'schema = "coppice.platform/1"\n[links.net]\nL_ns = 1000\nG_ns_per_byte = 0.1\n' >platform.toml

state() { scontrol --oneliner show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"; }
verdict() { # NAME WHAT EXPECTED GOT
	if [ "$3" = "$4" ]; then echo "ok   $1: $2 is $4"; else
		echo "FAIL $1: $2 is $4, not $3"
		failed=$((failed + 1))
	fi
}
number() { sed -n 's/^job \([0-9]*\): .*/\1/p'; }
finished() { # JOB: waits for its end, 10 minutes at most
	local i
	for i in $(seq 1200); do
		case $(state "$1" JobState) in
		COMPLETED) return ;;
		FAILED | CANCELLED | TIMEOUT | NODE_FAIL)
			sed "s/^/     job $1: /" "coppice-$1.out"
			return
			;;
		esac
		sleep 0.5
	done
}
running() { until [ "$(state "$1" JobState)" = RUNNING ] && [ -s "coppice-$1.status" ]; do sleep 0.1; done; }
trace() {
	[ -d trace ] || "$coppice" demo -o trace --spec stencil:procs=8,events=12M,depth=40,seed=2 >/dev/null
	[ -f want.xtf ] || "$coppice" analyze trace -o want.xtf -q --events none
}
# freeze JOB OUTPUT: stops its ranks as soon as they load, so that the job reaches its limit
freeze() {
	local p pids
	running "$1"
	until grep -q '"stage":"load"' "coppice-$1.status"; do sleep 0.01; done
	pids=$(for p in /proc/[0-9]*; do tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -q "^$coppice .* -o $2 " && echo "${p#/proc/}"; done)
	# shellcheck disable=SC2086
	kill -STOP $pids
	echo "$pids"
}
same() { if cmp -s "$2" want.xtf; then verdict "$1" "$2" equal equal; else verdict "$1" "$2" equal different; fi; }

# limit: the job reaches its limit of two minutes; Slurm sends USR1 30 s before it, up to 60 s early. The ranks are stopped
# until then; Slurm lets them go on when it signals them.
limit() {
	local id pids began
	trace
	id=$("$coppice" plan analyze trace -o limit.xtf --site site.toml --ranks 2 --nodes 2 --time 2m --submit -- --events none | number)
	pids=$(freeze "$id" limit.xtf)
	began=$(date +%s)
	while [ -d "/proc/${pids%%$'\n'*}" ]; do sleep 0.2; done
	echo "     limit: the ranks ended $(($(date +%s) - began)) s after they were stopped, at a limit of 120 s"
	finished "$id"
	verdict limit state COMPLETED "$(state "$id" JobState)"
	verdict limit restarts 1 "$(state "$id" Restarts)"
	same limit limit.xtf
}

# timeout: no USR1, because somebody took the option out; at the limit the ranks get TERM from slurmd and from srun, which are
# one. The job saves within Slurm's KillWait and goes back.
timeout_() {
	local id
	trace
	"$coppice" plan analyze trace -o timeout.xtf --site site.toml --ranks 2 --nodes 2 --time 1m --format script -- --events none |
		sed '/--signal/d' >timeout.sh
	id=$(sbatch --parsable timeout.sh)
	freeze "$id" timeout.xtf >/dev/null
	finished "$id"
	verdict timeout state COMPLETED "$(state "$id" JobState)"
	verdict timeout restarts 1 "$(state "$id" Restarts)"
	same timeout timeout.xtf
}

# preempt: the same under mpirun, whose helpers on other nodes get the TERM: the job goes on from its last checkpoint.
preempt() {
	local id
	trace
	id=$("$coppice" plan analyze trace -o preempt.xtf --site site.toml --launcher mpirun --ranks 4 --nodes 2 --submit -- --events none | number)
	freeze "$id" preempt.xtf >/dev/null
	sbatch --parsable --partition=urgent --nodes=4 --exclusive --output=/dev/null --wrap true >/dev/null
	finished "$id"
	verdict preempt state COMPLETED "$(state "$id" JobState)"
	verdict preempt restarts 1 "$(state "$id" Restarts)"
	same preempt preempt.xtf
}

# record: a program on 4 nodes, its analysis and its prediction, each when the one before has ended well.
record() {
	local ids id
	mpicc -O2 -I"$root/record/include" -o stencil "$root/record/examples/stencil.c" || return
	ids=$("$coppice" plan record run --site site.toml --ranks 8 --nodes 4 --time 5m --expect 10MB --submit \
		--then "analyze -o run.xtf" --then "predict --platform platform.toml" -- ./stencil --size 1000 --steps 50 --compute sleep | number)
	for id in $ids; do
		finished "$id"
		verdict record "state of $id" COMPLETED "$(state "$id" JobState)"
	done
	"$coppice" info run.xtf | sed -n 's/^processes/     record: processes/p'
	grep -h -m 1 -i 'makespan\|runtime\|predicted' "coppice-${ids##*$'\n'}.out" | sed 's/^/     record: /'
}

for c in "$@"; do
	case $c in
	limit | preempt | record) "$c" ;;
	timeout) timeout_ ;;
	*) echo "no case $c" >&2; exit 2 ;;
	esac
done
exit $failed
