package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"golang.org/x/sync/errgroup"
)

// Contradiction is a disagreement between two parts of a file.
type Contradiction struct {
	Location *uint64 `json:"location"` // id, nil for the whole run
	Process  *uint32 `json:"process"`
	Thread   *uint32 `json:"thread"`
	Array    string  `json:"array"`
	Row      *uint64 `json:"row"`
	Text     string  `json:"text"`
}

// Verified says what Verify compared and what did not agree.
type Verified struct {
	Findings    []Contradiction `json:"-"`           // the first ones of each location, in the order of locations
	Found       uint64          `json:"-"`           // number of all
	Calls       uint64          `json:"calls"`       // rows compared
	Messages    uint64          `json:"messages"`    // rows
	Mates       uint64          `json:"mates"`       // messages whose partner points back
	Collectives uint64          `json:"collectives"` // rows
	Channels    uint64          `json:"channels"`
	Graphs      uint64          `json:"call_graphs"`
	Skipped     []string        `json:"skipped"` // comparisons that were not made, and why
}

// keptFindings bounds the findings of one location that are listed.
const keptFindings = 100

// New compares what the file says twice, to the last row: sums of components, profiles and channels with the rows that they add
// up, messages with their partners, collectives with all their members, time bins of each level with those of the level below and
// with tiles, the rows of the whole run with those of the locations, and the call graph with the rows. It looks at parallel
// locations at once. Memory per location: its channels, its open calls and 64 bytes per region; for collectives 48 bytes per
// instance. Several goroutines call pass with the bytes of the file that they compared.
func New(r *results.Run, parallel int, pass func(bytes uint64)) (*Verified, error) {
	v := &Verified{Findings: []Contradiction{}, Skipped: []string{}}
	all := results.NewProfileTable(r)
	var err error
	if all.From, err = r.Source(results.SourceAuto); err != nil {
		return nil, err
	}
	if all.From == results.SourceGraph {
		v.skip("calls, messages and collectives: the file was analyzed with --events none and has no rows of them")
	}
	if all.Shared, err = r.Graph(); err != nil {
		v.skip("%v", err)
	}
	if err := v.locations(r, all, parallel, pass); err != nil {
		return nil, err
	}
	rows := all.From == results.SourceRows
	for _, check := range []struct {
		ofRows bool // only rows are compared
		run    func() error
	}{
		{false, func() error { return v.collectives(r) }},
		{false, func() error { return v.whole(r, all) }},
		{false, func() error { return v.Intervals(r, rows) }},
		{false, func() error { return v.placeTotal(r, &results.PlaceArrays[0]) }},
		{true, func() error { return v.delayCosts(r) }},
		{true, func() error { return v.placeTotal(r, &results.PlaceArrays[1]) }},
		{true, func() error { return v.pathLength(r) }},
		{true, func() error { return v.placeTotal(r, &results.PlaceArrays[2]) }},
		{false, func() error { return v.pyramids(r, rows) }},
		{false, func() error { return v.tileGroups(r) }},
		{false, func() error { return v.classes(r) }},
	} {
		if check.ofRows && !rows {
			continue
		}
		if err := check.run(); err != nil {
			if !results.Partial(err) {
				return nil, err
			}
			v.skip("%v", err)
		}
	}
	return v, nil
}

