package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// criticalKey is what the path's profile is made of: a region in an activity.
type criticalKey struct{ region, activity uint32 }

// critical sums up the critical path by activity and region; nil without rows of
// it. Means come from the whole program, so for a part of the run there are none.
func (c *causes) critical(root *measured) (*Critical, error) {
	if len(c.path) == 0 {
		return nil, nil
	}
	x := &Critical{}
	byActivity, byRegion := map[uint32]*causeSum{}, map[criticalKey]*causeSum{}
	var order []criticalKey
	for _, k := range sortedKeys(c.path) {
		s := c.path[k]
		key := criticalKey{c.paths.Region(uint32(k.key)), k.activity}
		if byRegion[key] == nil {
			byRegion[key] = &causeSum{}
			order = append(order, key)
		}
		byRegion[key].take(s)
		if byActivity[k.activity] == nil {
			byActivity[k.activity] = &causeSum{}
		}
		byActivity[k.activity].take(s)
		x.Length = add(x.Length, integer(s.ticks))
	}
	means := map[criticalKey]Sum{}
	if c.ranks.All() && c.span == nil {
		var err error
		if means, err = c.means(root); err != nil {
			return nil, err
		}
	}
	for a := range xtf.NumActivities {
		if s := byActivity[a]; s != nil {
			x.Activities = append(x.Activities, x.sum(c, activities[a].line, criticalKey{trace.Undefined, a}, s, activityMean(root, a), root.participants))
		}
	}
	for _, k := range order {
		mean, ok := means[k]
		if !ok {
			mean = notKnown
		}
		line := x.sum(c, c.name(k), k, byRegion[k], mean, root.participants)
		s := c.state(k.region)
		if x := xtf.States[s]; k.activity == xtf.ActivityCPU && x.Activity == xtf.ActivityCPU && x.Item != xtf.NumItems {
			line.Activity = s.String() // a part of CPU
		}
		x.Regions = append(x.Regions, line)
	}
	slices.SortStableFunc(x.Regions, func(a, b CriticalSum) int { return cmp.Compare(b.Ticks, a.Ticks) })
	return x, nil
}

// take adds the sums of another key; worst is of one of them.
func (s *causeSum) take(o *causeSum) {
	s.add(o.ticks)
	if o.worst > s.worst {
		s.worst, s.worstP = o.worst, o.worstP
	}
}

func (c *causes) name(k criticalKey) string {
	switch {
	case k.activity == xtf.ActivityOutside:
		return "(before the first event)"
	case k.region == trace.Undefined:
		return "(outside recorded calls)"
	}
	return c.r.RegionName(k.region)
}

// state is the one of a region, StateOwn for none.
func (c *causes) state(region uint32) trace.State {
	if r := c.r.Defs.Region(region); r != nil {
		return c.r.Defs.StateOf(r)
	}
	return trace.StateOwn
}

// sum completes a line; all is the sum over processes.
func (x *Critical) sum(c *causes, name string, k criticalKey, s *causeSum, all Sum, processes uint64) CriticalSum {
	line := CriticalSum{
		Name: name, Activity: ActivityName(k.activity), Ticks: integer(s.ticks), Share: ratio(integer(s.ticks), x.Length), Rank: c.rank(s.worstP), region: k.region,
	}
	line.Impact = notKnown
	if all == notKnown || processes == 0 {
		return line
	}
	line.Mean = fraction(all, integer(processes))
	line.Imbalance = whole(line.Ticks).Minus(line.Mean)
	if over := sub(times(line.Ticks, processes), all); over != notKnown {
		line.Impact = max(over, 0)
	}
	return line
}

// activityMean is the time of all processes in an activity, MPI without waits.
func activityMean(root *measured, activity uint32) Sum {
	item := activities[activity].item
	if item == xtf.NumItems {
		return notKnown
	}
	if activity != xtf.ActivityMPI {
		return root.sum(item)
	}
	waits, _ := root.waits()
	return sub(root.sum(item), waits)
}

// means are the times of all processes by region: exclusive time, that of MPI
// calls without their waits.
func (c *causes) means(root *measured) (map[criticalKey]Sum, error) {
	t := newProfileTable(c.r)
	if err := t.addWhole(); err != nil {
		return nil, fmt.Errorf("%s: profile of the whole run: %w", c.r.Name, err)
	}
	waits := map[uint32]Sum{}
	for _, k := range sortedKeys(c.waits) {
		region := c.paths.Region(uint32(k.key))
		if IsCompletion(k.pattern) {
			continue
		}
		waits[region] = add(waits[region], integer(c.waits[k].ticks))
	}
	means := map[criticalKey]Sum{}
	inside, told := Sum(0), root.sum(xtf.ItemOverhead)
	for _, l := range t.lines() {
		activity := xtf.States[c.state(l.Region)].Activity
		v := integer(l.Exclusive)
		inside = add(inside, v)
		if activity == xtf.ActivityMPI {
			v = sub(v, waits[l.Region])
		}
		if activity == xtf.ActivityOverhead {
			told = sub(told, v)
		}
		means[criticalKey{l.Region, activity}] = v
	}
	if rest := sub(root.sum(xtf.ItemTime), inside); rest > 0 {
		means[criticalKey{trace.Undefined, xtf.ActivityCPU}] = rest
	}
	if told > 0 { // by records, inside of functions: whose is not known
		maps.DeleteFunc(means, func(k criticalKey, _ Sum) bool { return k.activity == xtf.ActivityCPU })
	}
	return means, nil
}

// worstWait says in a sentence which waits take most time, where, and who causes
// them; "" where there are none.
func (r *Run) worstWait() (string, error) {
	if rows, err := r.HasRows(); err != nil || !rows {
		return "", err
	}
	s, err := r.nodeStats(0, 1)
	if err != nil {
		return "", err
	}
	worst := worstPattern(s)
	if worst == nil {
		return "", nil
	}
	u := unit{r.Defs.Clock().TimerResolution}
	text := fmt.Sprintf("%s %s %s, %s on rank %d", patternLabel(worst.Item.String()), u.short(whole(worst.Sum)), u.name(), percentOf(fraction64(worst.Max, 1), whole(worst.Sum)), worst.MaxP)
	c := causes{r: r}
	if err := c.read(); err != nil {
		return "", err
	}
	for _, x := range c.causeLines(true) {
		if x.Pattern == worst.Item.String() {
			return text + fmt.Sprintf(", caused by %s", x.who(r)), nil
		}
	}
	return text, nil
}

// who names the cause: an activity, its place in the program, and of the processes, whose sum it is, the one with most.
func (x *Cause) who(r *Run) string {
	text := ""
	for a := range activities {
		if activities[a].name == x.Activity {
			text = activities[a].cause
		}
	}
	switch {
	case x.Activity == ActivityName(xtf.ActivityOutside):
	case x.region == trace.Undefined:
		text += " outside recorded calls"
	default:
		text += " in " + clean(r.RegionName(x.region), 60)
		if file, line := r.Where(x.region); strings.Contains(file, ".") && line != trace.Undefined && line > 0 {
			text += fmt.Sprintf(" (%s:%d)", clean(file[strings.LastIndexByte(file, '/')+1:], 60), line)
		}
	}
	return fmt.Sprintf("%s, most on rank %d", text, x.Rank)
}
