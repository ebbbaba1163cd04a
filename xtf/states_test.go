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
// barriers too; a state of calls outside MPI has a flag, a component and an activity of its own.
func TestStateNumbers(t *testing.T) {
	flags, activities := map[uint32]bool{}, map[uint32]bool{}
	for s, x := range States {
		if name := trace.States[s].Name; len(StatesOf(x.Item)) == 1 && x.Item.String() != name && x.Item != ItemColl {
			t.Errorf("%s is summed up as %s", name, x.Item)
		}
		if x.Flag == 0 {
			continue
		}
		if len(StatesOf(x.Item)) != 1 || flags[x.Flag] || activities[x.Activity] || AsideOf(x.Flag|FlagCut) != trace.State(s) {
			t.Errorf("%s: %+v", trace.States[s].Name, x)
		}
		flags[x.Flag], activities[x.Activity] = true, true
	}
	if AsideOf(FlagOutermostMPI|FlagMarker|FlagCut) != trace.StateOwn {
		t.Error("an MPI call is a state outside MPI")
	}
}
