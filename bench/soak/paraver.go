package main

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A line is a record of a Paraver trace.
type line struct {
	time uint64
	text string
}

// paraverRun is a generated run in the way of Extrae: user functions, MPI calls, messages, collectives, counters.
type paraverRun struct {
	x     *rand.Rand
	clock []uint64
	lines []line
}

// makeParaver writes a generated Paraver trace, with or without names, plain or compressed.
func makeParaver(x *rand.Rand, in *input) error {
	in.kind, in.procs = "paraver", 1+x.IntN(6)
	g := &paraverRun{x: x, clock: make([]uint64, in.procs)}
	for range 1 + logUniform(x, 400) {
		g.step()
	}
	if err := os.Mkdir(in.folder, 0o777); err != nil {
		return err
	}
	in.path = filepath.Join(in.folder, "run.prv")
	if x.IntN(2) == 0 {
		if err := os.WriteFile(filepath.Join(in.folder, "run.pcf"), []byte(paraverNames), 0o666); err != nil {
			return err
		}
	}
	if x.IntN(2) == 0 {
		return os.WriteFile(in.path, []byte(g.text()), 0o666)
	}
	in.path += ".gz"
	f, err := os.Create(in.path)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(g.text()))
	return errors.Join(err, z.Close(), f.Close())
}

const paraverNames = `DEFAULT_OPTIONS

EVENT_TYPE
0    50000001    MPI Point-to-point
VALUES
0   Outside MPI
1   MPI_Send
2   MPI_Recv

EVENT_TYPE
0    50000002    MPI Collective Comm
VALUES
0   Outside MPI
7   MPI_Bcast
8   MPI_Barrier
10   MPI_Allreduce

EVENT_TYPE
0    60000019    User function
VALUES
0   End
1   solve
2   exchange
`

// event adds an event record of one or more types with their values.
func (g *paraverRun) event(p int, t uint64, pairs ...uint64) {
	var b strings.Builder
	fmt.Fprintf(&b, "2:%d:1:%d:1:%d", p+1, p+1, t)
	for _, n := range pairs {
		fmt.Fprintf(&b, ":%d", n)
	}
	g.lines = append(g.lines, line{t, b.String()})
}

// step adds a call, a message, a collective or a function of some processes.
func (g *paraverRun) step() {
	a, b := g.x.IntN(len(g.clock)), g.x.IntN(len(g.clock))
	switch g.x.IntN(5) {
	case 0: // a function with a counter and a state
		begin := g.clock[a] + g.x.Uint64N(500)
		end := begin + g.x.Uint64N(5000)
		g.event(a, begin, 60000019, 1+g.x.Uint64N(2), 42000050, g.x.Uint64N(1<<40))
		g.event(a, end, 60000019, 0, 42000050, g.x.Uint64N(1<<40))
		g.lines = append(g.lines, line{begin, fmt.Sprintf("1:%d:1:%d:1:%d:%d:1", a+1, a+1, begin, end)})
		g.clock[a] = end
	case 1, 2: // a message
		if a == b {
			return
		}
		sent := g.clock[a] + g.x.Uint64N(100)
		done := sent + 1 + g.x.Uint64N(100)
		post := g.clock[b] + g.x.Uint64N(100)
		got := max(post, done) + 1 + g.x.Uint64N(100)
		g.event(a, sent, 50000001, 1)
		g.event(a, done, 50000001, 0)
		g.event(b, post, 50000001, 2)
		g.event(b, got, 50000001, 0)
		g.lines = append(g.lines, line{sent, fmt.Sprintf("3:%d:1:%d:1:%d:%d:%d:1:%d:1:%d:%d:%d:%d",
			a+1, a+1, sent, sent, b+1, b+1, post, got, g.x.Uint64N(1<<20), g.x.Uint64N(10))})
		g.clock[a], g.clock[b] = done, got
	case 3: // a collective of all
		last := slices.Max(g.clock)
		kind := []uint64{7, 8, 10}[g.x.IntN(3)]
		for p := range g.clock {
			begin := g.clock[p] + g.x.Uint64N(1000)
			end := max(begin, last+1000) + g.x.Uint64N(50)
			g.event(p, begin, 50000002, kind, 50100001, 64, 50100002, 64, 50100003, 0, 50100004, 1)
			g.event(p, end, 50000002, 0)
			g.clock[p] = end
		}
	default: // anything
		g.clock[a] += g.x.Uint64N(1000)
		g.event(a, g.clock[a], 1+logUniform(g.x, 1<<33), logUniform(g.x, 1<<63))
	}
}

// text is the trace, its lines in the order of time.
func (g *paraverRun) text() string {
	slices.SortStableFunc(g.lines, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	var out strings.Builder
	n := len(g.clock)
	fmt.Fprintf(&out, "#Paraver (01/01/2026 at 00:00):%d_ns:1(%d):1:%d(%s),1\n", slices.Max(g.clock)+1, n, n, strings.TrimSuffix(strings.Repeat("1:1,", n), ","))
	out.WriteString("c:1:1:" + strconv.Itoa(n))
	for p := range n {
		out.WriteString(":" + strconv.Itoa(p+1))
	}
	out.WriteString("\n")
	for _, l := range g.lines {
		out.WriteString(l.text + "\n")
	}
	return out.String()
}
