#!/usr/bin/env bash
# container: XTF next to LMDB, SQLite and bbolt on the same records of 64 bytes, by bench/xtf/run.sh; how each is set up is
# in docs/performance.md.
. bench/sections/lib.sh

options="-n 8000000 -r 3 -q 500000 -c 200" records="8 M records of 64 bytes"
quick && options="-n 400000 -r 1 -q 20000 -c 20" records="400 000 records of 64 bytes"
say "$records"
bench/xtf/run.sh -l $options -d "$BENCH_WORK" >"$BENCH_WORK/lines"

# compare STORE NAME
compare() {
	local store=$1 name=$2 metric unit scale what own other reads
	if ! grep -q "^$store	" "$BENCH_WORK/lines"; then
		skip container "$records" "$name" "could not be built"
		return
	fi
	# the lines of a metric have no fixed order
	while IFS='|' read -r metric unit scale what; do
		read -r own other < <(awk -F '\t' -v s="$store" -v m="$metric" -v k="$scale" '$1 == s && $2 == m { print $3 * k, $4 * k }' "$BENCH_WORK/lines")
		note=
		if [ "$metric" = cold_us ]; then
			note=$(awk -F '\t' -v s="$store" '$1 == s && $2 == "cold_reads" { printf "wall time; pages read %.1f and %.1f", $3, $4 }' "$BENCH_WORK/lines")
		fi
		[ "$metric" = build_peak_kib ] && note="mapped pages of the file count; XTF may hold 256 MiB"
		row container "$records: $what" "$name" "$own" "$other" "$unit" less "$note"
	done <<-END
		build_cpu_s|CPU s|1|build, in order of time
		build_peak_kib|MiB|0.0009765625|build, peak memory
		bytes|MB|1e-6|size
		search_ns|CPU ns|1|find a time, in memory
		record_ns|CPU ns|1|find a time and read a field, in memory
		count_us|CPU us|1|count the records between two times
		cold_us|us|1|find a time, nothing in memory
	END
}

peer LMDB "$(debian liblmdb-dev)"
peer SQLite "$(debian libsqlite3-dev)"
peer bbolt "$(awk '$1 == "go.etcd.io/bbolt" { print $2 }' bench/go.mod)"
compare lmdb LMDB
compare sqlite SQLite
compare bbolt bbolt
