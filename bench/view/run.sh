#!/usr/bin/env bash
# Speed and memory of coppice serve on a large generated run: time to the first picture, tiles cold and warm, statistics
# of windows over 1 000 ranks, and the memory of the server next to its --mem. The run is made once and kept in DIR.
#
# usage: bench/view/run.sh [-d DIR] [-m MEM] [-s SPEC]
#   default: /tmp/coppice-bench-view, 512M, 4 096 processes and 10^8 events (needs 2 GB of disk, 3 GB of memory)
set -eu
cd "$(dirname "$0")/../.."
dir=${TMPDIR:-/tmp}/coppice-bench-view mem=512M spec=stencil:procs=4096,events=100M,jitter=10,imbalance=30,seed=1
while getopts d:m:s: o; do
	case $o in d) dir=$OPTARG ;; m) mem=$OPTARG ;; s) spec=$OPTARG ;; *) exit 2 ;; esac
done
mkdir -p "$dir"
go build -o "$dir/coppice" ./cmd/coppice
go build -C bench -o "$dir/client" ./view
if ! [ -s "$dir/run.xtf" ] || [ "$(cat "$dir/spec" 2>/dev/null)" != "$spec" ]; then
	rm -rf "$dir/trace" "$dir/run.xtf"
	"$dir/coppice" demo -o "$dir/trace" --spec "$spec" >/dev/null
	/usr/bin/env time -f "analyze: %e s wall, %U s of processor time, %M KiB" \
		"$dir/coppice" analyze "$dir/trace/traces.otf2" -o "$dir/run.xtf" --interval region:timestep -q
	rm -rf "$dir/trace"
	echo "$spec" >"$dir/spec"
fi
echo "$spec: $(stat -c %s "$dir/run.xtf") bytes, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
sync "$dir/run.xtf"
"$dir/client" -coppice "$dir/coppice" -run "$dir/run.xtf" -mem "$mem"
