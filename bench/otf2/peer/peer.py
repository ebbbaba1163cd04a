"""Reads an OTF2 archive with OTF2's Python bindings, for comparison with ours.

    peer.py merge ANCHOR

The bindings know all locations by time alone. Prints the number of events, the
CPU seconds spent on them and a sum over their fields, as peer.c does."""
import resource
import sys

import otf2
from otf2.events import Enter, Leave, MpiRecv, MpiSend


def cpu_seconds():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "merge":
        sys.exit("usage: peer.py merge ANCHOR")
    count = total = 0
    with otf2.reader.open(sys.argv[2]) as trace:
        before = cpu_seconds()
        for _, event in trace.events:
            count += 1
            if isinstance(event, (Enter, Leave)):
                total ^= event.time + event.region._ref
            elif isinstance(event, MpiSend):
                total ^= event.time + event.receiver + event.communicator._ref + event.msg_tag + event.msg_length
            elif isinstance(event, MpiRecv):
                total ^= event.time + event.sender + event.communicator._ref + event.msg_tag + event.msg_length
        print(count, "%.6f" % (cpu_seconds() - before), "%x" % total)


main()
