package paraver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/trace"
)

const two = "#Paraver (01/02/2026 at 10:11):1000_ns:1(2):1:2(1:1,1:1),2\nc:1:1:2:1:2\nc:1:2:2:2:1\n"

// TestEvents shows for each situation what the records of a trace become.
func TestEvents(t *testing.T) {
	for _, c := range []struct{ name, records, want string }{
		{"blocking message, received before the line of its send", two + `
			2:1:1:2:1:5:50000001:2
			2:1:1:1:1:10:50000001:1
			3:1:1:1:1:10:20:2:1:2:1:5:25:64:7
			2:1:1:1:1:20:50000001:0
			2:1:1:2:1:25:50000001:0`, `
			0 10 Enter MPI_Send
			0 10 MpiSend 1 0 7 64
			0 20 Leave MPI_Send
			1 5 Enter MPI_Recv
			1 25 MpiRecv 0 0 7 64
			1 25 Leave MPI_Recv`},
		{"counters of a cut trace: what they counted before it is not its own", two + `
			2:1:1:1:1:10:42000050:0
			2:1:1:1:1:10:50000001:1:42000050:123456:42000059:99
			2:1:1:1:1:20:50000001:0:42000050:5`, `
			0 10 Metric 0 1 4 0
			0 10 Metric 1 2 4 0 4 0
			0 10 Enter MPI_Send
			0 20 Metric 0 1 4 5
			0 20 Leave MPI_Send`},
		{"tracing that is off: after the events of its begin, before those of its end", strings.Replace(two, "1000_ns", "95_ns", 1) + `
			1:1:1:1:1:5:10:1
			2:1:1:1:1:5:50000003:31
			1:1:1:1:1:10:90:14
			2:1:1:1:1:10:50000003:0
			1:1:1:1:1:90:90:14
			2:1:1:1:1:90:50000001:1
			2:1:1:1:1:95:50000001:0
			1:1:1:2:1:20:30:14
			1:1:1:2:1:30:40:114`, `
			0 5 Enter MPI_Init
			0 10 Leave MPI_Init
			0 10 MeasurementOnOff 2
			0 90 MeasurementOnOff 1
			0 90 Enter MPI_Send
			0 95 Leave MPI_Send
			1 20 MeasurementOnOff 2
			1 30 MeasurementOnOff 1`},
		{"MPI_Finalize: until Extrae's last records, or until its end before others", two + `
			2:1:1:1:1:5:50000003:32
			2:1:1:1:1:10:50000003:0
			2:2:1:2:1:15:50000003:32
			2:2:1:2:1:20:50000003:0
			2:2:1:2:1:30:50000001:1
			2:2:1:2:1:40:50000001:0
			2:1:1:1:1:80:40000033:4
			2:1:1:1:1:90:40000003:1
			2:1:1:1:1:95:40000003:0`, `
			0 5 Enter MPI_Finalize
			0 80 ParameterUnsignedInt prv:40000033 = 4
			0 90 Leave MPI_Finalize
			0 90 Enter event type 40000003
			0 95 Leave event type 40000003
			1 15 Enter MPI_Finalize
			1 20 Leave MPI_Finalize
			1 30 Enter MPI_Send
			1 40 Leave MPI_Send`},
		{"requests: posted where MPI_Irecv ends, received where MPI_Wait ends", two + `
			2:1:1:1:1:10:50000001:3
			3:1:1:1:1:10:12:2:1:2:1:9:30:64:-1
			2:1:1:1:1:12:50000001:0
			2:1:1:2:1:5:50000001:4
			2:1:1:2:1:9:50000001:0
			2:1:1:2:1:20:50000001:5
			2:1:1:2:1:30:50000001:0`, `
			0 10 Enter MPI_Isend
			0 10 MpiIsend 1 0 none 64 5
			0 10 MpiIsendComplete 5
			0 12 Leave MPI_Isend
			1 5 Enter MPI_Irecv
			1 9 MpiIrecvRequest 5
			1 9 Leave MPI_Irecv
			1 20 Enter MPI_Wait
			1 30 MpiIrecv 0 0 none 64 5
			1 30 Leave MPI_Wait`},
		{"calls that touch: each has its own message", two + `
			2:1:1:1:1:10:50000001:41
			2:1:1:2:1:10:50000001:41
			3:1:1:1:1:10:10:2:1:2:1:10:20:1:0
			3:2:1:2:1:10:10:1:1:1:1:10:20:2:0
			2:1:1:1:1:20:50000001:0
			2:1:1:2:1:20:50000001:0
			2:1:1:1:1:20:50000001:41
			2:1:1:2:1:20:50000001:41
			3:1:1:1:1:20:20:2:1:2:1:20:30:3:0
			3:2:1:2:1:20:20:1:1:1:1:20:30:4:0
			2:1:1:1:1:30:50000001:0
			2:1:1:2:1:30:50000001:0`, `
			0 10 Enter MPI_Sendrecv
			0 10 MpiSend 1 0 0 1
			0 20 MpiRecv 1 0 0 2
			0 20 Leave MPI_Sendrecv
			0 20 Enter MPI_Sendrecv
			0 20 MpiSend 1 0 0 3
			0 30 MpiRecv 1 0 0 4
			0 30 Leave MPI_Sendrecv
			1 10 Enter MPI_Sendrecv
			1 10 MpiSend 0 0 0 2
			1 20 MpiRecv 0 0 0 1
			1 20 Leave MPI_Sendrecv
			1 20 Enter MPI_Sendrecv
			1 20 MpiSend 0 0 0 4
			1 30 MpiRecv 0 0 0 3
			1 30 Leave MPI_Sendrecv`},
		{"messages outside of calls", two + `
			3:1:1:1:1:10:10:2:1:2:1:5:25:64:7
			3:1:1:1:1:11:11:2:1:2:1:26:26:65:7`, `
			0 10 MpiSend 1 0 7 64
			0 11 MpiSend 1 0 7 65
			1 5 MpiIrecvRequest 4
			1 25 MpiIrecv 0 0 7 64 4
			1 26 MpiRecv 0 0 7 65`},
		{"the root of a collective comes from its record at the root", two + `
			2:1:1:1:1:10:50000002:7:50100001:8:50100002:0:50100004:2:50100003:1
			2:1:1:2:1:11:50000002:7:50100001:0:50100002:8:50100004:2
			2:1:1:1:1:20:50000002:0
			2:1:1:2:1:21:50000002:0`, `
			0 10 Enter MPI_Bcast
			0 10 MpiCollectiveBegin
			0 20 MpiCollectiveEnd 1 1 1 8 0
			0 20 Leave MPI_Bcast
			1 11 Enter MPI_Bcast
			1 11 MpiCollectiveBegin
			1 21 MpiCollectiveEnd 1 1 1 0 8
			1 21 Leave MPI_Bcast`},
		{"arguments after a message of the same instant belong to the call before it", two + `
			2:1:1:1:1:10:50000002:7
			3:1:1:1:1:10:10:2:1:2:1:10:10:1:0
			2:1:1:1:1:10:50100001:8:50100002:0:50100004:1:50100003:1:42000050:7:70000001:4
			2:1:1:1:1:20:50000002:0:42000050:8`, `
			0 10 Metric 0 1 4 0
			0 10 Enter MPI_Bcast [prv:70000001 Caller at level 1: main]
			0 10 MpiCollectiveBegin
			0 10 MpiSend 1 0 0 1
			0 20 Metric 0 1 4 8
			0 20 MpiCollectiveEnd 1 0 0 8 0
			0 20 Leave MPI_Bcast
			1 10 MpiRecv 0 0 0 1`},
		{"a collective that does not wait, one without a communicator, one with an unknown", two + `
			2:1:1:1:1:10:50000002:156:50100001:0:50100002:0:50100004:1
			2:1:1:1:1:20:50000002:0
			2:1:1:1:1:30:50000002:8
			2:1:1:1:1:40:50000002:0
			2:1:1:1:1:50:50000002:8:50100004:9
			2:1:1:1:1:60:50000002:0`, `
			0 10 Enter MPI_Ibarrier
			0 10 ParameterUnsignedInt prv:50100001 = 0
			0 10 ParameterUnsignedInt prv:50100002 = 0
			0 10 ParameterUnsignedInt prv:50100004 = 1
			0 20 Leave MPI_Ibarrier
			0 30 Enter MPI_Barrier
			0 40 Leave MPI_Barrier
			0 50 Enter MPI_Barrier
			0 50 ParameterUnsignedInt prv:50100004 = 9
			0 60 Leave MPI_Barrier
			found unknown-peer: line 8: a collective on a communicator that no line defines (1)`},
		{"threads, locks, positions, callers, markers", "#Paraver (x):1000_ns:1(2):1:1(2:1)\n" + `
			2:1:1:1:1:10:60000001:3
			2:1:1:1:1:11:60000018:3:60000118:5
			2:2:1:1:2:12:60000018:3:60000118:5
			2:1:1:1:1:13:60000006:3
			2:1:1:1:1:14:60000006:6:60000032:77
			2:1:1:1:1:15:60000006:5
			2:1:1:1:1:16:60000006:0
			2:1:1:1:1:17:60000018:0:60000118:0
			2:2:1:1:2:18:60000018:0:60000118:0
			2:1:1:1:1:19:60000001:0
			2:1:1:1:1:20:1000:-5:70000002:3`, `
			0 10 Enter Parallel (OMP): REGION
			0 11 Enter body
			0 13 Enter OpenMP named-Lock: Lock
			0 14 Leave OpenMP named-Lock: Lock
			0 14 ParameterUnsignedInt prv:60000032 = 77
			0 15 Enter OpenMP named-Lock: Unlock
			0 16 Leave OpenMP named-Lock: Unlock
			0 17 Leave body
			0 19 Leave Parallel (OMP): REGION
			0 20 ParameterUnsignedInt prv:1000 Phase = -5
			0 20 ParameterUnsignedInt prv:70000002 Caller at level 2 = 3
			1 12 Enter body
			1 18 Leave body`},
		{"counters in sets", two + `
			2:1:1:1:1:10:42000050:1:42000059:2
			2:1:1:1:1:20:42000059:3
			2:1:1:1:1:30:42000059:4:1000:1:42000050:5`, `
			0 10 Metric 0 2 4 0 4 0
			0 20 Metric 1 1 4 3
			0 30 Metric 2 2 4 4 4 5
			0 30 ParameterUnsignedInt prv:1000 Phase = 1`},
		{"ends without begins, begins without ends, crossed ones", two + `
			2:1:1:1:1:10:50000001:0
			2:1:1:1:1:20:60000018:3
			2:1:1:1:1:21:60000006:3
			2:1:1:1:1:22:60000018:0
			2:1:1:1:1:23:60000006:6
			2:1:1:1:1:30:50000001:1
			2:1:1:1:1:31:50000001:2`, `
			0 20 Enter body
			0 21 Enter OpenMP named-Lock: Lock
			0 22 Leave OpenMP named-Lock: Lock
			0 22 Leave body
			0 30 Enter MPI_Send
			0 31 Leave MPI_Send
			0 31 Enter MPI_Recv
			0 found stray-leave: line 4: the end of a call of type 50000001 that is not open (1)
			0 found stray-leave: line 7: a call of type 60000018 ends before 1 calls in it, which end here too (1)
			0 found stray-leave: line 8: the end of a call of type 60000006 that is not open (1)`},
		{"two applications", "#Paraver (x):9:1(2):2:1(1:1):1(1:1)\n" + `
			3:1:1:1:1:10:10:1:2:1:1:10:20:64:7`, `
			0 10 MpiSend 1 2 7 64
			1 10 MpiIrecvRequest 2
			1 20 MpiIrecv 0 2 7 64 2`},
		{"states of a trace without calls", two + `
			1:1:1:1:1:0:10:1
			1:1:1:1:1:20:30:13
			1:1:1:1:1:10:20:3
			3:1:1:1:1:12:12:2:1:2:1:10:20:64:7
			1:1:1:1:1:30:30:4
			1:1:1:1:1:30:40:0
			2:1:1:1:1:15:1000:1`, `
			0 0 Enter Running
			0 10 Leave Running
			0 10 Enter Waiting a message
			0 12 MpiSend 1 0 7 64
			0 15 ParameterUnsignedInt prv:1000 Phase = 1
			0 20 Leave Waiting a message
			0 20 Enter Group Communication
			0 30 Leave Group Communication
			1 10 MpiIrecvRequest 7
			1 20 MpiIrecv 0 0 7 64 7`},
		{"damaged lines", two + `
			2:1:1:1:1:10:1000:1
			2:1:1:1:1:11:1000
			2:1:1:3:1:12:1000:1
			4:1:1:1:1:13
			1:1:1:1:1:20:10:1
			2:1:1:1:1:99999999999999999999:1000:1
			2:1:1:1:1:9:1000:2
			2:1:1:1:1:14:10x0:1
			3:1:1:1:1:10
			c:1:3:1:1
			2:1:1:1:1:15:10`, `
			0 9 ParameterUnsignedInt prv:1000 Phase = 2
			0 10 ParameterUnsignedInt prv:1000 Phase = 1
			found truncated: line 14: the file ends within it (1)
			found corrupt: line 5: a wrong number of fields (1)
			found corrupt: line 6: a thread that the header does not have (1)
			found corrupt: line 8: an end before its begin (1)
			found corrupt: line 9: a field that is not a number (1)
			found corrupt: line 11: a field that is not a number (1)
			found corrupt: line 12: a wrong number of fields (1)
			found unknown-record: line 7: an unknown kind of record (1)
			found unknown-record: line 13: an unknown kind of record (1)
			found time-backwards: line 10: an event before its predecessor; brought in order (1)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := unindent(c.records)
			if c.name != "damaged lines" {
				text += "\n"
			}
			x := trial(t, text)
			if diff := cmp.Diff(unindent(c.want), strings.TrimSpace(listing(t, x))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// unindent removes the indentation of a text in a table, and empty lines.
func unindent(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestLockStates: a thread waits from asking for a lock to having it, not when it gives it
// back.
func TestLockStates(t *testing.T) {
	x := trial(t, "#Paraver (x):1000_ns:1(1):1:1(1:1)\n2:1:1:1:1:13:60000006:3\n2:1:1:1:1:14:60000006:6\n2:1:1:1:1:15:60000006:5\n2:1:1:1:1:16:60000006:0\n")
	d := x.Definitions()
	want := map[string]trace.State{"OpenMP named-Lock: Lock": trace.StateCritical, "OpenMP named-Lock: Unlock": trace.StateThread}
	got := map[string]trace.State{}
	for i := range d.Regions {
		got[d.Text(d.Regions[i].Name)] = d.StateOf(&d.Regions[i])
	}
	for name, s := range want {
		if have, ok := got[name]; !ok || have != s {
			t.Errorf("%s: %v, want %v; all are %v", name, have, s, got)
		}
	}
}

// TestStatesAsCalls: what a location does in a state of a trace without calls.
func TestStatesAsCalls(t *testing.T) {
	d := &trace.Definitions{Strings: []trace.String{{Value: "a state"}}}
	d.Seal()
	for state, want := range map[uint64]trace.State{
		1: trace.StateOwn, 3: trace.StateP2P, 5: trace.StateThreadWait, 7: trace.StateThread, 12: trace.StateIO, 13: trace.StateCollective, 14: trace.StateOverhead, 15: trace.StateOwn, 25: trace.StateRMA,
	} {
		for _, threaded := range []bool{true, false} {
			if state == 5 && !threaded {
				want = trace.StateBarrier
			}
			e, _ := stateType(state, threaded)
			if got := d.StateOf(&trace.Region{Paradigm: e.paradigm, Role: e.role}); got != want {
				t.Errorf("state %d is %s, want %s", state, got, want)
			}
		}
	}
}
