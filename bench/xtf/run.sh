#!/bin/sh
# Compares XTF with LMDB, SQLite and bbolt on the same records of 64 bytes with
# rising time keys, in one run: each round measures one after the other, the table
# has the medians. A sorted array of the keys in memory is the limit of a search.
#
#   bench/xtf/run.sh [-l] [-n RECORDS] [-r ROUNDS] [-q QUERIES] [-c COLD] [-d DIR]
#
# Defaults: 20 000 000 records, 3 rounds, 1 000 000 lookups in memory, 300 with a
# cold page cache; files go to a new folder in DIR (default: the temporary one),
# which should lie on a real disk for the cold lookups. -l prints lines "STORE METRIC
# XTF'S STORE'S" with tabs instead of the table.
#
# docs/performance.md says how each store is set up. Needs a C compiler, liblmdb and
# sqlite3 (Debian: liblmdb-dev libsqlite3-dev) and, once, the Go module of bbolt. What
# is missing is left out and said.
set -eu

lines= records=20000000 rounds=3 queries=1000000 cold=300 dir=${TMPDIR:-/tmp}
while getopts ln:r:q:c:d: o; do
	case $o in
	l) lines=1 ;;
	n) records=$OPTARG ;;
	r) rounds=$OPTARG ;;
	q) queries=$OPTARG ;;
	c) cold=$OPTARG ;;
	d) dir=$OPTARG ;;
	*) sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "$dir/coppice-xtf.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM

(cd "$here" && go build -tags nompi -o "$work/xtf" .)
stores="xtf xtf-raw4k"
peer() { # name, library, package
	if ! ${CC:-cc} -O3 -march=native -o "$work/$1" "$here/peer/$1.c" "-l$2" 2>"$work/log"; then
		echo "bench/xtf: without $1: cannot build (Debian: apt-get install gcc $3)" >&2
		sed -n 1,3p "$work/log" >&2
		return
	fi
	stores="$stores $1"
}
peer lmdb lmdb liblmdb-dev
peer sqlite sqlite3 libsqlite3-dev
if (cd "$here/bbolt" && go build -o "$work/bbolt" .) 2>"$work/log"; then
	stores="$stores bbolt"
else
	echo "bench/xtf: without bbolt: cannot build (its module comes from the Go proxy)" >&2
	sed -n 1,3p "$work/log" >&2
fi
stores="$stores array"

load() { cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown; }
before=$(load)
i=0
while [ "$i" -lt "$rounds" ]; do
	i=$((i + 1))
	for s in $stores; do
		echo "round $i of $rounds: $s" >&2
		case $s in
		xtf) set -- "$work/xtf" packed ;;
		xtf-raw4k) set -- "$work/xtf" raw4k ;;
		array) set -- "$work/xtf" array ;;
		*) set -- "$work/$s" ;;
		esac
		"$@" "$work/data" "$records" "$queries" "$cold" | sed "s/^/$s /" >>"$work/results"
		rm -f "$work/data"*
	done
done
awk -v before="$before" -v after="$(load)" -v records="$records" -v stores="$stores" -v lines="$lines" -f "$here/table.awk" "$work/results"
