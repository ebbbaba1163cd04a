package results

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Cause is waiting time that an activity on a call path of a process caused because the process was late. Short costs are direct.
// Long costs are what others had to wait for in turn.
type Cause struct {
	Node     uint32        `json:"node"`
	Path     []string      `json:"path"` // of the one who was late
	Pattern  string        `json:"pattern"`
	Activity string        `json:"activity"`
	Short    numbers.Sum   `json:"short"`
	Long     numbers.Sum   `json:"long"`
	Share    numbers.Ratio `json:"share"` // of the costs of all causes
	Worst    uint64        `json:"worst"` // of one location
	Rank     uint32        `json:"worst_rank"`
	Region   uint32        `json:"-"`
	all      numbers.Sum
}

// Critical is the critical path: the chain of work that decides the length of the run. It partitions the runtime.
type Critical struct {
	Length     numbers.Sum   `json:"length"`
	Activities []CriticalSum `json:"activities"`
	Regions    []CriticalSum `json:"regions"` // by falling time on the path
}

// CriticalSum is the time of a part of the program on the critical path. Imbalance is that time minus the mean over processes of
// its time without waits: above 0, the path goes through processes that spend more time in it than others. Impact is that surplus
// for all processes.
type CriticalSum struct {
	Name      string           `json:"name"`
	Activity  string           `json:"activity"`
	Ticks     numbers.Sum      `json:"ticks"`
	Share     numbers.Ratio    `json:"share"` // of the path
	Mean      numbers.Fraction `json:"mean"`  // of a process
	Imbalance numbers.Fraction `json:"imbalance"`
	Impact    numbers.Sum      `json:"performance_impact"` // ticks
	Rank      uint32           `json:"worst_rank"`         // the process with the largest part of the path
}

// activity is what a location does on the critical path, and as a cause of waits.
type activity struct {
	Name  string   // in documents
	Line  string   // on the critical path
	Cause string   // in a sentence about who makes others wait
	item  xtf.Item // the component that sums it up; NumItems: none
}

// Activities are the activities of locations, by number. An activity is one state, several, or none.
var Activities = func() (list [xtf.NumActivities]activity) {
	for s, x := range trace.States {
		if a := &list[xtf.States[s].Activity]; a.Name == "" { // the first state names it
			*a = activity{x.Name, x.Text, x.Text, xtf.States[s].Item}
		}
	}
	list[xtf.ActivityCPU] = activity{xtf.ItemCPU.String(), ItemWord(xtf.ItemCPU), "CPU time", xtf.ItemCPU}
	list[xtf.ActivityMPI] = activity{xtf.ItemMPI.String(), ItemWord(xtf.ItemMPI), "MPI calls", xtf.ItemMPI}
	list[xtf.ActivityMarker] = activity{xtf.ItemMarker.String(), ItemWord(xtf.ItemMarker), "markers", xtf.ItemMarker}
	list[xtf.ActivityWait] = activity{"wait", "waits", "waits", xtf.NumItems}
	list[xtf.ActivityOutside] = activity{"outside", "outside", "time before the first event or after the last one", xtf.NumItems}
	return list
}()

// ActivityName is the name of an activity of CPATH rows in documents.
func ActivityName(a uint32) string {
	if a < xtf.NumActivities {
		return Activities[a].Name
	}
	return fmt.Sprintf("activity %d", a)
}

// CauseKey orders rows about waits and causes as the file does.
type CauseKey struct {
	Key               uint64 // node and path
	Pattern, Activity uint32
}

// Compare orders places as the file does.
func (a CauseKey) Compare(b CauseKey) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Activity, b.Activity))
}

// CauseSum adds up rows of one key.
type CauseSum struct {
	Count       uint64
	Ticks, Long uint64
	Worst       uint64
	WorstP      uint32
}

