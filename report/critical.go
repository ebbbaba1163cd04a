package report

import (
	"fmt"
	"math/big"
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
	x := &Critical{Length: new(big.Int)}
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
		x.Length.Add(x.Length, s.ticks.big())
	}
	means := map[criticalKey]*big.Int{}
	if c.ranks.All() && c.span == nil {
		var err error
		if means, err = c.means(root); err != nil {
			return nil, err
		}
	}
	for a := range xtf.NumActivities {
		if s := byActivity[a]; s != nil {
			x.Activities = append(x.Activities, x.sum(c, strings.ToUpper(ActivityName(a)), criticalKey{trace.Undefined, a}, s, activityMean(root, a), root.participants))
		}
	}
	for _, k := range order {
		line := x.sum(c, c.name(k), k, byRegion[k], means[k], root.participants)
		if s := c.state(k); s != trace.StateOwn {
			line.Activity = s.String() // the path itself knows it as CPU
			x.Activities[0].Name = "all but MPI and I/O"
		}
		x.Regions = append(x.Regions, line)
	}
	slices.SortStableFunc(x.Regions, func(a, b CriticalSum) int { return b.Ticks.Cmp(a.Ticks) })
	return x, nil
}

// take adds the sums of another key; worst is of one of them.
func (s *causeSum) take(o *causeSum) {
	s.ticks.addWide(o.ticks)
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

// state is what a region that the path knows as CPU is in, StateOwn for its own code.
func (c *causes) state(k criticalKey) trace.State {
	r := c.r.Defs.Region(k.region)
	if k.activity != xtf.ActivityCPU || r == nil {
		return trace.StateOwn
	}
	switch s := c.r.Defs.StateOf(r); s {
	case trace.StateDeviceCall, trace.StateDeviceWait, trace.StateLock, trace.StateOverhead, trace.StateThread:
		return s
	}
	return trace.StateOwn
}

// sum completes a line; mean is the sum over processes, nil where it is not known.
func (x *Critical) sum(c *causes, name string, k criticalKey, s *causeSum, all *big.Int, processes uint64) CriticalSum {
	line := CriticalSum{
		Name: name, Activity: ActivityName(k.activity), Ticks: s.ticks.big(), Share: ratio(s.ticks.big(), x.Length), Rank: c.rank(s.worstP), region: k.region,
	}
	if all == nil || processes == 0 {
		return line
	}
	p := integer(processes)
	over := sub(new(big.Int).Mul(line.Ticks, p), all)
	line.Mean, line.Imbalance = Fraction{all, p}, Fraction{over, p}
	line.Impact = new(big.Int)
	if over.Sign() > 0 {
		line.Impact = over
	}
	return line
}

// activityMean is the time of all processes in an activity, MPI without waits.
func activityMean(root *measured, activity uint32) *big.Int {
	switch activity {
	case xtf.ActivityCPU:
		all := root.sum(xtf.ItemTime) // what the critical path takes for CPU is all that has no activity of its own
		for _, i := range [...]xtf.Item{xtf.ItemMPI, xtf.ItemIO, xtf.ItemMarker} {
			all = sub(all, root.sum(i))
		}
		return all
	case xtf.ActivityIO:
		return root.sum(xtf.ItemIO)
	case xtf.ActivityMarker:
		return root.sum(xtf.ItemMarker)
	case xtf.ActivityMPI:
		if waits, _ := root.waits(); waits != nil {
			return sub(root.sum(xtf.ItemMPI), waits)
		}
	}
	return nil
}

// means are the times of all processes by region: exclusive time, that of MPI
// calls without their waits.
func (c *causes) means(root *measured) (map[criticalKey]*big.Int, error) {
	t := newProfileTable(c.r)
	if err := t.addWhole(); err != nil {
		return nil, fmt.Errorf("%s: profile of the whole run: %w", c.r.Name, err)
	}
	waits := map[uint32]*big.Int{}
	for _, k := range sortedKeys(c.waits) {
		region := c.paths.Region(uint32(k.key))
		if IsCompletion(k.pattern) {
			continue
		}
		if waits[region] == nil {
			waits[region] = new(big.Int)
		}
		waits[region].Add(waits[region], c.waits[k].ticks.big())
	}
	means := map[criticalKey]*big.Int{}
	inside := new(big.Int)
	for _, l := range t.lines() {
		activity := xtf.ActivityCPU
		switch {
		case l.class&xtf.ClassMPI != 0:
			activity = xtf.ActivityMPI
		case l.class&xtf.ClassIO != 0:
			activity = xtf.ActivityIO
		}
		v := l.Exclusive
		inside.Add(inside, v)
		if w := waits[l.Region]; w != nil && activity == xtf.ActivityMPI {
			v = sub(v, w)
		}
		means[criticalKey{l.Region, activity}] = v
	}
	if rest := sub(root.sum(xtf.ItemTime), inside); rest.Sign() > 0 {
		means[criticalKey{trace.Undefined, xtf.ActivityCPU}] = rest
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
	text := fmt.Sprintf("%s %s %s, %s on rank %d", patternLabel(worst.Item.String()), u.short(Fraction{worst.Sum, big.NewInt(1)}), u.name(), percentOf(integer(worst.Max), worst.Sum), worst.MaxP)
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
	text := map[string]string{"cpu": "CPU time", "mpi": "MPI calls", "io": "I/O", "marker": "markers", "wait": "waits"}[x.Activity]
	switch {
	case x.Activity == ActivityName(xtf.ActivityOutside):
		text = "time before the first event or after the last one"
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
