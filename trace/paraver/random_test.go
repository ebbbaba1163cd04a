package paraver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// program is a random run of some processes: calls that often touch, and
// messages between them in the way of Extrae. Each call knows what events must
// come out of it.
type program struct {
	random *rand.Rand
	clock  []uint64
	events []string   // lines of records, with their time
	times  []uint64   // of events
	calls  [][]called // by process
}

// called is a call and what must be inside of it.
type called struct {
	value      int
	begin, end uint64
	inside     []string
}

var callNames = map[int]string{1: "MPI_Send", 2: "MPI_Recv", 3: "MPI_Isend", 4: "MPI_Irecv", 5: "MPI_Wait", 6: "MPI_Waitall", 41: "MPI_Sendrecv"}

// call adds a call of process p; times between and in calls may be 0, but not both.
func (g *program) call(p, value int) *called {
	begin := g.clock[p] + uint64(g.random.IntN(3))
	end := begin + 1 + uint64(g.random.IntN(4))
	g.clock[p] = end
	g.record(begin, fmt.Sprintf("2:%d:1:%d:1:%d:50000001:%d", p+1, p+1, begin, value))
	g.record(end, fmt.Sprintf("2:%d:1:%d:1:%d:50000001:0", p+1, p+1, end))
	g.calls[p] = append(g.calls[p], called{value: value, begin: begin, end: end})
	return &g.calls[p][len(g.calls[p])-1]
}

func (g *program) record(t uint64, line string) {
	g.times = append(g.times, t)
	g.events = append(g.events, line)
}

// message adds a message; posted and received are the calls of the receiver.
func (g *program) message(from, to int, send, posted, received called) (tag uint64) {
	tag = uint64(len(g.events))
	post := posted.begin
	if posted.value == 4 {
		post = posted.end
	}
	g.record(send.begin, fmt.Sprintf("3:%d:1:%d:1:%d:%d:%d:1:%d:1:%d:%d:%d:%d",
		from+1, from+1, send.begin, send.begin, to+1, to+1, post, received.end, tag, tag))
	return tag
}

// step adds one exchange between two processes.
func (g *program) step() {
	a, b := g.random.IntN(len(g.clock)), g.random.IntN(len(g.clock))
	if a == b {
		return
	}
	switch g.random.IntN(3) {
	case 0:
		s, r := g.call(a, 1), g.call(b, 2)
		tag := g.message(a, b, *s, *r, *r)
		s.inside = append(s.inside, fmt.Sprintf("MpiSend %d", tag))
		r.inside = append(r.inside, fmt.Sprintf("MpiRecv %d", tag))
	case 1:
		x, y := g.call(a, 41), g.call(b, 41)
		to, back := g.message(a, b, *x, *y, *y), g.message(b, a, *y, *x, *x)
		x.inside = append(x.inside, fmt.Sprintf("MpiSend %d", to), fmt.Sprintf("MpiRecv %d", back))
		y.inside = append(y.inside, fmt.Sprintf("MpiSend %d", back), fmt.Sprintf("MpiRecv %d", to))
	case 2:
		n := 1 + g.random.IntN(3)
		first := len(g.calls[b])
		for range n {
			g.call(b, 4)
		}
		sends := len(g.calls[a])
		for range n {
			g.call(a, 3)
		}
		w := *g.call(b, 6)
		last := len(g.calls[b]) - 1
		for i := range n {
			tag := g.message(a, b, g.calls[a][sends+i], g.calls[b][first+i], w)
			g.calls[a][sends+i].inside = []string{fmt.Sprintf("MpiIsend %d", tag), "MpiIsendComplete"}
			g.calls[b][first+i].inside = []string{"MpiIrecvRequest"}
			g.calls[b][last].inside = append(g.calls[b][last].inside, fmt.Sprintf("MpiIrecv %d", tag))
		}
	}
}

// text is the trace, its lines in the order of time.
func (g *program) text() string {
	order := make([]int, len(g.events))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.times[a], g.times[b]) })
	var out strings.Builder
	fmt.Fprintf(&out, "#Paraver (x):100000_ns:1(1):1:%d(%s)\n", len(g.clock), strings.TrimSuffix(strings.Repeat("1:1,", len(g.clock)), ","))
	for _, i := range order {
		out.WriteString(g.events[i] + "\n")
	}
	return out.String()
}

// want lists for each process its calls with what is in them.
func (g *program) want() string {
	var out strings.Builder
	for p := range g.calls {
		for _, c := range g.calls[p] {
			slices.Sort(c.inside)
			fmt.Fprintf(&out, "%d %s [%d,%d) %s\n", p, callNames[c.value], c.begin, c.end, strings.Join(c.inside, " "))
		}
	}
	return out.String()
}

// calls reads a listing into the same form.
func calls(listing string) string {
	var out strings.Builder
	var inside []string
	begin := ""
	for line := range strings.Lines(listing) {
		f := strings.Fields(line)
		switch f[2] {
		case "Enter":
			begin, inside = f[1], nil
		case "Leave":
			slices.Sort(inside)
			fmt.Fprintf(&out, "%s %s [%s,%s) %s\n", f[0], f[3], begin, f[1], strings.Join(inside, " "))
		case "MpiIsendComplete", "MpiIrecvRequest":
			inside = append(inside, f[2])
		default:
			inside = append(inside, f[2]+" "+f[5])
		}
	}
	return out.String()
}

// TestRandomPrograms finds every message in its call, whatever calls touch, and
// however little of the file a split holds at once.
func TestRandomPrograms(t *testing.T) {
	runs := uint64(30)
	if testing.Short() {
		runs = 10
	}
	for seed := range runs {
		g := &program{random: rand.New(rand.NewPCG(seed, 0))}
		g.clock = make([]uint64, 2+seed%3)
		g.calls = make([][]called, len(g.clock))
		for range 5 + 8*seed {
			g.step()
		}
		text := g.text()
		x := trial(t, text)
		got := listing(t, x)
		if diff := gocmp.Diff(g.want(), calls(got)); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
		y := trial(t, text)
		y.limits = limits{200, 1 << 18}
		if seed%2 == 0 {
			y.limits = limits{1 << 20, 7}
		}
		if err := y.Gather(0, 1, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if again := listing(t, y); again != got {
			t.Errorf("seed %d: another result in small pieces: %s", seed, gocmp.Diff(got, again))
		}
		if err := y.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoFilesLeft looks for temporary files while a trace is open and after.
func TestNoFilesLeft(t *testing.T) {
	dir := t.TempDir()
	x := trial(t, two+strings.Repeat("2:1:1:1:1:10:1000:1\n", 100))
	x.limits = limits{100, 100}
	if err := x.Gather(0, 2, dir); err != nil {
		t.Fatal(err)
	}
	if x.splits[0].file == nil {
		t.Error("the records fitted into memory: nothing is tested")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files in the folder: %v, %v", left, err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// TestDamagedRuns reports a split file that is shorter than what was written, or whose items do not fit their run.
func TestDamagedRuns(t *testing.T) {
	item := []byte{byte(eventItem), 5, 3, 1, 1, 7}
	for _, c := range []struct {
		name string
		data []byte
		end  int64
		want error
	}{
		{"whole", item, 6, io.EOF},
		{"cut", item[:5], 6, errSplit},
		{"empty", nil, 6, errSplit},
		{"fields beyond the run", item, 5, errSplit},
		{"no end of a number", bytes.Repeat([]byte{0xff}, 40), 40, errSplit},
	} {
		m := newMerger(bytes.NewReader(c.data), []run{{0, c.end, 5}})
		_, err := m.next()
		if err == nil {
			_, err = m.next()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
