#!/bin/bash
# Changes one formula at a time in a copy of the tree, and runs the test that is to notice: a comparison flipped, a term dropped, off by one.
#
#   bench/mutations/run.sh [WORD]     rows of table.tsv that have WORD in them; all without
#
# A row of table.tsv is, with tabs in between: file, text that occurs once in it, text in its place, package, -run of go test. Prints
# killed or survived for each. Exit status 1 if one survived, or a row does not fit the tree any more. Takes a few seconds a row.
set -u
cd "$(dirname "$0")/../.." || exit 2
copy=$(mktemp -d) || exit 2
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy" || exit 2
bad=0

# passes RUN PACKAGE [FLAG]: runs the tests, 0 if they pass. What short tests do not notice the long ones have to.
passes() {
    (cd "$copy" && go test ${3:-} -vet=off -count=1 -timeout 120s -run "$1" "$2") >"$copy/log" 2>&1
}

while IFS=$'\t' read -r file old new package run; do
    path=$copy/$file
    if ! OLD=$old NEW=$new perl -0pi -e '$n = s/\Q$ENV{OLD}\E/$ENV{NEW}/g; END { exit($n != 1) }' "$path"; then
        verdict="does not fit: the text is not once in the file"
    elif passes "$run" "$package" -short && passes "$run" "$package"; then
        verdict=survived
    elif grep -q 'build failed' "$copy/log"; then
        verdict="does not build"
    else
        verdict=killed
    fi
    [ "$verdict" = killed ] || bad=1
    printf '%-12s %s: %s -> %s\n' "$verdict" "$file" "$old" "$new"
    cp "$file" "$path"
done < <(grep -F -- "${1:-}" bench/mutations/table.tsv)
exit $bad
