"""Whether profile.py and coppice found the same.

    same.py PROFILE.json REPORT.json

REPORT.json is that of "coppice report run.xtf profile comm waits --format json". Calls and times of each function, messages of
each pair and the time of late senders must be equal to the tick."""
import collections
import json
import sys


def by_name(rows, second):
    total = collections.defaultdict(lambda: [0, 0, 0])
    for row in rows:
        sums = total[row["name"]]
        sums[0] += row["calls"]
        sums[1] += round(row["inclusive"] * second)
        sums[2] += round(row["exclusive"] * second)
    return total


def main():
    with open(sys.argv[1]) as file:
        script = json.load(file)
    with open(sys.argv[2]) as file:
        report = json.load(file)
    second = report["waits"]["resolution"]
    late = sum(p["ticks"] for p in report["waits"]["patterns"] if p["pattern"] == "late_sender")
    for what, own, other in [
        ("functions", by_name(report["profile"]["regions"], 1), by_name(script["profile"], second)),
        ("messages", sorted((m["messages"], m["bytes"]) for m in report["comm"]["matrix"]), sorted((m["count"], m["bytes"]) for m in script["messages"])),
        ("late senders", late, round(script["late_sender"] * second)),
    ]:
        if own != other:
            sys.exit(f"{what}: coppice found {own}, the script {other}")


main()
