#!/usr/bin/env bash
# Runs SCOUT of Scalasca on each archive of a folder, with as many ranks as the archive has processes, and prints its waits, critical path
# and delay costs, a line for each archive, metric and call path (the comment of main.go); what jobs/testdata/scout.txt.gz has. Archives
# are copied first, as SCOUT writes beside them. To the errors: what SCOUT said where it failed. SCOUT is of bench/peers.sh.
#
#   bench/scout/run.sh [-p PEERS] ../shared/traces/otf2/* | gzip -9n >jobs/testdata/scout.txt.gz
#   bench/scout/run.sh [-p PEERS] -t ROUNDS ../shared/traces/otf2/*
#
# With -t it measures instead, SCOUT and coppice analyze in turns: a row of a Markdown table for each archive, with medians of the rounds.
# CPU time is user and system time of all ranks, memory the peak of the rank that has most, as the kernel counts them.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
peers=$root/out/bench/peers rounds=0
while getopts p:t: o; do
	case $o in p) peers=$OPTARG ;; t) rounds=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
go build -C "$root" -o "$work" ./bench/scout ./cmd/coppice

# ranks N COMMAND...: N ranks of a command; $work/used gets a line for each: user, system seconds, KiB at most
ranks() {
	local n=$1
	shift
	rm -f "$work/used"
	mpirun --oversubscribe --bind-to none -n "$n" /usr/bin/env time -a -o "$work/used" -f '%U %S %M' "$@"
}

# measure N COMMAND...: CPU seconds, wall seconds, MiB of such a run
measure() {
	local begin=$EPOCHREALTIME end
	ranks "$@" >"$work/log" 2>&1
	end=$EPOCHREALTIME
	awk -v begin="$begin" -v end="$end" '{ cpu += $1 + $2; if ($3 > most) most = $3 } END { print cpu, end - begin, most / 1024 }' "$work/used"
}

# medians FILE: of each of its three columns
medians() {
	local k
	for k in 1 2 3; do
		sort -g -k "$k,$k" "$1" | awk -v k="$k" '{ x[NR] = $k } END { printf(k < 3 ? "%.2f | " : "%.1f", x[int((NR + 1) / 2)]) }'
	done
}

for folder; do
	name=$(basename "$folder") copy=$work/archive
	rm -rf "$copy" && cp -rL "$folder" "$copy" && chmod -R u+w "$copy"
	archive=$(echo "$copy"/*.otf2)
	if ! processes=$("$work/scout" "$archive") || [ "$processes" = 0 ]; then
		echo "$name: no processes of MPI" >&2
		continue
	fi
	if ! ranks "$processes" "$peers/scout/scout.mpi" "$archive" >"$copy/log" 2>&1 || ! [ -s "$copy/scout.cubex" ]; then
		echo "$name: SCOUT failed: $(grep -v '^ *$' "$copy/log" | tail -1)" >&2
		continue
	fi
	if [ "$rounds" = 0 ]; then
		"$work/scout" "$archive" "$copy/scout.cubex" | sed "s|^|$name\t|"
		continue
	fi
	rm -f "$work"/*.times
	for _ in $(seq "$rounds"); do
		rm -rf "$copy"/scout.*
		measure "$processes" "$peers/scout/scout.mpi" "$archive" >>"$work/scout.times"
		measure "$processes" "$work/coppice" analyze --quiet --force -o "$work/run.xtf" "$archive" >>"$work/same.times"
		measure 1 "$work/coppice" analyze --quiet --force -o "$work/run.xtf" "$archive" >>"$work/one.times"
	done
	echo "| $name | $processes | $(medians "$work/scout.times") | $(medians "$work/same.times") | $(medians "$work/one.times") |"
done
