#!/usr/bin/env bash
# Runs SCOUT of Scalasca on each archive of a folder, with as many ranks as the archive has processes, and prints its waits, a line for
# each archive, pattern and call path (the comment of main.go); what jobs/testdata/scout.txt.gz has. Archives are copied first, as SCOUT
# writes beside them. To the errors: the largest memory of a rank, and what SCOUT said where it failed. SCOUT is of bench/peers.sh.
#
#   bench/scout/run.sh [-p PEERS] ../shared/traces/otf2/* | gzip -9n >jobs/testdata/scout.txt.gz
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
peers=$root/out/bench/peers
while getopts p: o; do
	case $o in p) peers=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
go build -C "$root" -o "$work/scout" ./bench/scout
for folder; do
	name=$(basename "$folder") copy=$work/archive
	rm -rf "$copy" && cp -rL "$folder" "$copy" && chmod -R u+w "$copy"
	archive=$(echo "$copy"/*.otf2)
	if ! processes=$("$work/scout" "$archive") || [ "$processes" = 0 ]; then
		echo "$name: no processes of MPI" >&2
		continue
	fi
	if ! mpirun --oversubscribe --bind-to none -n "$processes" /usr/bin/env time -a -o "$copy/memory" -f %M \
		"$peers/scout/scout.mpi" "$archive" >"$copy/log" 2>&1 || ! [ -s "$copy/scout.cubex" ]; then
		echo "$name: SCOUT failed: $(grep -v '^ *$' "$copy/log" | tail -1)" >&2
		continue
	fi
	"$work/scout" "$archive" "$copy/scout.cubex" | sed "s|^|$name\t|"
	echo "$name: $processes ranks, $(sort -n "$copy/memory" | tail -1) KiB" >&2
done
