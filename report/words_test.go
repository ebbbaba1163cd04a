package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestLegend compares docs/viewer.md with the states of each colour.
func TestLegend(t *testing.T) {
	t.Parallel()
	var states [xtf.NumShares][]string
	for s := range trace.StateBefore {
		k := xtf.States[s].Share
		states[k] = append(states[k], trace.States[s].Text)
	}
	for s := trace.StateAfter + 1; s < trace.NumStates; s++ {
		k := xtf.States[s].Share
		states[k] = append(states[k], trace.States[s].Text)
	}
	want := "| colour of | other states with it |\n|---|---|\n"
	for k, first := range shareWords(&results.Run{Defs: &trace.Definitions{}}) {
		others := ""
		if len(states[k]) > 0 {
			others = strings.Join(states[k][1:], ", ")
		}
		want += fmt.Sprintf("| %s | %s |\n", first, others)
	}
	text, err := os.ReadFile("../docs/viewer.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n\n"+want+"\n") {
		t.Errorf("docs/viewer.md does not have\n%s", want)
	}
}

// TestShareWords: the word of a colour has the states that a run has, so that what waits for a device is not called own code.
func TestShareWords(t *testing.T) {
	t.Parallel()
	d := &trace.Definitions{Strings: []trace.String{{Ref: 0, Value: "hipEventSynchronize"}, {Ref: 1, Value: "MPI_Init"}, {Ref: 2, Value: "MPI_File_open"}, {Ref: 3, Value: "write"}}}
	d.Regions = []trace.Region{
		{Ref: 0, Name: 0, Paradigm: trace.ParadigmHIP, Role: trace.RoleWrapper},
		{Ref: 1, Name: 1, Paradigm: trace.ParadigmMPI},
		{Ref: 2, Name: 2, Paradigm: trace.ParadigmMPI},
		{Ref: 3, Name: 3, Role: trace.RoleFileIO},
	}
	d.Seal()
	want := [xtf.NumShares]string{
		"own code, device wait", "point to point", "collective", "barrier", "one-sided", "set-up and end", "MPI-IO, file I/O", "point to point, starting only",
	}
	if got := shareWords(&results.Run{Defs: d}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestItemWords: a component has the word of the table, of its first state, in every list of components.
func TestItemWords(t *testing.T) {
	t.Parallel()
	for s, x := range xtf.States {
		switch {
		case x.Item == xtf.NumItems:
		case x.Item == xtf.ItemCPU:
			if w := results.ItemWord(x.Item); w != "CPU" {
				t.Errorf("CPU, of several states, is called %q", w)
			}
		case results.ItemWord(x.Item) != trace.States[s].Text && xtf.StatesOf(x.Item)[0] == trace.State(s):
			t.Errorf("%s is called %q, its state %q", x.Item, results.ItemWord(x.Item), trace.States[s].Text)
		}
	}
	for i := range xtf.NumItems {
		if w := results.ItemWord(i); w == "" || strings.ContainsAny(w, "_") {
			t.Errorf("item %d is called %q", i, w)
		}
	}
	for a, x := range results.Activities {
		if x.Name == "" || x.Line == "" || x.Cause == "" {
			t.Errorf("activity %d: %+v", a, x)
		}
	}
}

// TestStatesInReports: what is not productive outside of MPI is a loss by its word, and a component in documents; every part
// of the time is in the list of components and in the profile of ranks.
func TestStatesInReports(t *testing.T) {
	t.Parallel()
	var m results.Measured
	for i := range xtf.NumItems {
		m.Spreads = append(m.Spreads, results.Spread{Item: i, Sum: numbers.Integer(1 << i % 50)})
	}
	ticks := m.Ticks(results.Rules{})
	fields, err := json.Marshal(ticks)
	if err != nil {
		t.Fatal(err)
	}
	listed, shown := map[xtf.Item]bool{}, map[xtf.Item]bool{}
	for _, x := range componentLines() {
		listed[x.Item] = true
	}
	for _, p := range rankParts {
		for _, i := range p.items {
			shown[i] = true
		}
	}
	for s, x := range xtf.States {
		if x.Item == xtf.NumItems {
			continue
		}
		if !listed[x.Item] || !shown[x.Item] && !shown[x.Within] {
			t.Errorf("%s: listed %t, shown %t", x.Item, listed[x.Item], shown[x.Item])
		}
		if trace.States[s].Productive || x.Activity == xtf.ActivityMPI || x.Activity == xtf.ActivityCPU {
			continue
		}
		if !slices.ContainsFunc(ticks.Losses(), func(l results.Loss) bool { return l.Name == results.ItemWord(x.Item) && l.Ticks == m.Sum(x.Item) }) {
			t.Errorf("%s is not a loss", x.Item)
		}
		if !strings.Contains(string(fields), fmt.Sprintf("%q:", x.Item.String())) {
			t.Errorf("no %s in %s", x.Item, fields)
		}
	}
}
