package tracetest

import (
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// The golden traces of intervals, as tables for ParseCalls. Their numbers were
// worked by hand from the definitions; the tests of package oracle hold them.
const (
	GoldenG1 = `
run 0 0 100
0 20 30 Send 1 1
0 40 72 Ssend 1 2
run 1 0 90
1 10 34 Recv 0 1
1 60 75 Recv 0 2
`
	GoldenG2 = `
run 0 0 100
0 10 13 Bcast 0
0 40 50 Allreduce
0 70 71 Reduce 2
0 90 93 Barrier
run 1 0 100
1 6 16 Bcast 0
1 30 49 Allreduce
1 66 67 Reduce 2
1 84 94 Barrier
run 2 0 100
2 12 15 Bcast 0
2 36 50 Allreduce
2 60 75 Reduce 2
2 92 93 Barrier
run 3 0 96
3 4 17 Bcast 0
3 44 51 Allreduce
3 72 74 Reduce 2
3 80 93 Barrier
`
	GoldenG3 = `
run 0 0 100
0 4 5 Begin 1
0 9 10 Begin 2
0 16 17 Irecv 1
0 20 26 Wait 1 1
0 26 27 End 2
0 27 28 Begin 2
0 34 35 Irecv 2
0 38 39 Wait 1 2
0 39 40 End 2
0 40 41 Begin 2
0 47 48 Irecv 3
0 50 51 End 2
0 53 60 Wait 1 3
0 60 61 End 1
0 90 95 Allreduce
run 1 0 98
1 5 6 Begin 1
1 8 9 Begin 2
1 22 24 Send 0 7
1 24 25 End 2
1 25 26 Begin 2
1 36 37 Send 0 7
1 37 38 End 2
1 38 39 Begin 2
1 55 57 Send 0 7
1 57 58 End 2
1 59 60 End 1
1 92 96 Allreduce
`
	GoldenG4 = `
run 0 0 50
0 10 10 Level 7
run 1 0 50
1 20 20 Level -7
1 30 30 Level 7
1 40 40 Level -7
run 2 0 50
`
)

// ParseCalls makes a trace of a table of calls: a line "run P FIRST LAST" for the
// time of each process, then a line for each of its calls: process, enter, leave,
// operation and what it needs. Gaps are computation; a tick is a microsecond.
//
//	Send, Ssend PEER TAG     Recv PEER TAG       Irecv REQUEST     Wait PEER REQUEST (tag 7)
//	Bcast, Reduce ROOT       Barrier, Allreduce, Scan
//	Begin, End ID            a marker of form F1
//	Level N                  MPI_Pcontrol(N)
func ParseCalls(table string) (trace.Source, error) {
	var b strings.Builder
	processes := 0
	end := ""
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case len(f) < 4:
			return nil, fmt.Errorf("%w: call %q", ErrText, line)
		case f[0] == "run":
			b.WriteString(end)
			fmt.Fprintf(&b, "%s %s ENTER main\n", f[1], f[2])
			end = fmt.Sprintf("%s %s LEAVE main\n", f[1], f[3])
			processes++
		default:
			if err := writeCall(&b, f[0], f[1], f[2], f[3], append(f[4:], "none")); err != nil {
				return nil, err
			}
		}
	}
	return Parse(fmt.Sprintf("-- definitions --\nSTRING self=0 string=\"level\"\nPARAMETER self=0 name=0 parameter_type=1\n"+
		"-- program --\nprocesses %d\nresolution 1000000\n-- events --\n%s%s", processes, b.String(), end))
}

// writeCall writes one call; needs ends with an operand too many.
func writeCall(b *strings.Builder, p, enter, leave, op string, needs []string) error {
	if wanted := map[string]int{"Send": 2, "Ssend": 2, "Recv": 2, "Wait": 2, "Irecv": 1, "Begin": 1, "End": 1, "Level": 1, "Bcast": 1, "Reduce": 1}[op]; len(needs) != wanted+1 {
		return fmt.Errorf("%w: %s has %d operands, not %d", ErrText, op, wanted, len(needs)-1)
	}
	region := "MPI_" + op
	var at, then string
	switch op {
	case "Send", "Ssend":
		at = fmt.Sprintf("MPI_SEND %s MPI_COMM_WORLD %s 8", needs[0], needs[1])
	case "Recv":
		then = fmt.Sprintf("MPI_RECV %s MPI_COMM_WORLD %s 8", needs[0], needs[1])
	case "Irecv":
		at = "MPI_IRECV_REQUEST " + needs[0]
	case "Wait":
		then = fmt.Sprintf("MPI_IRECV %s MPI_COMM_WORLD 7 8 %s", needs[0], needs[1])
	case "Begin", "End":
		var id uint32
		if _, err := fmt.Sscan(needs[0], &id); err != nil {
			return fmt.Errorf("%w: marker %q", ErrText, needs[0])
		}
		tag := 0xAA0000AA | id<<8
		if op == "End" {
			tag += 0x11
		}
		region = "MPI_Sendrecv"
		at = fmt.Sprintf("MPI_SEND %s MPI_COMM_WORLD %d 0", p, tag)
		then = fmt.Sprintf("MPI_RECV %s MPI_COMM_WORLD %d 0", p, tag)
	case "Level":
		region = "MPI_Pcontrol"
		at = "PARAMETER_INT64 0 " + needs[0]
	case "Barrier", "Allreduce", "Scan", "Bcast", "Reduce":
		at = "MPI_COLLECTIVE_BEGIN"
		then = fmt.Sprintf("MPI_COLLECTIVE_END %s MPI_COMM_WORLD %s 8 8", strings.ToUpper(op), needs[0])
	default:
		return fmt.Errorf("%w: unknown call %q", ErrText, op)
	}
	fmt.Fprintf(b, "%s %s ENTER %s\n", p, enter, region)
	if at != "" {
		fmt.Fprintf(b, "%s %s %s\n", p, enter, at)
	}
	if then != "" {
		fmt.Fprintf(b, "%s %s %s\n", p, leave, then)
	}
	fmt.Fprintf(b, "%s %s LEAVE %s\n", p, leave, region)
	return nil
}
