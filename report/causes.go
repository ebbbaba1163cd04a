package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Cause is waiting time that one activity on one call path of a process caused by
// being late: short directly, long by what others had to wait for in turn.
type Cause struct {
	Node     uint32   `json:"node"`
	Path     []string `json:"path"` // of the one who was late
	Pattern  string   `json:"pattern"`
	Activity string   `json:"activity"`
	Short    Sum      `json:"short"`
	Long     Sum      `json:"long"`
	Share    Ratio    `json:"share"` // of all costs here
	Worst    uint64   `json:"worst"` // of one location
	Rank     uint32   `json:"worst_rank"`
	region   uint32
	all      Sum
}

// Critical is the critical path: the chain of work that the run's length depends
// on. It partitions the runtime.
type Critical struct {
	Length     Sum           `json:"length"`
	Activities []CriticalSum `json:"activities"`
	Regions    []CriticalSum `json:"regions"` // by falling time on the path
}

// CriticalSum is what a part of the program takes on the critical path. Imbalance
// is that minus the mean over processes of its time without waits: above 0, the
// path is held up by processes that do more of it than others. Impact is that
// surplus for all processes.
type CriticalSum struct {
	Name      string   `json:"name"`
	Activity  string   `json:"activity"`
	Ticks     Sum      `json:"ticks"`
	Share     Ratio    `json:"share"` // of the path
	Mean      Fraction `json:"mean"`  // of a process
	Imbalance Fraction `json:"imbalance"`
	Impact    Sum      `json:"performance_impact"` // ticks
	Rank      uint32   `json:"worst_rank"`         // whose part of the path is largest
	region    uint32
}

// activity is what a location does, on the critical path and as a cause of waits.
type activity struct {
	name  string   // in documents
	line  string   // on the critical path
	cause string   // in a sentence about who makes others wait
	item  xtf.Item // its time; NumItems where it has none
}

// activities are those of locations, by number: one state, or several, or none.
var activities = func() (list [xtf.NumActivities]activity) {
	for s, x := range trace.States {
		if a := &list[xtf.States[s].Activity]; a.name == "" { // the first one stands for others
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

// ActivityName is the name of an activity in CPATH rows, as in documents.
func ActivityName(a uint32) string {
	if a < xtf.NumActivities {
		return activities[a].name
	}
	return fmt.Sprintf("activity %d", a)
}

// causeKey orders rows about waits and causes as the file does.
type causeKey struct {
	key               uint64 // node and path
	pattern, activity uint32
}

func (a causeKey) compare(b causeKey) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.activity, b.activity))
}

// causeSum adds up rows of one key.
type causeSum struct {
	count       uint64
	ticks, long uint64
	worst       uint64
	worstP      uint32
}

// add adds ticks; a sum of 2^63 or more, which damaged rows alone make, is not known.
func (s *causeSum) add(ticks uint64) {
	if !xtf.Add(&s.ticks, ticks) {
		s.ticks = xtf.Never
	}
}

// causes gathers WAIT, DELAY and CPATH rows, or their totals.
type causes struct {
	r      *Run
	ranks  Ranks
	span   *Span
	paths  *CallPaths
	waits  map[causeKey]*causeSum
	delays map[causeKey]*causeSum
	path   map[causeKey]*causeSum
	lost   []Lost
}

func (c *causes) read() error {
	var err error
	if c.paths, err = c.r.CallPaths(); err != nil {
		return err
	}
	c.waits, c.delays, c.path = map[causeKey]*causeSum{}, map[causeKey]*causeSum{}, map[causeKey]*causeSum{}
	if c.ranks.All() && c.span == nil {
		return c.readTotals()
	}
	c.lost, err = c.r.eachLocation(c.ranks, "waits", c.readLocation)
	return err
}

// placeSums are waits, costs of delays or pieces of the critical path by place.
type placeSums map[causeKey]causeSum

// placeRows passes the rows of an array as sums by place. What a location has in a place is the largest part that it knows of.
type placeRows func(r *Run, p xtf.Proc, add func(at causeKey, x causeSum)) error

// placeArray is an array of the whole run that adds up one of the locations by place.
type placeArray struct {
	name         string
	parts, whole placeRows
}

