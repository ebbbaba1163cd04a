package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// TestStackSources compares stacks from rows with those from the call graph, at
// times of events and between them, of broken traces too.
func TestStackSources(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"irregular:procs=2,threads=2,events=2k,seed=3",
		"ring:procs=2,events=1k,broken=stray-leave+open-call+unmatched-send",
	} {
		dir := t.TempDir()
		must(t, "demo", "-o", dir, "--spec", spec)
		run := analysedAs(t, dir, "run.xtf")
		rows := callRows(t, run, 1)
		last := rows[0].End
		for _, r := range rows {
			last = max(last, r.End)
		}
		for k := range uint64(8) {
			r := rows[len(rows)*int(k)/8]
			for _, at := range []uint64{last * k / 7, r.T, r.End, r.End - 1} {
				args := []string{"stack", "--rank", "1", "--time", fmt.Sprintf("#%d", at)}
				a := graphQuery[stackJSON](t, run, args...)
				b := graphQuery[stackJSON](t, run, append(args, "--source", "graph")...)
				if a.Source != "rows" || b.Source != "graph" {
					t.Fatalf("sources %q and %q", a.Source, b.Source)
				}
				for i := range b.Calls {
					b.Calls[i].Event = 0
				}
				if d := cmp.Diff(a.Calls, b.Calls); d != "" {
					t.Errorf("%s, tick %d: rows and graph differ (-rows +graph):\n%s", spec, at, d)
				}
			}
		}
	}
}

// found is what tests read of answers with several rows.
type found struct {
	Query struct {
		Found     bool
		More      bool
		Size      uint64
		ByChannel string `json:"by_channel"`
		Rows      []map[string]uint64
		Sums      []struct {
			Name                              string
			Lower, Upper, Interpolated, Exact uint64
		}
		Costs []struct {
			Of        string
			PageReads uint64 `json:"page_reads"`
			Hits      uint64
		}
	}
}

// TestQueryWindow compares visible rows and sums of spans with all rows.
func TestQueryWindow(t *testing.T) {
	t.Parallel()
	run := filepath.Join(analysed(t, "stencil:procs=3,events=5k,jitter=20,seed=2"), "run.xtf")
	rows := callRows(t, run, 2)
	last := rows[0].End
	for _, w := range [][2]uint64{{0, last + 1}, {last / 3, last/3 + 1}, {last / 3, last / 2}, {rows[40].T, rows[40].End}, {last, last}} {
		span := fmt.Sprintf("#%d..#%d", w[0], w[1])
		var want, got []uint64
		begun := uint64(0)
		for n, r := range rows {
			if r.T < w[1] && r.End > w[0] {
				want = append(want, uint64(n))
			}
			if r.T >= w[0] && r.T < w[1] {
				begun++
			}
		}
		for _, r := range jsonOf[found](t, "query", run, "visible", "--rank", "2", "--time", span, "--limit", "100000").Query.Rows {
			got = append(got, r["n"])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("visible in %s: %s", span, d)
		}
		if few := jsonOf[found](t, "query", run, "visible", "--rank", "2", "--time", span, "--limit", "1").Query; few.More != (len(want) > 1) || few.Found != (len(want) > 0) {
			t.Errorf("visible in %s, one row: found %v, more %v of %d", span, few.Found, few.More, len(want))
		}
		x := jsonOf[found](t, "query", run, "stats", "--rank", "2", "--time", span).Query
		if len(x.Costs) != 3 || x.Sums[0].Name != "calls" || x.Sums[0].Exact != begun {
			t.Errorf("stats of %s: %+v, want %d calls", span, x, begun)
		}
		for _, s := range x.Sums {
			if s.Exact < s.Lower || s.Exact > s.Upper || s.Interpolated < s.Lower || s.Interpolated > s.Upper {
				t.Errorf("stats of %s: %+v", span, s)
			}
		}
	}
}

