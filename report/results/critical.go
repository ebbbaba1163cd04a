package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// CriticalKey is what the path's profile is made of: a region in an activity.
type CriticalKey struct{ Region, Activity uint32 }

// Critical sums up the critical path by activity and region; nil without rows of
// it. Means come from the whole program, so for a part of the run there are none.
func (c *Causes) Critical(root *Measured) (*Critical, error) {
	if len(c.path) == 0 {
		return nil, nil
	}
	x := &Critical{}
	byActivity, byRegion := map[uint32]*CauseSum{}, map[CriticalKey]*CauseSum{}
	var order []CriticalKey
	for k, s := range c.path.Sorted() {
		key := CriticalKey{c.Paths.Region(uint32(k.Key)), k.Activity}
		if byRegion[key] == nil {
			byRegion[key] = &CauseSum{}
			order = append(order, key)
		}
		byRegion[key].Add(s)
		if byActivity[k.Activity] == nil {
			byActivity[k.Activity] = &CauseSum{}
		}
		byActivity[k.Activity].Add(s)
		x.Length = numbers.Add(x.Length, numbers.Integer(s.Ticks))
	}
	means := map[CriticalKey]numbers.Sum{}
	if c.Ranks.All() && c.Span == nil {
		var err error
		if means, err = c.means(root); err != nil {
			return nil, err
		}
	}
	for a := range xtf.NumActivities {
		if s := byActivity[a]; s != nil {
			x.Activities = append(x.Activities, x.sum(c, Activities[a].Line, CriticalKey{trace.Undefined, a}, s, activityMean(root, a), root.Participants))
		}
	}
	for _, k := range order {
		mean, ok := means[k]
		if !ok {
			mean = numbers.NotKnown
		}
		line := x.sum(c, c.Name(k), k, byRegion[k], mean, root.Participants)
		s := c.state(k.Region)
		if x := xtf.States[s]; k.Activity == xtf.ActivityCPU && x.Activity == xtf.ActivityCPU && x.Item != xtf.NumItems {
			line.Activity = s.String() // a part of CPU
		}
		x.Regions = append(x.Regions, line)
	}
	slices.SortStableFunc(x.Regions, func(a, b CriticalSum) int { return cmp.Compare(b.Ticks, a.Ticks) })
	return x, nil
}

// Name is the name of a region in an activity for people.
func (c *Causes) Name(k CriticalKey) string {
	switch {
	case k.Activity == xtf.ActivityOutside:
		return "(before the first event)"
	case k.Region == trace.Undefined:
		return "(outside recorded calls)"
	}
	return c.R.RegionName(k.Region)
}

// state is the one of a region, StateOwn for none.
func (c *Causes) state(region uint32) trace.State {
	if r := c.R.Defs.Region(region); r != nil {
		return c.R.Defs.StateOf(r)
	}
	return trace.StateOwn
}

// sum completes a line; all is the sum over processes.
func (x *Critical) sum(c *Causes, name string, k CriticalKey, s *CauseSum, all numbers.Sum, processes uint64) CriticalSum {
	line := CriticalSum{
		Name: name, Activity: ActivityName(k.Activity), Ticks: numbers.Integer(s.Ticks), Share: numbers.Quotient(numbers.Integer(s.Ticks), x.Length), Rank: c.Rank(s.WorstP), region: k.Region,
	}
	line.Impact = numbers.NotKnown
	if all == numbers.NotKnown || processes == 0 {
		return line
	}
	line.Mean = numbers.Divide(all, numbers.Integer(processes))
	line.Imbalance = numbers.Whole(line.Ticks).Minus(line.Mean)
	if over := numbers.Sub(numbers.Times(line.Ticks, processes), all); over != numbers.NotKnown {
		line.Impact = max(over, 0)
	}
	return line
}