// placeArrays are waits, costs of delays, and the critical path.
var placeArrays = [3]placeArray{
	{"WAITTOTAL", waitSums, func(r *Run, p xtf.Proc, add func(at causeKey, x causeSum)) error {
		return load(r, p, func(x *xtf.WaitTotal) {
			add(causeKey{x.Key, x.Pattern, 0}, causeSum{count: x.Count, ticks: x.Ticks, worst: x.Worst, worstP: x.WorstP})
		})
	}},
	{"DELAYTOTAL", func(r *Run, p xtf.Proc, add func(at causeKey, x causeSum)) error {
		return load(r, p, func(x *xtf.Delay) {
			add(causeKey{x.Key, x.Pattern, x.Activity}, causeSum{ticks: x.Short, long: x.Long, worst: x.Short + x.Long, worstP: uint32(p)})
		})
	}, func(r *Run, p xtf.Proc, add func(at causeKey, x causeSum)) error {
		return load(r, p, func(x *xtf.DelayTotal) {
			add(causeKey{x.Key, x.Pattern, x.Activity}, causeSum{ticks: x.Short, long: x.Long, worst: x.Worst, worstP: x.WorstP})
		})
	}},
	{"PATHTOTAL", func(r *Run, p xtf.Proc, add func(at causeKey, x causeSum)) error {
		own := map[causeKey]uint64{}
		err := load(r, p, func(x *xtf.CPath) { own[causeKey{xtf.NodeKey(x.Node, x.Path), 0, x.Activity}] += x.End - x.T })
		for at, ticks := range own {
			add(at, causeSum{ticks: ticks, worst: ticks, worstP: uint32(p)})
		}
		return err
	}, func(r *Run, p xtf.Proc, add func(at causeKey, x causeSum)) error {
		return load(r, p, func(x *xtf.PathTotal) {
			add(causeKey{x.Key, 0, x.Activity}, causeSum{ticks: x.Ticks, worst: x.Worst, worstP: x.WorstP})
		})
	}},
}

func waitSums(r *Run, p xtf.Proc, add func(at causeKey, x causeSum)) error {
	return load(r, p, func(x *xtf.WaitSum) {
		add(causeKey{x.Key, x.Pattern, 0}, causeSum{count: x.Count, ticks: x.Ticks, worst: x.Ticks, worstP: uint32(p)})
	})
}

// sums are those of waits, costs of delays and the critical path, as placeArrays.
func (c *causes) sums() []map[causeKey]*causeSum {
	return []map[causeKey]*causeSum{c.waits, c.delays, c.path}
}

// readTotals takes the sums over all locations.
func (c *causes) readTotals() error {
	for k, to := range c.sums() {
		if err := placeArrays[k].whole(c.r, xtf.WholeRun, func(at causeKey, x causeSum) { to[at] = &x }); err != nil {
			return fmt.Errorf("%s: waits and causes: %w", c.r.Name, err)
		}
	}
	return nil
}

// readLocation adds the rows of one location: its sums, or for a span of time
// the waits themselves, cut at its borders.
func (c *causes) readLocation(p trace.P) error {
	own := causes{waits: map[causeKey]*causeSum{}, delays: map[causeKey]*causeSum{}, path: map[causeKey]*causeSum{}}
	begin, end := uint64(0), xtf.Never
	var err error
	if c.span != nil {
		if begin, end, err = c.borders(p); err == nil {
			err = own.readWaits(c.r, p, begin, end)
		}
	} else {
		for k, to := range own.sums()[:2] {
			if err == nil {
				err = placeArrays[k].parts(c.r, xtf.Proc(p), func(at causeKey, x causeSum) { to[at] = &x })
			}
		}
	}
	if err == nil {
		err = own.readPath(c.r, p, begin, end)
	}
	if err != nil {
		return err
	}
	fits, all := true, c.sums()
	for k, own := range own.sums() {
		fits = merge(all[k], own, p) && fits
	}
	if !fits {
		return fmt.Errorf("sums of waits and causes are too large: %w", xtf.ErrCorrupt)
	}
	return nil
}

// borders are the span's on one location.
func (c *causes) borders(p trace.P) (begin, end uint64, err error) {
	if c.span.Of == nil {
		return c.span.Begin, c.span.End, nil
	}
	x, err := c.r.running(p, &xtf.Stats{})
	if err != nil {
		return 0, 0, err
	}
	begin, end, _, err = x.execution(c.span.Of)
	return begin, end, err
}

func (c *causes) readWaits(r *Run, p trace.P, begin, end uint64) error {
	a, err := r.File.Array(xtf.Proc(p), xtf.TypeWait)
	if err != nil {
		return err
	}
	return a.Overlapping(begin, end, func(_ uint64, row []byte) bool {
		var x xtf.Wait
		x.Load(row)
		s := at(c.waits, causeKey{xtf.NodeKey(x.Node, x.Path), x.Pattern, 0})
		s.count++
		s.add(inside(x.T, x.End, begin, end))
		return true
	})
}