// Add adds a sum. It returns false if the result is 2^63 or more, which only damaged rows make; the sum is then not known.
func (s *CauseSum) Add(o CauseSum) bool {
	fits := true
	for _, v := range []struct {
		sum *uint64
		own uint64
	}{{&s.Count, o.Count}, {&s.Ticks, o.Ticks}, {&s.Long, o.Long}} {
		if !xtf.Add(v.sum, v.own) {
			*v.sum, fits = xtf.Never, false
		}
	}
	if o.Worst > s.Worst {
		s.Worst, s.WorstP = o.Worst, o.WorstP
	}
	return fits
}

// PlaceSums are waits, costs of delays or pieces of the critical path by place.
type PlaceSums map[CauseKey]CauseSum

// Add adds a part of a place and reports whether the sums hold it. The parts of locations come in their order.
func (m PlaceSums) Add(at CauseKey, x CauseSum) bool {
	s := m[at]
	fits := s.Add(x)
	m[at] = s
	return fits
}

// Sorted yields the places in the order of the file.
func (m PlaceSums) Sorted() iter.Seq2[CauseKey, CauseSum] {
	return func(yield func(CauseKey, CauseSum) bool) {
		for _, at := range slices.SortedFunc(maps.Keys(m), CauseKey.Compare) {
			if !yield(at, m[at]) {
				return
			}
		}
	}
}

// Causes gathers WAIT, DELAY and CPATH rows, or their totals.
type Causes struct {
	R      *Run
	Ranks  Ranks
	Span   *Span
	Paths  *CallPaths
	Waits  PlaceSums
	Delays PlaceSums
	path   PlaceSums
	Lost   []table.Lost

	most numbers.Largest[any] // CauseKey: of CauseLines; CriticalKey, and activity u32: of Critical
}

// Read reads the sums of all locations or of the chosen ones.
func (c *Causes) Read() error {
	var err error
	if c.Paths, err = ReadCallPaths(c.R); err != nil {
		return err
	}
	c.Waits, c.Delays, c.path = PlaceSums{}, PlaceSums{}, PlaceSums{}
	if c.Ranks.All() && c.Span == nil {
		for k, to := range c.sums() {
			if err := PlaceArrays[k].Whole(c.R, xtf.WholeRun, func(at CauseKey, x CauseSum) { to[at] = x }); err != nil {
				return c.R.Failed(xtf.WholeRun, "waits and causes", err)
			}
		}
		return nil
	}
	c.Lost, err = c.R.EachLocation(c.Ranks, "waits", c.readLocation)
	return err
}

// ReadLines is Read for CauseLines and Critical, which also need the location with most of each line.
func (c *Causes) ReadLines() error {
	if err := c.Read(); err != nil || !c.Ranks.All() || c.Span != nil {
		return err
	}
	var err error
	c.Lost, err = c.R.EachLocation(c.Ranks, "waits", func(p trace.P) error {
		err := PlaceArrays[1].Parts(c.R, xtf.Proc(p), c.addCause)
		if err == nil {
			err = PlaceArrays[2].Parts(c.R, xtf.Proc(p), c.addPath)
		}
		c.most.End(uint32(p))
		return err
	})
	return err
}

func (c *Causes) addCause(at CauseKey, x CauseSum) { c.most.Add(c.line(at), x.Ticks+x.Long) }

func (c *Causes) addPath(at CauseKey, x CauseSum) {
	c.most.Add(CriticalKey{c.Paths.Region(uint32(at.Key)), at.Activity}, x.Ticks)
	c.most.Add(at.Activity, x.Ticks)
}

// line returns the place at which a cause is reported: computing counts for the program's own function.
func (c *Causes) line(k CauseKey) CauseKey {
	if k.Activity == xtf.ActivityCPU {
		k.Key = xtf.NodeKey(uint32(k.Key>>32), c.Paths.Own(uint32(k.Key)))
	}
	return k
}

// placeRows passes the rows of an array as sums by place. The part of a location in a place is the largest one that it reports.
type placeRows func(r *Run, p xtf.Proc, add func(at CauseKey, x CauseSum)) error

// PlaceArray is an array of the whole run that adds up one of the locations by place.
type PlaceArray struct {
	Name         string
	Parts, Whole placeRows
}