// activityMean is the time of all processes in an activity, MPI without waits.
func activityMean(root *Measured, activity uint32) numbers.Sum {
	item := Activities[activity].item
	if item == xtf.NumItems {
		return numbers.NotKnown
	}
	if activity != xtf.ActivityMPI {
		return root.Sum(item)
	}
	waits, _ := root.Waits()
	return numbers.Sub(root.Sum(item), waits)
}

// means are the times of all processes by region: exclusive time, that of MPI
// calls without their waits.
func (c *Causes) means(root *Measured) (map[CriticalKey]numbers.Sum, error) {
	t, err := WholeTable(c.R)
	if err != nil {
		return nil, err
	}
	waits := map[uint32]numbers.Sum{}
	for k, s := range c.Waits {
		if region := c.Paths.Region(uint32(k.Key)); !IsCompletion(k.Pattern) {
			waits[region] = numbers.Add(waits[region], numbers.Integer(s.Ticks))
		}
	}
	means := map[CriticalKey]numbers.Sum{}
	inside, told := numbers.Sum(0), root.Sum(xtf.ItemOverhead)
	for _, l := range t.lines() {
		activity := xtf.States[c.state(l.Region)].Activity
		v := numbers.Integer(l.Exclusive)
		inside = numbers.Add(inside, v)
		if activity == xtf.ActivityMPI {
			v = numbers.Sub(v, waits[l.Region])
		}
		if activity == xtf.ActivityOverhead {
			told = numbers.Sub(told, v)
		}
		means[CriticalKey{l.Region, activity}] = v
	}
	if rest := numbers.Sub(root.Sum(xtf.ItemTime), inside); rest > 0 {
		means[CriticalKey{trace.Undefined, xtf.ActivityCPU}] = rest
	}
	if told > 0 { // by records, inside of functions: whose is not known
		maps.DeleteFunc(means, func(k CriticalKey, _ numbers.Sum) bool { return k.Activity == xtf.ActivityCPU })
	}
	return means, nil
}

// WorstWait says in a sentence which waits take most time, where, and who causes
// them; "" where there are none.
func WorstWait(r *Run) (string, error) {
	if rows, err := r.HasRows(); err != nil || !rows {
		return "", err
	}
	s, err := r.NodeStats(0, 1)
	if err != nil {
		return "", err
	}
	worst := WorstPattern(s)
	if worst == nil {
		return "", nil
	}
	u := numbers.Units{Resolution: r.Defs.Clock().TimerResolution}
	text := fmt.Sprintf("%s %s %s, %s on rank %d", PatternLabel(worst.Item.String()), u.Short(numbers.Whole(worst.Sum)), u.Name(), numbers.PercentOf(numbers.Divide64(worst.Max, 1), numbers.Whole(worst.Sum)), worst.MaxP)
	c := Causes{R: r}
	if err := c.Read(); err != nil {
		return "", err
	}
	for _, x := range c.CauseLines(true) {
		if x.Pattern == worst.Item.String() {
			return text + fmt.Sprintf(", caused by %s", x.Who(r)), nil
		}
	}
	return text, nil
}

// Who names the cause: an activity, its place in the program, and of the processes, whose sum it is, the one with most.
func (x *Cause) Who(r *Run) string {
	text := ""
	for a := range Activities {
		if Activities[a].Name == x.Activity {
			text = Activities[a].Cause
		}
	}
	switch {
	case x.Activity == ActivityName(xtf.ActivityOutside):
	case x.Region == trace.Undefined:
		text += " outside recorded calls"
	default:
		text += " in " + numbers.Clean(r.CallName(x.Region), 60)
		if place := r.CallPlace(x.Region); place != "" {
			text += " at " + place
		} else if file, line := r.Where(x.Region); strings.Contains(file, ".") && line != trace.Undefined && line > 0 {
			text += fmt.Sprintf(" (%s:%d)", numbers.Clean(file[strings.LastIndexByte(file, '/')+1:], 60), line)
		}
	}
	return fmt.Sprintf("%s, most on rank %d", text, x.Rank)
}
