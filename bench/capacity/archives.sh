#!/usr/bin/env bash
# bench/capacity/archives.sh [FOLDER]
#
# Makes a capacity model of every archive in the folders of FOLDER (default ../shared/traces/otf2) and prints how far it is off the
# run that it comes from: form, seconds of the run, seconds of the model, per cent. Archives that have no rows or no messages are
# left out and said. coppice is bin/coppice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:-../shared/traces/otf2}
coppice=$PWD/bin/coppice
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
printf '%-28s %-9s %8s %8s %8s\n' archive form run model gap
for anchor in "$folder"/*/*.otf2; do
	name=$(basename "$(dirname "$anchor")")
	if ! "$coppice" analyze "$anchor" -o "$dir/run.xtf" -f -q >/dev/null 2>&1 && ! [ -s "$dir/run.xtf" ]; then
		echo "$name: not analysed"
		continue
	fi
	"$coppice" capacity extract "$dir/run.xtf" -o "$dir/model.toml" -f >/dev/null 2>"$dir/said" || true
	rm -f "$dir/run.xtf"
	form=pipeline
	grep -q '^self-check: a job' "$dir/said" && form=graph
	if ! sed -n 's/^self-check:.* took \([^ ]*\) s, the model says \([^ ]*\) s, \([^ ]*\) %$/\1 \2 \3/p' "$dir/said" | grep . |
		{ read -r run model gap && printf '%-28s %-9s %8s %8s %7s %%\n' "$name" "$form" "$run" "$model" "$gap"; }; then
		echo "$name: $(tail -1 "$dir/said")"
	fi
done
