package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/conditions"
	"github.com/coppice-hpc/coppice/report/diff"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// scaledRun has two processes and intervals solve, with inner, and once more solve;
// the times of the first solve are multiplied by 1 + more/100.
func scaledRun(t *testing.T, more uint64, names ...string) *results.Run {
	t.Helper()
	at := func(total, cpu, mpi uint64) items {
		x := process(total, cpu, mpi, 0)
		x[xtf.ItemExecutions], x[xtf.ItemEvents], x[xtf.ItemSends], x[xtf.ItemBytesOut] = 1, 4, 3, 300
		return x
	}
	first := 500 * (100 + more) / 100
	w := &written{nodes: []writtenNode{rootNode(at(1000+first-500, 800, 200+first-500), at(1000+first-500, 700, 300+first-500))}, rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	node := func(parent, level uint32, name string, total uint64) {
		w.nodes = append(w.nodes, writtenNode{
			Interval: xtf.Interval{Parent: parent, Level: level, ExeMax: 1, ExeMin: 1, LastEnd: total, SumMax: total, Line: uint32(more)}, name: name, file: "a.c",
			processes: map[uint32]items{0: at(total, total-100, 100), 1: at(total, total-200, 200)},
		})
	}
	node(0, 1, names[0], first)
	node(1, 2, names[1], 300)
	node(0, 1, names[2], 400)
	var region uint32
	w.rows[xtf.WholeRun] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(20, 0), Region: region, Count: 2 + more, Inclusive: 2000, Exclusive: 1500 + 10*more, Bytes: 7})
	}
	region = (&written{nodes: w.nodes}).write(t, 2).Defs.Regions[0].Ref
	return w.write(t, 2)
}

