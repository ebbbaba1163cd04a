package report

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/report/verify"
	"github.com/coppice-hpc/coppice/xtf"
)

// classRows are the rows of a run's classes.
type classRows struct {
	groups  []xtf.Group
	classes []xtf.ClassRow
	sums    []xtf.ClassSum
	members []xtf.Member
	merges  []xtf.Merge
}

// fiveProcesses has two groups, of processes 0, 1, 3, 4 and of 2 alone.
func fiveProcesses() *classRows {
	return &classRows{
		groups: []xtf.Group{
			{Key: 0, First: 0, Processes: 4, Classes: 2, Entries: 11, Threshold: 50, Rounded: 7},
			{Key: 1, First: 2, Processes: 1, Classes: 1, Entries: 21},
		},
		classes: []xtf.ClassRow{
			{Key: 0, Representative: 1, Members: 3, Group: 0, Diameter: 40},
			{Key: 1, Representative: 3, Members: 1, Group: 0},
			{Key: 2, Representative: 2, Members: 1, Group: 1},
		},
		sums: []xtf.ClassSum{
			{Key: 0, First: 0, Least: 1000, Mean: 1010, Most: 1030},
			{Key: 1, First: 3, Least: 2000, Mean: 2000, Most: 2000},
			{Key: 2, First: 2, Least: 0, Mean: 0, Most: 0},
		},
		members: []xtf.Member{{Key: 0}, {Key: 1}, {Key: 2, Class: 2, Group: 1}, {Key: 3, Class: 1}, {Key: 4}},
		merges:  []xtf.Merge{{Key: 0, First: 0, Second: 4, Height: 10}, {Key: 1, First: 0, Second: 1, Height: 40}},
	}
}

// run makes a file of them.
func (x *classRows) run(t testing.TB) *results.Run {
	t.Helper()
	var list []items
	for range 5 {
		list = append(list, items{})
	}
	w := &written{nodes: []writtenNode{rootNode(list...)}, rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	w.rows[xtf.WholeRun] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		for i := range x.groups {
			put(array(xtf.TypeGroup), &x.groups[i])
		}
		for i := range x.classes {
			put(array(xtf.TypeClass), &x.classes[i])
		}
		for i := range x.sums {
			put(array(xtf.TypeClassSum), &x.sums[i])
		}
		for i := range x.members {
			put(array(xtf.TypeMember), &x.members[i])
		}
		for i := range x.merges {
			put(array(xtf.TypeMerge), &x.merges[i])
		}
	}
	return w.write(t, 5)
}

func TestClassesText(t *testing.T) {
	t.Parallel()
	r := fiveProcesses().run(t)
	text := textOf(t, r, table.Style{}, SectionClasses)
	for _, want := range []string{
		"3 classes of processes in 2 sets that call the same",
		"0-1,4", "@1", "3.0 %", "2: 40", "not exact: times moved by up to 7",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	d, err := New(r, Options{Sections: []Section{SectionClasses}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, d, "csv", table.Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `rank,group,class,representative,processes,height,least,mean,most
0,0,0,1,3,40,1000,1010,1030
1,0,0,1,3,40,1000,1010,1030
2,1,2,2,1,0,0,0,0
3,0,1,3,1,0,2000,2000,2000
4,0,0,1,3,40,1000,1010,1030
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	if m := d.Classes.Groups[0].Merges; len(m) != 2 || m[1] != (ClassMerge{40, 0, 1, 3}) {
		t.Errorf("merges %+v", m)
	}
	if _, err := NewClasses(build(t, []items{{}})); !errors.Is(err, results.ErrNoResult) || !strings.Contains(err.Error(), "--classes") {
		t.Errorf("a run without classes: %v", err)
	}
}

// TestHostileClasses changes rows at random: the report says that they do not fit, or prints what does, and check agrees.
func TestHostileClasses(t *testing.T) {
	t.Parallel()
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	refused := 0
	for seed := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 5))
		x := fiveProcesses()
		number := func() uint32 { return []uint32{0, 1, 2, 3, 4, 5, 1 << 20, 1<<32 - 1}[rnd.IntN(8)] }
		for range 1 + rnd.IntN(2) {
			g, c, s, m, e := &x.groups[rnd.IntN(2)], &x.classes[rnd.IntN(3)], &x.sums[rnd.IntN(3)], &x.members[rnd.IntN(5)], &x.merges[rnd.IntN(2)]
			fields := []*uint32{&g.First, &g.Processes, &g.Classes, &g.Fraction, &c.Representative, &c.Members, &c.Group, &s.First, &m.Class, &m.Group, &e.First, &e.Second}
			keys := []*uint64{&s.Least, &s.Mean, &s.Most, &e.Height, &g.Entries, &c.Diameter}
			switch rnd.IntN(4) {
			case 0:
				*keys[rnd.IntN(len(keys))] = rnd.Uint64()
			case 1: // a row less
				switch rnd.IntN(5) {
				case 0:
					x.groups = x.groups[:1]
				case 1:
					x.classes = x.classes[:2]
				case 2:
					x.sums = x.sums[:2]
				case 3:
					x.members = x.members[:4]
				case 4:
					x.merges = x.merges[:1]
				}
			default:
				*fields[rnd.IntN(len(fields))] = number()
			}
			if len(x.groups) < 2 || len(x.classes) < 3 || len(x.sums) < 3 || len(x.members) < 5 || len(x.merges) < 2 {
				break
			}
		}
		r := x.run(t)
		d, err := New(r, Options{Sections: []Section{SectionClasses}})
		v, verr := verify.New(r, 1, func(uint64) {})
		if verr != nil {
			t.Fatal(verr)
		}
		noticed := false
		for _, f := range v.Findings {
			noticed = noticed || f.Array == "CLASS" || f.Array == "MEMBER"
		}
		if noticed != (err != nil) {
			t.Errorf("seed %d: report: %v, check: %+v", seed, err, v.Findings)
		}
		if err != nil {
			refused++
			if !errors.Is(err, xtf.ErrCorrupt) {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		if err := errors.Join(table.Write(io.Discard, d, "text", table.Style{}), d.WriteJSON(io.Discard), table.Write(io.Discard, d, "csv", table.Style{})); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if refused < rounds/4 {
		t.Errorf("%d of %d refused", refused, rounds)
	}
}
