package xtf

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// TestStateTable compares the table with docs/metrics.md, and the list of its words with docs/verbs.md.
func TestStateTable(t *testing.T) {
	table := "| state | name | group | productive | component | told by |\n|---|---|---|---|---|---|\n"
	names, groups, words := map[string]bool{}, []string{}, map[string][]string{}
	for s, x := range trace.States {
		if x.Name == "" || x.Text == "" || x.Group == "" || x.Told == "" || names[x.Name] {
			t.Errorf("row %d is not complete, or has a name twice: %+v", s, x)
		}
		names[x.Name] = true
		productive, component := "", ""
		if x.Productive {
			productive = "yes"
		}
		if i := States[s].Item; i != NumItems {
			component = "`" + i.String() + "`"
		}
		table += fmt.Sprintf("| %s | `%s` | %s | %s | %s | %s |\n", x.Text, x.Name, x.Group, productive, component, x.Told)
		if words[x.Group] == nil {
			groups = append(groups, x.Group)
		}
		words[x.Group] = append(words[x.Group], x.Text)
	}
	list := ""
	for _, g := range groups {
		list += fmt.Sprintf("  * %s: %s\n", g, strings.Join(words[g], ", "))
	}
	for name, want := range map[string]string{"metrics.md": table, "verbs.md": list} {
		text, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n"+want) {
			t.Errorf("docs/%s does not have\n%s", name, want)
		}
	}
}

// TestStateNumbers: a state that is alone in a component has its name, but for collectives, whose component has the
// barriers too; a state of calls outside MPI has a flag; states share component, activity and flag, or none of them, but
// what is CPU time has that activity.
func TestStateNumbers(t *testing.T) {
	for s, x := range States {
		if name := trace.States[s].Name; len(StatesOf(x.Item)) == 1 && x.Item.String() != name && x.Item != ItemColl {
			t.Errorf("%s is summed up as %s", name, x.Item)
		}
		if x.Flag == 0 {
			continue
		}
		if y := States[AsideOf(x.Flag|FlagCut)]; y.Flag != x.Flag || y.Item != x.Item || y.Activity != x.Activity {
			t.Errorf("%s: %+v, first with its flag %+v", trace.States[s].Name, x, y)
		}
		for r, y := range States {
			if y.Flag != x.Flag && (y.Item == x.Item || y.Activity == x.Activity && y.Activity != ActivityCPU) {
				t.Errorf("%s: %+v, %s: %+v", trace.States[s].Name, x, trace.States[r].Name, y)
			}
		}
		if inside := InsideOf(x.Inside | FlagCut); x.Inside != 0 && (len(inside) != 1 || inside[0] != trace.State(s)) {
			t.Errorf("calls inside of %s are inside of %v", trace.States[s].Name, inside)
		}
	}
	if AsideOf(FlagOutermostMPI|FlagMarker|FlagCut) != trace.StateOwn {
		t.Error("an MPI call is a state outside MPI")
	}
}