// TestQueryPartner follows messages to the other side and back.
func TestQueryPartner(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ spec, by string }{
		{"masterworker:procs=3,events=2k,seed=2", "same"},
		{"ring:procs=2,events=1k,broken=unmatched-send", "same none"},
	} {
		dir := t.TempDir()
		must(t, "demo", "-o", dir, "--spec", x.spec)
		run := analysedAs(t, dir, "run.xtf")
		all := jsonOf[queryJSON](t, "query", run, "rows", "--type", "p2p", "--rank", "1", "--limit", "100000").Query.Rows
		for k := 0; k < len(all); k += 1 + len(all)/12 {
			row := all[k]
			got := jsonOf[found](t, "query", run, "partner", "--rank", "1", "-n", fmt.Sprint(k)).Query
			if matched := row["mateN"] != xtf.Never; got.Found != matched || !strings.Contains(x.by, got.ByChannel) || (got.ByChannel == "same") != matched {
				t.Fatalf("%s: message %d: %+v", x.spec, k, got)
			}
			if !got.Found {
				continue
			}
			to := got.Rows[1]
			if len(got.Rows) != 2 || to["n"] != row["mateN"] || to["T"] != row["mateT"] || to["mateN"] != uint64(k) || to["location"] != row["mateP"] {
				t.Errorf("%s: message %d: %+v", x.spec, k, got.Rows)
			}
			back := jsonOf[found](t, "query", run, "partner", "--location", fmt.Sprint(to["location"]), "-n", fmt.Sprint(to["n"])).Query
			if !back.Found || back.Rows[1]["n"] != uint64(k) {
				t.Errorf("%s: back from row %d: %+v", x.spec, to["n"], back)
			}
		}
		if out := must(t, "query", run, "partner", "--rank", "1", "-n", "2"); !strings.Contains(out, "its channel says the same") || !strings.Contains(out, "by channel: ") {
			t.Errorf("%s:\n%s", x.spec, out)
		}
	}
}

// TestQueryMembers gathers collectives: all members say the same of the whole.
func TestQueryMembers(t *testing.T) {
	t.Parallel()
	run := filepath.Join(analysed(t, "stencil:procs=4,events=4k"), "run.xtf")
	n := jsonOf[queryJSON](t, "query", run, "size", "--type", "coll", "-n", "0").Query.Size
	for _, k := range []uint64{0, *n / 2, *n - 1} {
		got := jsonOf[found](t, "query", run, "members", "--rank", "3", "-n", fmt.Sprint(k)).Query
		if !got.Found || got.Size != 4 || len(got.Rows) != 4 {
			t.Fatalf("collective %d: %+v", k, got)
		}
		enter, leave := uint64(0), uint64(0)
		for i, r := range got.Rows {
			enter, leave = max(enter, r["T"]), max(leave, r["End"])
			if r["process"] != uint64(i) || r["ordinal"] != got.Rows[0]["ordinal"] {
				t.Errorf("collective %d: %+v", k, r)
			}
		}
		for _, r := range got.Rows {
			if r["lastEnter"] != enter || r["lastLeave"] != leave {
				t.Errorf("collective %d: last enter %d and leave %d, %+v", k, enter, leave, r)
			}
		}
	}
	if got := jsonOf[found](t, "query", run, "members", "--rank", "1", "-n", "0", "--limit", "2").Query; got.Size != 4 || len(got.Rows) != 2 || !got.More {
		t.Errorf("two of four: %+v", got)
	}
	if out := must(t, "query", run, "members", "--time", "100%", "--mode", "lt"); !strings.Contains(out, "is one of 4 members") {
		t.Error(out)
	}
	if got := jsonOf[found](t, "query", run, "members", "-n", fmt.Sprint(*n)).Query; got.Found {
		t.Errorf("a collective that is not there: %+v", got)
	}
}

// Primitives on rows need rows; stack takes the graph.
func TestQueryWithoutRows(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=2,events=1k")
	none := analysedAs(t, dir, "none.xtf", "--events", "none")
	for _, args := range [][]string{{"visible"}, {"stats"}, {"partner", "-n", "0"}, {"members", "-n", "0"}, {"stack", "--time", "50%", "--source", "rows"}} {
		if code, _, errs := call(append([]string{"query", none}, args...)...); code != jobs.ExitInput || !strings.Contains(errs, "--events none") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
	if out := must(t, "query", none, "stack", "--time", "50%"); !strings.Contains(out, "from the call graph, after event") || !strings.Contains(out, "cost: ") {
		t.Error(out)
	}
}
