"""What people write today to analyse an OTF2 archive, for comparison: a script on OTF2's Python bindings.

    profile.py ANCHOR

Prints as JSON: calls, inclusive and exclusive time of each function, the matrix of messages and bytes between processes, and how
long receivers waited for messages that were sent too late (of several in one call the latest counts). It is written plainly, as
one does for one's own trace: one pass over all events in the order of time, dictionaries, no tricks."""
import collections
import json
import sys

import otf2
from otf2.events import Enter, Leave, MpiIrecv, MpiIsend, MpiRecv, MpiSend


class Call:
    def __init__(self, region, begin):
        self.region, self.begin, self.children = region, begin, 0
        self.received = []  # keys and numbers of the messages that ended in the call


class Function:
    def __init__(self):
        self.calls = self.inclusive = self.exclusive = 0


def rank_in(communicator, location):
    return communicator.group.members[location]


def analyse(trace):
    functions = collections.defaultdict(Function)
    matrix = collections.defaultdict(lambda: [0, 0])
    stacks = collections.defaultdict(list)
    sends = collections.defaultdict(list)  # when the n-th send of a channel began
    received = collections.Counter()  # messages of a channel so far
    receives = []  # calls that received, with their messages and their end
    for location, event in trace.events:
        stack = stacks[location]
        if isinstance(event, Enter):
            stack.append(Call(event.region, event.time))
        elif isinstance(event, Leave):
            call = stack.pop()
            took = event.time - call.begin
            function = functions[call.region.name]
            function.calls += 1
            function.exclusive += took - call.children
            if not any(outer.region == call.region for outer in stack):
                function.inclusive += took
            if stack:
                stack[-1].children += took
            if call.received:
                receives.append((call, event.time))
        elif isinstance(event, (MpiSend, MpiIsend)):
            to = rank_in(event.communicator, event.receiver)
            sends[location, to, event.communicator, event.msg_tag].append(stack[-1].begin)
            cell = matrix[location, to]
            cell[0] += 1
            cell[1] += event.msg_length
        elif isinstance(event, (MpiRecv, MpiIrecv)):
            channel = rank_in(event.communicator, event.sender), location, event.communicator, event.msg_tag
            stack[-1].received.append((channel, received[channel]))
            received[channel] += 1
    late = 0
    for call, end in receives:
        sent = max(sends[channel][n] for channel, n in call.received)
        late += max(0, min(sent, end) - call.begin)
    return functions, matrix, late


def main():
    with otf2.reader.open(sys.argv[1]) as trace:
        functions, matrix, late = analyse(trace)
        second = trace.timer_resolution
    json.dump({
        "profile": [
            {"name": name, "calls": f.calls, "inclusive": f.inclusive / second, "exclusive": f.exclusive / second}
            for name, f in sorted(functions.items(), key=lambda item: -item[1].exclusive)
        ],
        "messages": [
            {"from": sender.group.name, "to": receiver.group.name, "count": count, "bytes": size}
            for (sender, receiver), (count, size) in matrix.items()
        ],
        "late_sender": late / second,
    }, sys.stdout, indent=1)


main()