// inside is how much of [t, e) lies in [begin, end).
func inside(t, e, begin, end uint64) uint64 {
	from, to := max(t, begin), min(e, end)
	return to - min(from, to)
}

func (c *causes) readPath(r *Run, p trace.P, begin, end uint64) error {
	a, err := r.File.Array(xtf.Proc(p), xtf.TypeCPath)
	if err != nil {
		return err
	}
	return a.Overlapping(begin, end, func(_ uint64, row []byte) bool {
		var x xtf.CPath
		x.Load(row)
		at(c.path, causeKey{xtf.NodeKey(x.Node, x.Path), 0, x.Activity}).add(inside(x.T, x.End, begin, end))
		return true
	})
}

func at(m map[causeKey]*causeSum, k causeKey) *causeSum {
	s := m[k]
	if s == nil {
		s = &causeSum{}
		m[k] = s
	}
	return s
}

// merge adds the sums of location p, and reports whether they fit; the order of the map does not matter.
func merge(to, own map[causeKey]*causeSum, p trace.P) bool {
	fits := true
	for k, x := range own {
		s := at(to, k)
		for _, v := range []struct {
			sum *uint64
			own uint64
		}{{&s.count, x.count}, {&s.ticks, x.ticks}, {&s.long, x.long}} {
			fits = xtf.Add(v.sum, v.own) && fits
		}
		both := x.ticks + x.long
		if both > s.worst || both == s.worst && uint32(p) < s.worstP {
			s.worst, s.worstP = both, uint32(p)
		}
	}
	return fits
}

// sortedKeys are the keys of a map in the order of the file.
func sortedKeys(m map[causeKey]*causeSum) []causeKey {
	return slices.SortedFunc(maps.Keys(m), causeKey.compare)
}

// rank is the process of a location.
func (c *causes) rank(p uint32) uint32 {
	if uint64(p) >= uint64(c.r.Defs.NumLocations()) {
		return p
	}
	rank, _ := c.r.Defs.Process(trace.P(p))
	return rank
}

// waitPaths lists the waits by call path, and adds their counts to the patterns.
func (c *causes) waitPaths(patterns []PatternSum) []WaitPath {
	list := []WaitPath{}
	all := Sum(0)
	counts := map[xtf.Item]Sum{}
	addCount := func(i xtf.Item, n uint64) { counts[i] = add(counts[i], integer(n)) }
	keys := sortedKeys(c.waits)
	for _, k := range keys {
		s := c.waits[k]
		x := WaitPath{
			Node: uint32(k.key >> 32), Path: c.paths.Names(uint32(k.key)), Pattern: PatternName(k.pattern), Order: OrderName(k.pattern),
			Count: s.count, Ticks: integer(s.ticks), Worst: s.worst, Rank: c.rank(s.worstP),
		}
		list = append(list, x)
		if !IsCompletion(k.pattern) {
			all = add(all, x.Ticks)
		}
		addCount(xtf.PatternItem(k.pattern), s.count)
		switch x.Order {
		case "same":
			addCount(xtf.ItemLateSenderSame, s.count)
		case "different":
			addCount(xtf.ItemLateSenderOther, s.count)
		}
	}
	for i, k := range keys {
		if !IsCompletion(k.pattern) {
			list[i].Share = ratio(list[i].Ticks, all)
		}
	}
	for i := range patterns {
		patterns[i].Count = notKnown
		if n, ok := counts[patterns[i].item]; ok {
			patterns[i].Count = n
		}
	}
	slices.SortStableFunc(list, func(a, b WaitPath) int { return cmp.Compare(b.Ticks, a.Ticks) })
	return list
}

// causeLines lists the delay costs by falling cost; nil where they are not known.
func (c *causes) causeLines(whole bool) []Cause {
	if !whole && c.span != nil {
		return nil
	}
	list := []Cause{}
	all := Sum(0)
	for _, k := range sortedKeys(c.delays) {
		s := c.delays[k]
		x := Cause{
			Node: uint32(k.key >> 32), Path: c.paths.Names(uint32(k.key)), Pattern: PatternName(k.pattern), Activity: ActivityName(k.activity),
			Short: integer(s.ticks), Long: integer(s.long), Worst: s.worst, Rank: c.rank(s.worstP), region: c.paths.Region(uint32(k.key)),
		}
		x.all = add(x.Short, x.Long)
		all = add(all, x.all)
		list = append(list, x)
	}
	for i := range list {
		list[i].Share = ratio(list[i].all, all)
	}
	slices.SortStableFunc(list, func(a, b Cause) int { return cmp.Compare(b.all, a.all) })
	return list
}