// PlaceArrays are the arrays of waits, of costs of delays, and of the critical path.
var PlaceArrays = [3]PlaceArray{
	{"WAITTOTAL", WaitSums, func(r *Run, p xtf.Proc, add func(at CauseKey, x CauseSum)) error {
		return Load(r, p, func(x *xtf.WaitTotal) {
			add(CauseKey{x.Key, x.Pattern, 0}, CauseSum{Count: x.Count, Ticks: x.Ticks, Worst: x.Worst, WorstP: x.WorstP})
		})
	}},
	{"DELAYTOTAL", func(r *Run, p xtf.Proc, add func(at CauseKey, x CauseSum)) error {
		return Load(r, p, func(x *xtf.Delay) {
			add(CauseKey{x.Key, x.Pattern, x.Activity}, CauseSum{Ticks: x.Short, Long: x.Long, Worst: x.Short + x.Long, WorstP: uint32(p)})
		})
	}, func(r *Run, p xtf.Proc, add func(at CauseKey, x CauseSum)) error {
		return Load(r, p, func(x *xtf.DelayTotal) {
			add(CauseKey{x.Key, x.Pattern, x.Activity}, CauseSum{Ticks: x.Short, Long: x.Long, Worst: x.Worst, WorstP: x.WorstP})
		})
	}},
	{"PATHTOTAL", func(r *Run, p xtf.Proc, add func(at CauseKey, x CauseSum)) error {
		own := map[CauseKey]uint64{}
		err := Load(r, p, func(x *xtf.CPath) { own[CauseKey{xtf.NodeKey(x.Node, x.Path), 0, x.Activity}] += x.End - x.T })
		for at, ticks := range own {
			add(at, CauseSum{Ticks: ticks, Worst: ticks, WorstP: uint32(p)})
		}
		return err
	}, func(r *Run, p xtf.Proc, add func(at CauseKey, x CauseSum)) error {
		return Load(r, p, func(x *xtf.PathTotal) {
			add(CauseKey{x.Key, 0, x.Activity}, CauseSum{Ticks: x.Ticks, Worst: x.Worst, WorstP: x.WorstP})
		})
	}},
}

// WaitSums passes the waits of a location.
func WaitSums(r *Run, p xtf.Proc, add func(at CauseKey, x CauseSum)) error {
	return Load(r, p, func(x *xtf.WaitSum) {
		add(CauseKey{x.Key, x.Pattern, 0}, CauseSum{Count: x.Count, Ticks: x.Ticks, Worst: x.Ticks, WorstP: uint32(p)})
	})
}

// sums are the sums of waits, of costs of delays and of the critical path, in the order of PlaceArrays.
func (c *Causes) sums() [3]PlaceSums { return [...]PlaceSums{c.Waits, c.Delays, c.path} }

// readLocation adds the rows of one location: its sums or, for a span of time, the waits themselves, cut at the borders of the
// span.
func (c *Causes) readLocation(p trace.P) error {
	own, fits := [3]PlaceSums{{}, {}, {}}, true
	add := func(k int) func(at CauseKey, x CauseSum) {
		return func(at CauseKey, x CauseSum) { fits = own[k].Add(at, x) && fits }
	}
	begin, end, _, err := c.R.Borders(p, c.Span)
	if err == nil && c.Span != nil {
		for _, x := range Overlapping[xtf.Wait](c.R, p, begin, end, &err) {
			add(0)(CauseKey{xtf.NodeKey(x.Node, x.Path), x.Pattern, 0}, CauseSum{Count: 1, Ticks: Inside(x.T, x.End, begin, end)})
		}
	} else {
		for k := range 2 {
			if err == nil {
				err = PlaceArrays[k].Parts(c.R, xtf.Proc(p), add(k))
			}
		}
	}
	if err != nil {
		return err
	}
	for _, x := range Overlapping[xtf.CPath](c.R, p, begin, end, &err) {
		add(2)(CauseKey{xtf.NodeKey(x.Node, x.Path), 0, x.Activity}, CauseSum{Ticks: Inside(x.T, x.End, begin, end)})
	}
	if err != nil {
		return err
	}
	for k, to := range c.sums() {
		for at, x := range own[k] { // the order does not matter
			x.Worst, x.WorstP = x.Ticks+x.Long, uint32(p)
			fits = to.Add(at, x) && fits
			switch k {
			case 1:
				c.addCause(at, x)
			case 2:
				c.addPath(at, x)
			}
		}
	}
	c.most.End(uint32(p))
	if !fits {
		return fmt.Errorf("sums of waits and causes are too large: %w", xtf.ErrCorrupt)
	}
	return nil
}

