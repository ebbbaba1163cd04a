#!/usr/bin/env bash
# clustering: predict/cluster next to fastcluster, and next to scipy's own linkage, on vectors of 32 numbers that
# bench/predict/cluster makes, with distances L1. One core each. Times are of distances and linkage: the others have read the
# vectors before, coppice makes them meanwhile. Where distances are equal the order of merges is free, so heights differ a little.
. bench/sections/lib.sh

rounds=2
[ -z "$BENCH_QUICK" ] || rounds=1
own=$BENCH_WORK/cluster
go build -C bench -o "$own" ./predict/cluster
threshold=5 # percent of the mean sum of a vector, for classes

# clusters MEMBERS LINKAGE LIBRARY ROUNDS [classes]: the whole dendrogram, or only the classes at the threshold.
clusters() {
	local members=$1 linkage=$2 library=$3 dir=$BENCH_WORK/$1-$2-$3${5:-} what="$1 vectors, $2 linkage" heights note height=
	local options=(-k "$members" -linkage "$linkage")
	if [ -n "${5:-}" ]; then
		what="$members vectors, classes at $threshold % of $linkage linkage"
		options+=(-percent "$threshold")
	fi
	if ! /usr/bin/python3 -c 'import scipy, fastcluster' 2>/dev/null; then
		skip clustering "$what" "$library" "needs Debian's python3-scipy and python3-fastcluster"
		return
	fi
	say "$what, $library"
	mkdir "$dir"
	"$own" -k "$members" -dump "$dir/vectors"
	for _ in $(seq "$4"); do
		GOMAXPROCS=1 "$own" "${options[@]}" >"$dir/said"
		sed -n 's/.*CPU \([0-9.]*\) s in all.* memory \([0-9]*\) MB on the largest.*/\1 \2/p' "$dir/said" >>"$dir/own"
		[ -z "${5:-}" ] || height=$(sed -n 's/.*threshold \([0-9.]*\),.*/\1/p' "$dir/said")
		/usr/bin/python3 bench/predict/cluster/peer.py "$dir/vectors" 32 "$linkage" "$library" $height >>"$dir/peer"
	done
	rm "$dir/vectors"
	if [ -n "${5:-}" ]; then
		note="$(sed -n 's/.* \([0-9]*\) classes.*/\1/p' "$dir/said") and $(tail -1 "$dir/peer" | cut -d ' ' -f 4) classes"
	else
		heights=$(sed -n 's/.*sum of heights \([0-9.]*\),.*/\1/p' "$dir/said")
		note="heights differ by $(awk -v a="$heights" -v b="$(tail -1 "$dir/peer" | cut -d ' ' -f 3)" 'BEGIN { printf "%.3f %%", 100 * (a > b ? a / b - 1 : b / a - 1) }')"
	fi
	row clustering "$what" "$library" "$(column 1 "$dir/own")" "$(column 1 "$dir/peer")" "CPU s" less "$note"
	row clustering "$what" "$library" "$(column 2 "$dir/own")" "$(column 2 "$dir/peer")" MiB less "peak memory"
}

for package in fastcluster scipy; do
	version=$(debian python3-$package)
	[ -z "$version" ] || peer "$package" "$version"
done

if [ -n "$BENCH_QUICK" ]; then
	clusters 500 complete fastcluster 1
	clusters 500 complete fastcluster 1 classes
	exit
fi
clusters 2000 complete fastcluster $rounds
for linkage in complete average single; do
	clusters 10000 $linkage fastcluster $rounds
done
clusters 10000 complete scipy 1
clusters 20000 complete fastcluster 1
clusters 20000 complete fastcluster 1 classes