// locations checks every location by itself, several at once.
func (v *Verified) locations(r *results.Run, all *results.ProfileTable, parallel int, pass func(bytes uint64)) error {
	checks := make([]*locationCheck, r.Defs.NumLocations())
	var g errgroup.Group
	g.SetLimit(max(parallel, 1))
	for p := range trace.P(r.Defs.NumLocations()) {
		g.Go(func() error {
			process, _ := r.Defs.Process(p)
			c := &locationCheck{
				r: r, p: p, process: process, rows: all.From == results.SourceRows, pass: pass,
				profile: make([]results.RegionSum, len(r.Defs.Regions)+1), mates: map[uint32]*xtf.Array{}, maybe: map[uint64]maybeEntry{},
			}
			err := c.run(all.Shared)
			c.profile, c.channels, c.mates, c.buf, c.maybe = nil, nil, nil, nil, nil
			checks[p] = c
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, c := range checks {
		v.Calls += c.counts.calls
		v.Messages += c.counts.messages
		v.Mates += c.counts.mates
		v.Collectives += c.counts.collectives
		v.Channels += c.counts.channels
		v.Graphs += c.counts.graphs
		v.Found += c.found
		v.Findings = append(v.Findings, c.findings...)
	}
	return nil
}

func (v *Verified) skip(format string, args ...any) {
	v.Skipped = append(v.Skipped, fmt.Sprintf(format, args...))
}

// add lists a finding about the whole run.
func (v *Verified) add(array string, format string, args ...any) {
	v.Found++
	v.Findings = append(v.Findings, Contradiction{Array: array, Text: fmt.Sprintf(format, args...)})
}

// CheckGraph checks every invariant of the call graph. It calls pass with the bytes of each location.
func CheckGraph(r *results.Run, pass func(bytes uint64)) error {
	shared, err := r.Graph()
	if errors.Is(err, xtf.ErrNoSection) {
		return nil
	}
	if err != nil {
		return err
	}
	if got := shared.Options().Deviation.String(); r.Kept.Deviation != "" && got != r.Kept.Deviation {
		return fmt.Errorf("%s: call graph: deviation %s, the provenance says %s: %w", r.Name, got, r.Kept.Deviation, graph.ErrCorrupt)
	}
	err = ccg.Check(shared, func(yield func(*ccg.Location, error) bool) {
		for p := range trace.P(r.Defs.NumLocations()) {
			if !yield(r.Location(p)) {
				return
			}
			dir, _ := r.File.Dir(xtf.Proc(p))
			pass(dir.RegionBytes)
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	return nil
}

// locationCheck compares the rows of one location.
type locationCheck struct {
	r        *results.Run
	p        trace.P
	process  uint32
	rows     bool // there are rows of events
	findings []Contradiction
	found    uint64
	counts   struct{ calls, messages, mates, collectives, channels, graphs uint64 }
	stored   interval.Items      // COMP rows
	sums     interval.Items      // of the rows themselves
	spans    interval.Items      // of all operations, within the program or not
	profile  []results.RegionSum // of CALL, P2P and COLL rows, by region index; the last is unknown regions
	channels []xtf.Channel
	chans    *xtf.Array
	entries  uint64                // order-free sum over rows that are in a channel
	carried  [3]uint64             // their bytes by direction: sent, received, given to collectives
	program  program               // its only execution here
	maybe    map[uint64]maybeEntry // rows that may be in a channel, with what they would add
	mates    map[uint32]*xtf.Array
	buf      []byte // for a row
	pass     func(bytes uint64)
}

// maybeEntry is a send that never completed. It is in a channel only if it was not cancelled.
type maybeEntry struct{ entry, bytes uint64 }

func (c *locationCheck) add(array string, row *uint64, format string, args ...any) {
	c.found++
	if len(c.findings) >= keptFindings {
		return
	}
	id := c.r.Defs.Location(c.p).Ref
	process, thread := c.r.Defs.Process(c.p)
	c.findings = append(c.findings, Contradiction{&id, &process, &thread, array, row, fmt.Sprintf(format, args...)})
}

func (c *locationCheck) at(array string, row uint64, format string, args ...any) {
	c.add(array, &row, format, args...)
}

// run makes all comparisons of the location. A row that cannot be read is a finding, and ends the comparison that needs it.
func (c *locationCheck) run(shared *graph.Shared) error {
	steps := []struct {
		array string
		run   func() error
	}{
		{"COMP", func() (err error) { c.stored, err = c.r.Components(c.p); return err }},
		{"IVAL", c.readProgram},
		{"CHANNEL", c.readChannels},
		{"CALL", c.calls},
		{"P2P", func() error { return xtf.Each(c.r.File, xtf.Proc(c.p), c.message) }},
		{"COLL", c.collectives},
		{"WAIT", c.waits},
		{"CPATH", c.path},
		{"CHAN", c.compareChannels},
		{"COMP", c.compareSums},
		{"TIMEBIN", c.compareProfile},
		{"TIMEBIN", c.comparePyramid},
		{"TILE", c.compareTiles},
		{"call graph", func() error { return c.graph(shared) }},
	}
	dir, _ := c.r.File.Dir(xtf.Proc(c.p)) // a damaged row has 0 bytes
	share := dir.RegionBytes / uint64(len(steps))
	defer c.pass(dir.RegionBytes - share*uint64(len(steps)-1))
	for i, s := range steps {
		if i > 0 {
			c.pass(share)
		}
		if !c.rows && i > 0 && i < len(steps)-1 {
			continue
		}
		err := s.run()
		switch {
		case err == nil:
		case results.Partial(err) || errors.Is(err, xtf.ErrNoSection):
			c.add(s.array, nil, "cannot be compared: %v", err)
			return nil
		default:
			return err
		}
	}
	return nil
}

// rowOf returns row n of an array. It reuses buf.
func rowOf[T any, R xtf.Form[T]](a *xtf.Array, n uint64, buf *[]byte) (x T, err error) {
	if *buf, err = a.Row(n, *buf); err == nil {
		R(&x).Load(*buf)
	}
	return x, err
}

func (c *locationCheck) readChannels() error {
	var err error
	if c.chans, err = c.r.File.Array(xtf.Proc(c.p), xtf.TypeChan); err != nil {
		return err
	}
	at := uint64(0)
	return xtf.Each(c.r.File, xtf.Proc(c.p), func(n uint64, x *xtf.Channel) error {
		if x.First != at || x.Count == 0 || x.Count > c.chans.Len()-min(at, c.chans.Len()) {
			c.at("CHANNEL", n, "entries %d to %d, the next free one is %d of %d", x.First, x.First+x.Count, at, c.chans.Len())
		}
		at = x.First + x.Count
		if k := len(c.channels); k > 0 && compareChannel(&c.channels[k-1], x) >= 0 {
			c.at("CHANNEL", n, "not after the channel before it")
		}
		c.channels = append(c.channels, *x)
		return nil
	})
}

// compareChannel orders channels by peer, communicator, tag and direction.
func compareChannel(a, b *xtf.Channel) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Direction, b.Direction))
}

func (c *locationCheck) channel(peer, comm, tag, direction uint32) *xtf.Channel {
	want := xtf.Channel{Key: xtf.ChannelKey(peer, comm), Tag: tag, Direction: direction}
	i, ok := slices.BinarySearchFunc(c.channels, want, func(a, b xtf.Channel) int { return compareChannel(&a, &b) })
	if !ok {
		return nil
	}
	return &c.channels[i]
}

// spread mixes numbers into one. Sums of such numbers over different sets differ.
func spread(list ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, v := range list {
		h ^= v
		h *= 0xbf58476d1ce4e5b9
		h ^= h >> 29
	}
	return h
}

// classes checks that the classes fit together and consist of processes of this run.
func (v *Verified) classes(r *results.Run) error {
	t, err := r.File.Classes()
	if errors.Is(err, xtf.ErrClasses) {
		v.add("CLASS", "%v", err)
		return nil
	}
	if err != nil || t == nil {
		return err
	}
	if n := len(r.Defs.Processes()); len(t.Members) != n {
		v.add("MEMBER", "classes of %d processes, the run has %d", len(t.Members), n)
	}
	return nil
}