// Inside returns how much of [t, e) is in [begin, end), in ticks.
func Inside(t, e, begin, end uint64) uint64 {
	from, to := max(t, begin), min(e, end)
	return to - min(from, to)
}

// Rank is the process of a location.
func (c *Causes) Rank(p uint32) uint32 {
	if uint64(p) >= uint64(c.R.Defs.NumLocations()) {
		return p
	}
	rank, _ := c.R.Defs.Process(trace.P(p))
	return rank
}

// CauseLines lists the delay costs in falling order. Those of computing count for the program's own function. It is nil where
// they are not known.
func (c *Causes) CauseLines(whole bool) []Cause {
	if !whole && c.Span != nil {
		return nil
	}
	sums := PlaceSums{}
	for k, s := range c.Delays.Sorted() {
		sums.Add(c.line(k), s)
	}
	list := []Cause{}
	all := numbers.Sum(0)
	for k, s := range sums.Sorted() {
		most := c.most.Of(k)
		x := Cause{
			Node: uint32(k.Key >> 32), Path: c.Paths.Names(uint32(k.Key)), Pattern: PatternName(k.Pattern), Activity: ActivityName(k.Activity),
			Short: numbers.Integer(s.Ticks), Long: numbers.Integer(s.Long), Worst: most.Ticks, Rank: c.Rank(most.P), Region: c.Paths.Region(uint32(k.Key)),
		}
		x.all = numbers.Add(x.Short, x.Long)
		all = numbers.Add(all, x.all)
		list = append(list, x)
	}
	for i := range list {
		list[i].Share = numbers.Quotient(list[i].all, all)
	}
	slices.SortStableFunc(list, func(a, b Cause) int { return cmp.Compare(b.all, a.all) })
	return list
}

// String prints the place for people.
func (a CauseKey) String() string {
	return fmt.Sprintf("node %d, call path %d, pattern %#x, activity %s", a.Key>>32, uint32(a.Key), a.Pattern, ActivityName(a.Activity))
}

// String prints the sum for people.
func (s CauseSum) String() string {
	return fmt.Sprintf("%d times, %d + %d ticks, most %d of location %d", s.Count, s.Ticks, s.Long, s.Worst, s.WorstP)
}

// CriticalKey is a line of the profile of the critical path: a region in an activity.
type CriticalKey struct{ Region, Activity uint32 }

// OnPath yields the lines of the critical path with their ticks; nothing without rows of it.
func (c *Causes) OnPath(yield func(CriticalKey, uint64) bool) {
	for k, s := range c.path.Sorted() {
		if !yield(CriticalKey{c.Paths.Region(uint32(k.Key)), k.Activity}, s.Ticks) {
			return
		}
	}
}

