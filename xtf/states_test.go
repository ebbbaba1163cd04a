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
	table := "| state | name | group | productive | component | known by |\n|---|---|---|---|---|---|\n"
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

// TestStateLists: each state is in every list that is made of the table, or has no component and says so there: of a time that is all in
// one state, the parts of the time, running totals and the components that CPU is the rest of tell that one.
func TestStateLists(t *testing.T) {
	for s, x := range States {
		name := trace.States[s].Name
		if x.Share < 0 || x.Share >= NumShares || x.Activity >= NumActivities || x.Activity == ActivityWait || x.Activity == ActivityMarker {
			t.Errorf("%s has no share or activity of its own: %+v", name, x)
		}
		if critical := CriticalOf(x.Activity); critical != x.Critical || critical == NumItems && x.Activity != ActivityOutside {
			t.Errorf("%s is %s of the critical path, its activity %s", name, x.Critical, critical)
		}
		if x.Item == NumItems {
			if s := trace.State(s); s < trace.StateKernel || s > trace.StateDeviceIdle && s != trace.StateBefore && s != trace.StateAfter {
				t.Errorf("%s has no component", name)
			}
			continue
		}
		v := map[Item]uint64{x.Item: 1, x.Within: 1} // a tick in the state
		if x.Activity == ActivityMPI {
			v[ItemMPI] = 1
		}
		rest := 1
		for _, i := range AsideItems {
			rest -= int(v[i])
		}
		if x.Item == ItemCPU {
			v[ItemCPU] = 1
		}
		if rest != int(v[ItemCPU]) {
			t.Errorf("a tick of %s leaves %d to CPU", name, rest)
		}
		for _, i := range Parts {
			own := v[i]
			for _, part := range PartsOf(i) {
				own -= v[part]
			}
			if (own == 1) != (i == x.Item) || own > 1 {
				t.Errorf("a tick of %s is %d of %s", name, own, i)
			}
		}
		if x.Item != ItemCPU && !HasSum(TypeCall, x.Item) {
			t.Errorf("%s has no running total", name)
		}
	}
	for p, i := range PatternItems {
		if PatternItem(uint32(p)|WaitOrderSame) != i || !HasSum(TypeWait, i) {
			t.Errorf("pattern %d is %s", p, i)
		}
	}
}
