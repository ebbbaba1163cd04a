#!/usr/bin/env bash
# bench/capacity/rerun.sh [CHUNKS...]
#
# Records record/examples/pipeline.c with 64 chunks, makes a model of it, and compares what the model says of other numbers of chunks
# (16 32 128) with runs of them. A run's work is the same in all: the chunks are smaller. Processes sleep instead of computing,
# so cores that others use matter less. Needs mpicc and mpirun; coppice is bin/coppice.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
coppice=$PWD/bin/coppice
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make -s -C examples pipeline
cp record/examples/pipeline "$dir/"
cd "$dir"

# record CHUNKS
record() {
	local size
	size=$(awk -v n="$1" 'BEGIN { printf "%d", 512 * sqrt(64 / n) + 0.5 }')
	"$coppice" record -o "run$1" -- mpirun ${MPIRUN_FLAGS:-} -n 4 ./pipeline --compute=sleep --slow 200 --size "$size" --steps "$1" >/dev/null 2>&1
	"$coppice" analyze "run$1/traces.otf2" -o "run$1.xtf" -q
}

record 64
"$coppice" capacity extract run64.xtf -o model.toml 2>&1 | grep self-check || true
echo "chunks  model s  run s"
for n in "${@:-16 32 128}"; do
	for chunks in $n; do
		record "$chunks"
		said=$("$coppice" capacity sweep model.toml --vary "chunks=$chunks" --format csv | awk -F, 'NR == 2 { print $2 }' || true)
		took=$("$coppice" capacity extract "run$chunks.xtf" -o "model$chunks.toml" 2>&1 | sed -n 's/.*the run took \([^ ]*\) s.*/\1/p' || true)
		printf '%6d  %7.3f  %5s\n' "$chunks" "$said" "$took"
	done
done
