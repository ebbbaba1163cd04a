package view

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestLateMessages compares the messages that are waited for longest with all rows of waits and messages.
func TestLateMessages(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		begin, end := window(x, rng)
		type late struct{ inside, ticks, bytes uint64 }
		var want []late
		for p := range trace.P(x.meta.Locations) {
			messages := rowsOf(t, x, p, xtf.TypeP2P, func(b []byte) (m xtf.P2P) { m.Load(b); return m })
			for _, w := range rowsOf(t, x, p, xtf.TypeWait, func(b []byte) (w xtf.Wait) { w.Load(b); return w }) {
				if from, to := max(w.T, begin), min(w.End, end); w.Pattern&xtf.WaitPatternMask == xtf.WaitLateSender && from < to {
					want = append(want, late{to - from, w.End - w.T, messages[w.RecN].Bytes})
				}
			}
		}
		order := func(a, b late) int {
			return cmp.Or(cmp.Compare(b.inside, a.inside), cmp.Compare(b.ticks, a.ticks), cmp.Compare(b.bytes, a.bytes))
		}
		slices.SortFunc(want, order)
		for _, most := range []int{2000, 3} {
			v := answer[Messages](t, s, fmt.Sprintf("messages?only=late&t=%d..%d&max=%d", begin, end, most))
			n := min(most, len(want))
			if len(v.List.From) != n || v.Total != uint64(len(want)) || v.More != uint64(len(want)-n) || v.Truncated {
				t.Fatalf("%d late messages of %d and %d more, want %d of %d", len(v.List.From), v.Total, v.More, n, len(want))
			}
			var got []late
			for i := range n {
				k := v.List.RecvT[i] // the wait ends with the receive, or after its call has begun
				if v.List.SendT[i] > k || v.List.From[i] == v.List.To[i] {
					t.Errorf("message %d from %d at %d to %d at %d", i, v.List.From[i], v.List.SendT[i], v.List.To[i], k)
				}
				got = append(got, late{0, v.List.Wait[i], v.List.Bytes[i]})
			}
			if most < len(want) && want[most-1].inside == want[most].inside {
				continue // which of the equal ones are listed is not said here
			}
			sum := func(list []late) (ticks, bytes uint64) {
				for _, l := range list {
					ticks, bytes = ticks+l.ticks, bytes+l.bytes
				}
				return ticks, bytes
			}
			gotTicks, gotBytes := sum(got)
			if ticks, bytes := sum(want[:n]); gotTicks != ticks || gotBytes != bytes {
				t.Errorf("%d late messages of %d bytes are waited for %d ticks, want %d bytes, %d ticks", n, gotBytes, gotTicks, bytes, ticks)
			}
		}
	})
}

// TestFiles compares the lanes of files with all rows of operations.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	x, rng := s.runs[0], rand.New(rand.NewPCG(1, 7))
	names := x.Defs.IoFiles()
	if !x.meta.Files {
		t.Fatal("the run has no files")
	}
	for range 5 {
		begin, end := window(x, rng)
		want, ticks, bytes := map[string]uint64{}, map[string]float64{}, map[string]float64{}
		for p := range trace.P(x.meta.Locations) {
			for _, o := range rowsOf(t, x, p, xtf.TypeIO, func(b []byte) (o xtf.IO) { o.Load(b); return o }) {
				if o.T < end && (o.End > begin || o.T >= begin) {
					name := names[o.Handle]
					want[name]++
					ticks[name] += float64(results.Inside(o.T, o.End, begin, end))
					if o.Op&xtf.IOOpMask != xtf.IOOther {
						bytes[name] += float64(o.Done)
					}
				}
			}
		}
		v := answer[Files](t, s, fmt.Sprintf("files?t=%d..%d&bins=50&max=64", begin, end))
		if len(v.List)+v.More != len(want) || !v.Complete {
			t.Fatalf("%d files and %d more, want %d", len(v.List), v.More, len(want))
		}
		for i, f := range v.List {
			busy := 0.0
			for _, b := range f.Busy {
				busy += b * v.BinTicks
			}
			if f.Operations != want[f.Name] || f.Ticks != ticks[f.Name] || f.Bytes != bytes[f.Name] || math.Abs(busy-f.Ticks) > 1e-6*f.Ticks || i > 0 && v.List[i-1].Ticks < f.Ticks {
				t.Errorf("%s: %d operations, %g ticks, %g of them in bins, %g bytes; want %d, %g, %g", f.Name, f.Operations, f.Ticks, busy, f.Bytes, want[f.Name], ticks[f.Name], bytes[f.Name])
			}
		}
	}
}

// TestProfileOf compares any item, and the time in any function, of ranks with the rows of their calls.
func TestProfileOf(t *testing.T) {
	t.Parallel()
	everyFile(t, func(t *testing.T, s *Server, rng *rand.Rand) {
		x := s.runs[0]
		region := rng.IntN(len(x.meta.Regions))
		calls, own := make([]uint64, x.meta.Processes), make([]uint64, x.meta.Processes)
		for p := range trace.P(x.meta.Locations) {
			process, _ := x.Defs.Process(p)
			for _, c := range callsOf(t, x, p) {
				calls[process]++
				if c.Region == x.meta.Regions[region].Ref {
					own[process] += c.Exclusive
				}
			}
		}
		for path, want := range map[string][]uint64{"item=calls": calls, fmt.Sprintf("region=%d", region): own} {
			v := answer[Profile](t, s, "profile?exact=1&"+path)
			for k, n := range v.Values {
				if n != want[v.First[k]] || v.Merged != 1 {
					t.Errorf("%s: rank %d has %d %s, want %d", path, v.First[k], n, v.Unit, want[v.First[k]])
				}
			}
			if len(v.Values) != len(want) {
				t.Errorf("%s: %d ranks", path, len(v.Values))
			}
		}
	})
}

// TestTopologies compares coordinates with those that otf2-print prints.
func TestTopologies(t *testing.T) {
	tool, err := exec.LookPath("otf2-print")
	if err != nil {
		t.Skip("otf2-print is not installed (Debian: otf2-tools)")
	}
	const name = "lammps-melt-16"
	s := serving(t, realTrace(t, name))
	out, err := exec.Command(tool, "-G", "../../shared/traces/otf2/"+name+"/traces.otf2").Output()
	if err != nil {
		t.Fatal(err)
	}
	rank := regexp.MustCompile(`^CART_COORDINATE .*<(\d+)>, Rank: (\d+) .*Coordinates: \((.*)\)$`)
	list := answer[Locations](t, s, "locations").List
	seen := 0
	for l := bufio.NewScanner(bytes.NewReader(out)); l.Scan(); {
		m := rank.FindStringSubmatch(l.Text())
		if m == nil {
			continue
		}
		topology, _ := strconv.Atoi(m[1])
		process, _ := strconv.Atoi(m[2]) // the communicators of this trace have all processes in their order
		seen++
		if got := strings.ReplaceAll(fmt.Sprint(list[process].Places[topology]), " ", ", "); got != "["+m[3]+"]" {
			t.Errorf("rank %d in topology %d is at %s, by otf2-print %s", process, topology, got, m[3])
		}
	}
	if seen == 0 {
		t.Error("otf2-print printed no coordinates")
	}
}