// Critical sums up the critical path by activity and region; nil without rows of it. Means come from the whole program, so there
// are none for a part of the run.
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
			order = append(order, key)
		}
		Made(byRegion, key).Add(s)
		Made(byActivity, k.Activity).Add(s)
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
			x.Activities = append(x.Activities, x.sum(c, Activities[a].Line, CriticalKey{trace.Undefined, a}, s, c.most.Of(a).P, c.activityMean(root, a), root.Participants))
		}
	}
	for _, k := range order {
		mean, ok := means[k]
		if !ok {
			mean = numbers.NotKnown
		}
		line := x.sum(c, c.Name(k), k, byRegion[k], c.most.Of(k).P, mean, root.Participants)
		s := c.R.State(k.Region)
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

// sum completes a line. most is the location that has most of it, all the sum over processes.
func (x *Critical) sum(c *Causes, name string, k CriticalKey, s *CauseSum, most uint32, all numbers.Sum, processes uint64) CriticalSum {
	line := CriticalSum{
		Name: name, Activity: ActivityName(k.Activity), Ticks: numbers.Integer(s.Ticks), Share: numbers.Quotient(numbers.Integer(s.Ticks), x.Length), Rank: c.Rank(most),
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

// activityMean is the time of all processes in an activity, for MPI without waits. It counts first threads only, but the path
// goes through all threads. So it is not known where processes have several.
func (c *Causes) activityMean(root *Measured, activity uint32) numbers.Sum {
	item := Activities[activity].item
	if item == xtf.NumItems || activity != xtf.ActivityMPI && trace.CountLocations(c.R.Defs).CPU > len(c.R.Defs.Processes()) {
		return numbers.NotKnown
	}
	if activity != xtf.ActivityMPI {
		return root.Sum(item)
	}
	waits, _ := root.Waits()
	return numbers.Sub(root.Sum(item), waits)
}

// means are the times of all processes by region: exclusive time, for MPI calls without their waits.
func (c *Causes) means(root *Measured) (map[CriticalKey]numbers.Sum, error) {
	t, err := WholeTable(c.R)
	if err != nil {
		return nil, err
	}
	waits := map[uint32]numbers.Sum{}
	for k, s := range c.Waits {
		if region := c.Paths.Region(uint32(k.Key)); !IsApart(k.Pattern) {
			waits[region] = numbers.Add(waits[region], numbers.Integer(s.Ticks))
		}
	}
	means := map[CriticalKey]numbers.Sum{}
	inside, told, nested := numbers.Sum(0), root.Sum(xtf.ItemOverhead), false
	for _, l := range t.lines() {
		activity := xtf.States[c.R.State(l.Region)].Activity
		v := numbers.Integer(l.Exclusive)
		inside = numbers.Add(inside, v)
		if activity == xtf.ActivityMPI {
			nested = nested || waits[l.Region] > v
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
	if told > 0 { // known from records, inside of functions: not known of which
		maps.DeleteFunc(means, func(k CriticalKey, _ numbers.Sum) bool { return k.Activity == xtf.ActivityCPU })
	}
	if nested { // waits belong to outermost calls of MPI, and happen in the calls that these make
		maps.DeleteFunc(means, func(k CriticalKey, _ numbers.Sum) bool { return k.Activity == xtf.ActivityMPI })
	}
	return means, nil
}

// WaitsForThreads reports whether a process waits for its other threads in a region, given by its reference.
func WaitsForThreads(r *Run, region uint32) bool { return r.State(region) == trace.StateThreadWait }

// Who names the cause: an activity, its place in the program, and the process with the largest part.
func (x *Cause) Who(r *Run) string {
	text := ""
	for a := range Activities {
		if Activities[a].Name == x.Activity {
			text = Activities[a].Cause
		}
	}
	if x.Activity == ActivityName(xtf.ActivityCPU) && WaitsForThreads(r, x.Region) {
		text = "waits for other threads"
	}
	switch {
	case x.Activity == ActivityName(xtf.ActivityOutside):
	case x.Region == trace.Undefined:
		text += " outside recorded calls"
	default:
		text += " in " + numbers.Clean(CallName(r, x.Region), 60)
		if place := CallPlace(r, x.Region); place != "" {
			text += " at " + place
		} else if file, line := r.Where(x.Region); strings.Contains(file, ".") && line != trace.Undefined && line > 0 {
			text += fmt.Sprintf(" (%s:%d)", numbers.Clean(file[strings.LastIndexByte(file, '/')+1:], 60), line)
		}
	}
	return fmt.Sprintf("%s, most on rank %d", text, x.Rank)
}