func newDiff(t *testing.T, a, b *results.Run, o diff.Options) *diff.Diff {
	t.Helper()
	d, err := diff.New(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiff(t *testing.T) {
	t.Parallel()
	a, b := scaledRun(t, 0, "solve", "inner", "solve"), scaledRun(t, 20, "solve", "other", "solve")
	d := newDiff(t, a, b, diff.Options{})
	var paths []string
	for i := range d.Intervals {
		n := &d.Intervals[i]
		x := n.Metric("execution")
		paths = append(paths, fmt.Sprintf("%s %s %s %s", n.Path[len(n.Path)-1][:5], x.A.Fixed(6), x.B.Fixed(6), n.Verdict))
	}
	// microseconds: the whole program grows by 100 of 1000, the first solve by 100 of 500
	want := []string{"whole 0.001000 0.001100 worse", "solve 0.000500 0.000600 worse", "solve 0.000400 0.000400 same"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	if len(d.Only[0]) != 1 || len(d.Only[1]) != 1 || !strings.Contains(d.Only[0][0], "inner") || !strings.Contains(d.Only[1][0], "other") {
		t.Errorf("alone: %q", d.Only)
	}
	if d.Identical || d.Rule != "time" || len(d.Worse) != 2 || len(d.Better) != 0 {
		t.Errorf("identical %v, rule %s, worse %v, better %v", d.Identical, d.Rule, d.Worse, d.Better)
	}
	if text := d.Worse[0].Text; !strings.Contains(text, "0.00110 s, was 0.00100 (+10.0 %): a process spends 0.000100 s more in MPI on average") {
		t.Error(text)
	}
	if r := d.Regions[0]; r.Time.Change.Fixed(6) != "0.000100" || r.Calls.B.Round() != 22 {
		t.Errorf("%+v", r)
	}
	back := newDiff(t, b, a, diff.Options{Threshold: numbers.Divide(1, 10)})
	if len(back.Worse) != 0 || len(back.Better) != 1 || !strings.Contains(back.Better[0].Interval, "solve") {
		t.Errorf("back: worse %v, better %v", back.Worse, back.Better)
	}
}

// TestDiffForms writes a comparison in each form.
func TestDiffForms(t *testing.T) {
	t.Parallel()
	d := newDiff(t, scaledRun(t, 0, nasty[0], nasty[1], nasty[2]), scaledRun(t, 20, nasty[0], nasty[3], nasty[2]), diff.Options{})
	var page, text, js, data bytes.Buffer
	if err := errors.Join(table.Write(&page, d, "html", table.Style{}), table.Write(&text, d, "text", table.Style{}), table.WriteJSON(&js, d), table.Write(&data, d, "csv", table.Style{})); err != nil {
		t.Fatal(err)
	}
	checkPage(t, page.String())
	for _, want := range []string{"worse", "&#43;20.0 %", "A above B", "In A alone", "coppice diff A.xtf B.xtf"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %s in the page", want)
		}
	}
	for _, want := range []string{"made in the same way", "> worse: ", "intervals of A alone:"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	var got struct {
		Schema    string
		Intervals []struct {
			Path    []string
			Verdict string
			Metrics []struct {
				Name         string
				A, B, Change *float64
			}
		}
	}
	if err := json.Unmarshal(js.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if m := got.Intervals[0].Metrics[0]; got.Schema != diff.DiffSchema || m.Name != "execution" || *m.Change != 1e-4 {
		t.Errorf("%+v", got.Intervals[0])
	}
	rows, err := csv.NewReader(&data).ReadAll()
	if err != nil || len(rows) != 1+3*len(diff.DiffMetrics)+3*len(d.Regions)+len(d.Waits) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func TestDiffIdentical(t *testing.T) {
	t.Parallel()
	a := scaledRun(t, 0, "solve", "inner", "solve")
	d := newDiff(t, a, scaledRun(t, 0, "solve", "inner", "solve"), diff.Options{})
	var b bytes.Buffer
	if err := table.Write(&b, d, "text", table.Style{}); err != nil || !d.Identical || !strings.Contains(b.String(), "identical") {
		t.Errorf("%v, %v\n%s", d.Identical, err, b.String())
	}
	if d := newDiff(t, a, scaledRun(t, 1, "solve", "inner", "solve"), diff.Options{}); d.Identical || len(d.Worse) > 0 {
		t.Errorf("a change of 1 %%: identical %v, worse %v", d.Identical, d.Worse)
	}
}

// TestDiffProcesses compares runs with other numbers of processes: by efficiency.
func TestDiffProcesses(t *testing.T) {
	t.Parallel()
	a := build(t, []items{process(100, 90, 10, 0), process(100, 80, 20, 0)})
	b := build(t, []items{process(300, 90, 210, 0), process(300, 80, 220, 0), process(300, 80, 220, 0)})
	d := newDiff(t, a, b, diff.Options{})
	if d.Rule != "efficiency" || len(d.Worse) != 1 || d.Worse[0].Metric != "parallel_efficiency" {
		t.Errorf("%s, %+v", d.Rule, d.Worse)
	}
	if len(newDiff(t, b, a, diff.Options{}).Better) != 1 {
		t.Error("the other way round it is no better")
	}
}

func TestDiffConditions(t *testing.T) {
	t.Parallel()
	d := newDiff(t, scaledRun(t, 0, "solve", "inner", "last"), scaledRun(t, 20, "solve", "other", "last"), diff.Options{})
	for _, x := range []struct {
		text  string
		holds bool
	}{
		{"execution.ratio>1.09", true},
		{"execution.ratio>1.1", false},
		{"interval:solve.execution.ratio>=1.2", true},
		{"interval:last.execution.change>0s", false},
		{"interval:solve.execution.change>=100us", true},
		{"interval:solve.execution>599us", true},
		{"interval:other.execution.ratio>100", true}, // not in A: not known
		{"bytes_out.change!=0", false},
		{"efficiency.change<-50%", false},
	} {
		c, err := diff.ParseCondition(x.text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := d.Judge([]*diff.Condition{c})
		if err != nil || v[0].Holds != x.holds {
			t.Errorf("%s: %v, %v", x.text, v, err)
		}
	}
	for _, text := range []string{"", "execution.more>1", ".change>1", "execution.ratio>1s", "execution.change>"} {
		if _, err := diff.ParseCondition(text); !errors.Is(err, conditions.ErrSyntax) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"execution.change>1ticks", "interval:gone.execution.ratio>1"} {
		c, err := diff.ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Judge([]*diff.Condition{c}); !errors.Is(err, conditions.ErrSyntax) && !errors.Is(err, results.ErrInterval) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMatchNodes compares with a search through all pairs.
func TestMatchNodes(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	tree := func() []results.Node {
		list := []results.Node{{}}
		for i := 1; i < 1+rnd.IntN(30); i++ {
			p := uint32(rnd.IntN(len(list)))
			list = append(list, results.Node{Interval: xtf.Interval{Key: uint64(i), Parent: p, Level: list[p].Level + 1}, Name: string(rune('a' + rnd.IntN(3)))})
		}
		return list
	}
	for range 300 {
		a, b := tree(), tree()
		pairs, only := diff.MatchNodes(a, b)
		// the path of a node: at each level its name and which of that name it is
		path := func(list []results.Node, i int) string {
			text := ""
			for ; i > 0; i = int(list[i].Parent) {
				k := 0
				for j := 1; j < i; j++ {
					if list[j].Parent == list[i].Parent && list[j].Name == list[i].Name {
						k++
					}
				}
				text = fmt.Sprintf("/%s%d%s", list[i].Name, k, text)
			}
			return text
		}
		var want, got [][2]int
		for i := range a {
			for j := range b {
				if path(a, i) == path(b, j) {
					want = append(want, [2]int{i, j})
				}
			}
		}
		got = pairs
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%v\n%v", diff, a, b)
		}
		inA, inB := map[int]bool{}, map[int]bool{}
		for _, p := range pairs {
			inA[p[0]], inB[p[1]] = true, true
		}
		alone := func(list []results.Node, in map[int]bool) (out []int) {
			for i := 1; i < len(list); i++ {
				if !in[i] && in[int(list[i].Parent)] {
					out = append(out, i)
				}
			}
			return out
		}
		if diff := cmp.Diff([2][]int{alone(a, inA), alone(b, inB)}, only); diff != "" {
			t.Fatal(diff)
		}
	}
}
