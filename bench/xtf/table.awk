# Prints the table of run.sh from lines "STORE METRIC VALUE"; with lines=1 the medians alone.

function median(store, metric,    n, i, j, v, t) {
	n = count[store, metric]
	if (n == 0)
		return -1
	for (i = 1; i <= n; i++)
		v[i] = value[store, metric, i]
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j] < v[j - 1]; j--) {
			t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
		}
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}

function row(title, metric, form, scale,    i, m) {
	printf "%-34s", title
	for (i = 1; i <= k; i++) {
		m = median(name[i], metric)
		if (m < 0 || (name[i] == "array" && metric !~ /^(search|count)/))
			printf "%12s", "-"
		else
			printf "%12s", sprintf(form, m * scale)
	}
	printf "\n"
}

# ratio prints how many times as much the others need as XTF.
function ratio(title, metric,    i, own, m) {
	own = median(name[1], metric)
	printf "%-34s", title
	for (i = 1; i <= k; i++) {
		m = median(name[i], metric)
		if (name[i] !~ /^(array|xtf)/ && m >= 0 && m < own)
			behind = behind sprintf("\n  %s: %s needs %.2f of what XTF needs", title, name[i], m / own)
		if (own <= 0 || m < 0 || (name[i] == "array" && metric !~ /^(search|count)/))
			printf "%12s", "-"
		else
			printf "%12s", sprintf(m / own < 100 ? "%.2f" : "%.0f", m / own)
	}
	printf "\n"
}

{
	n = ++count[$1, $2]
	value[$1, $2, n] = $3 + 0
	metrics[$2]
	if ($2 ~ /^check/ && !($2 in seen))
		seen[$2] = $3
	if ($2 ~ /^check/ && seen[$2] != $3) {
		printf "%s: %s is %s, another store has %s\n", $1, $2, $3, seen[$2]
		failed = 1
	}
}

END {
	k = split(stores, name, " ")
	if (lines) {
		for (i = 2; i <= k; i++)
			for (metric in metrics)
				if ((own = median(name[1], metric)) >= 0 && (m = median(name[i], metric)) >= 0)
					printf "%s\t%s\t%.9g\t%.9g\n", name[i], metric, own, m
		exit failed
	}
	rows = seen["check_count"]
	printf "%d records of 64 bytes (%.0f MB), %d rounds, medians; load average before %s, after %s\n\n", records, records * 64 / 1e6, count[name[1], "bytes"], before, after
	printf "%-34s", ""
	for (i = 1; i <= k; i++)
		printf "%12s", name[i]
	printf "\n"
	row("build, s", "build_s", "%.2f", 1)
	row("build, CPU s", "build_cpu_s", "%.2f", 1)
	printf "%-34s", "build, million records/s"
	for (i = 1; i <= k; i++) {
		m = median(name[i], "build_s")
		printf "%12s", name[i] == "array" || m <= 0 ? "-" : sprintf("%.2f", records / m / 1e6)
	}
	printf "\n"
	printf "%-34s", "build, MB of records per CPU s"
	for (i = 1; i <= k; i++) {
		m = median(name[i], "build_cpu_s")
		printf "%12s", name[i] == "array" || m <= 0 ? "-" : sprintf("%.0f", records * 64 / m / 1e6)
	}
	printf "\n"
	row("build, peak memory, MiB", "build_peak_kib", "%.0f", 1 / 1024)
	row("size on disk, MB", "bytes", "%.1f", 1e-6)
	row("search in memory, CPU ns", "search_ns", "%.0f", 1)
	row("search and record, CPU ns", "record_ns", "%.0f", 1)
	row("search cold, us", "cold_us", "%.0f", 1)
	row("  pages read", "cold_reads", "%.1f", 1)
	row("  KiB from the disk", "cold_kib", "%.0f", 1)
	row("open cold, us", "open_us", "%.0f", 1)
	row("count of " rows " records, CPU us", "count_us", "%.2f", 1)
	printf "\ntimes what XTF (first column) needs; above 1: XTF is ahead\n"
	ratio("build, wall", "build_s")
	ratio("build, CPU", "build_cpu_s")
	ratio("size on disk", "bytes")
	ratio("search in memory", "search_ns")
	ratio("search and record", "record_ns")
	ratio("search cold", "cold_us")
	ratio("  pages read", "cold_reads")
	ratio("count of " rows " records", "count_us")
	printf "\n%s\n", behind == "" ? "XTF is ahead of every store in every row" : "XTF is behind in:" behind
	exit failed
}
