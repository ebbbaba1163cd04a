package view

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/report/counters"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// run is an open file and what every request needs of it. Memory: that of the definitions.
type run struct {
	*results.Run
	first, last uint64                       // first and last event, ticks
	scale       int                          // see RunMeta.Scale
	shares      []int                        // class of time in tiles, by index of the region
	classes     func() ([]xtf.Member, error) // of processes; read once
	paths       func() (*results.CallPaths, error)
	lives       func() []life         // of locations
	overhead    func() string         // what CPU time of windows also includes
	places      []map[uint32][]uint32 // coordinates of processes, by topology
	callsMu     sync.Mutex
	calls       map[callKey]xtf.Call // some calls that climb has read
	tree        kept[Intervals]
	pairs       kept[Matrix] // by number of cells
	meta        RunMeta
}

// locationTypes are the names of types of locations; others are "other".
var locationTypes = map[trace.LocationType]string{trace.UnknownLocation: "cpu", trace.CPUThread: "cpu", trace.AcceleratorStream: "accelerator", trace.MetricLocation: "metric"}

// exactTimes is the largest tick that a float64 distinguishes from its neighbours.
const exactTimes = 1<<53 - 1

// openRun reads what requests need. Its cost depends on the definitions only.
func openRun(r *results.Run) (*run, error) {
	x := &run{Run: r}
	x.classes = sync.OnceValues(func() ([]xtf.Member, error) {
		t, err := r.File.Classes()
		if err != nil || t == nil {
			return nil, err
		}
		return t.Members, nil
	})
	x.paths = sync.OnceValues(func() (*results.CallPaths, error) { return results.ReadCallPaths(r) })
	x.lives = sync.OnceValue(x.readLives)
	x.overhead = sync.OnceValue(func() string {
		ticks, _ := lookup.OverheadAsCPU(r) // damage is reported when it is met
		return lookup.NoteOverhead(ticks, numbers.Units{Resolution: x.meta.Resolution})
	})
	d := r.Defs
	whole, err := r.File.Dir(xtf.WholeRun)
	if err != nil {
		return nil, fmt.Errorf("%s: directory: %w", r.Name, err)
	}
	b, err := r.Brief()
	if err != nil {
		return nil, err
	}
	x.first, x.last = whole.First, whole.Last
	if b.First != nil && b.Last != nil && *b.First <= *b.Last {
		x.first, x.last = *b.First, *b.Last
	}
	x.scale = max(0, bits.Len64(x.last)-bits.Len(tileBins-1))
	id := r.File.FileID()
	m := &x.meta
	*m = RunMeta{
		Name: r.Name, PredictedFrom: r.PredictedFrom(), ID: hex.EncodeToString(id[:]), Bytes: r.Size, Resolution: b.Resolution, First: x.first, Last: x.last,
		ExactTimes: x.last <= exactTimes, Partial: b.Partial, Processes: len(d.Processes()), Locations: d.NumLocations(), Recorders: trace.CountLocations(d).Metric,
		Events: whole.Events, Scale: x.scale, Groups: []int{1}, Regions: []Region{}, Counters: countersOf(d), Files: len(d.IoHandles) > 0,
	}
	m.Topologies, x.places = topologies(d)
	if b.Partial {
		m.Damage = "coppice report RUN.xtf diagnostics lists what was found"
	}
	for i := range d.Regions {
		g := &d.Regions[i]
		class := xtf.ShareOf(uint32(d.Class(g)))
		x.shares = append(x.shares, class)
		if class == xtf.ShareOwn {
			class = stateClass(d.StateOf(g))
		}
		file, line := r.Where(g.Ref)
		if line == trace.Undefined {
			line = 0
		}
		m.Regions = append(m.Regions, Region{Ref: g.Ref, Name: r.RegionName(g.Ref), File: file, Line: line, Class: class})
	}
	return x, x.fill()
}

func (x *run) fill() error {
	m := &x.meta
	m.Rows = x.Rows
	for _, part := range []struct {
		t  xtf.TypeID
		to *int
	}{{xtf.TypeInterval, &m.Intervals}, {xtf.TypeClass, &m.Classes}} {
		a, err := x.File.Array(xtf.WholeRun, part.t)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Name, err)
		}
		*part.to = int(min(a.Len(), 1<<31-1))
	}
	w, err := x.File.Array(xtf.WholeRun, xtf.TypePathTotal)
	if err != nil {
		return fmt.Errorf("%s: %w", x.Name, err)
	}
	m.Waits, m.Critical = m.Rows, w.Len() > 0
	return x.setGroups()
}

// setGroups finds which sizes of groups have tiles. The first location of a group stores them.
func (x *run) setGroups() error {
	if m := &x.meta; m.Locations == 0 || !m.Rows {
		return nil
	}
	a, err := x.File.Array(0, xtf.TypeTile)
	if err != nil {
		return fmt.Errorf("%s: %w", x.Name, err)
	}
	for f, n := uint8(1), 16; f < 8 && n/16 < x.meta.Locations; f, n = f+1, 16*n {
		p, err := a.Pyramid(f)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Name, err)
		}
		if p.Top == 0 {
			break
		}
		x.meta.Groups = append(x.meta.Groups, n)
	}
	return nil
}

// life is the ticks of the first and the last event of a location, or the error of reading them.
type life struct {
	first, last uint64
	err         error
}

// readLives reads the lives of the first threads of processes. Those of other locations are zero.
func (x *run) readLives() []life {
	list := make([]life, x.meta.Locations)
	_ = parallel(context.Background(), len(list), func(p int) error { // errors are in the list
		if _, thread := x.Defs.Process(trace.P(p)); thread == 0 && x.Defs.Location(trace.P(p)).Type.OnHost() {
			list[p] = x.lifeOf(trace.P(p))
		}
		return nil
	})
	return list
}

func (x *run) lifeOf(p trace.P) life {
	first, err := x.Component(p, xtf.ItemFirst, &xtf.Stats{})
	if err != nil {
		return life{err: x.Failed(xtf.Proc(p), "components", err)}
	}
	last, err := x.Component(p, xtf.ItemLast, &xtf.Stats{})
	return life{first, last, x.Failed(xtf.Proc(p), "components", err)}
}

// classOf returns the class of a process, with the values of Location.Class.
func (x *run) classOf(process uint32) int {
	list, err := x.classes()
	switch {
	case err != nil:
		return -2 // api/classes reports the error
	case uint64(process) >= uint64(len(list)):
		return -1
	}
	return int(list[process].Class)
}

// end returns the tick after the last event.
func (x *run) end() uint64 { return max(x.last, x.last+1) }

// region returns the index of a region by its reference, -1 for none.
func (x *run) region(ref uint32) int {
	if i, ok := x.Defs.RegionIndex(ref); ok {
		return i
	}
	return -1
}

// array opens an array of location p.
func (x *run) array(p trace.P, t xtf.TypeID) (*xtf.Array, error) {
	a, err := x.File.Array(xtf.Proc(p), t)
	if err != nil {
		return nil, fmt.Errorf("%s: location %d: %w", x.Name, x.Defs.Location(p).Ref, err)
	}
	return a, nil
}

// needRows returns an error if the file does not have events.
func (x *run) needRows() error {
	if !x.meta.Rows {
		return fmt.Errorf("%s: events: %w: it was analyzed with --events none", x.Name, results.ErrNoResult)
	}
	return nil
}

// each calls f for the locations of the chosen processes, one after the other, until ctx ends. It returns those that cannot be read.
func (x *run) each(ctx context.Context, ranks results.Ranks, section string, f func(p trace.P) error) ([]table.Lost, error) {
	return x.EachLocation(ranks, section, func(p trace.P) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(p)
	})
}

// chosen returns the locations of the chosen processes.
func (x *run) chosen(ranks results.Ranks) []trace.P {
	var list []trace.P
	of := ranks.Locations(x.Defs)
	for p := range trace.P(x.meta.Locations) {
		if of(p) {
			list = append(list, p)
		}
	}
	return list
}

// gather calls read for each location, several at a time, and take with each result, one at a time in any order. It returns the locations
// that cannot be read, ordered by process.
func gather[T any](ctx context.Context, x *run, list []trace.P, section string, read func(p trace.P) (T, error), take func(p trace.P, v T)) ([]table.Lost, error) {
	var mu sync.Mutex
	var lost []table.Lost
	err := parallel(ctx, len(list), func(i int) error {
		v, err := read(list[i])
		mu.Lock()
		defer mu.Unlock()
		switch {
		case results.Partial(err):
			lost, err = append(lost, x.Lost(list[i], section, err)), nil
		case err == nil:
			take(list[i], v)
		}
		return err
	})
	sortLost(lost)
	return lost, err
}

// Classes of time that tiles do not have (they count them as own code): of states on devices, and of waits for devices.
const (
	classKernel = xtf.NumShares + iota
	classTransfer
	classDevice
	numClasses
)

func stateClass(s trace.State) int {
	switch s {
	case trace.StateKernel:
		return classKernel
	case trace.StateTransfer:
		return classTransfer
	case trace.StateDeviceCall, trace.StateLaunch, trace.StateTransferCall, trace.StateDeviceWait:
		return classDevice
	}
	return xtf.States[s].Share
}

// itemClass returns the class with the colour of a component. Losses outside of MPI and files have the colour of calls that only start
// something, which no component that is drawn next to them has.
func itemClass(i xtf.Item) int {
	if states := xtf.StatesOf(i); len(states) > 0 && stateClass(states[0]) >= xtf.NumShares {
		return stateClass(states[0])
	}
	for _, s := range xtf.StatesOf(i) {
		if share := xtf.States[s].Share; i == xtf.ItemCPU || share != xtf.ShareOwn {
			return share
		}
	}
	return xtf.ShareStart
}

func getMeta(_ context.Context, p *params) (any, error) {
	m := &Meta{Schema: Schema, Version: p.s.version, Tool: p.s.o.Tool, Runs: []RunMeta{}, Words: map[string]string{}, Limits: Limits{
		TileBins: tileBins, TileRows: tileRows, TileSpans: tileSpans, Messages: mostMessages, Matrix: matrixCells,
		Columns: profileColumns, CounterBins: counterBins,
	}}
	for _, x := range p.s.runs {
		m.Runs = append(m.Runs, x.meta)
	}
	m.Classes = results.ClassWords(p.s.runs[0].Run, numClasses, stateClass)
	for i := range xtf.NumItems {
		m.Words[i.String()] = results.ItemWord(i)
	}
	for _, x := range []trace.State{trace.StateBefore, trace.StateAfter, trace.StateDeviceIdle} {
		m.Words[trace.States[x].Name] = trace.States[x].Text
	}
	return m, nil
}

// Limits of answers.
const (
	mostMessages   = 2000
	matrixCells    = 256
	profileColumns = 1000
	counterBins    = 2048
	mostLocations  = 4096
)

func getLocations(_ context.Context, p *params) (any, error) {
	n := uint64(p.run.Defs.NumLocations())
	from, limit := p.number("from", 0, 0, n), p.limit(mostLocations, mostLocations)
	if p.err != nil {
		return nil, p.err
	}
	x := &Locations{From: from, List: []Location{}, Lost: []table.Lost{}}
	for i := from; i < min(n, from+uint64(limit)); i++ {
		l, err := p.run.location(trace.P(i))
		if err != nil {
			return nil, err
		}
		v := p.run.lifeOf(trace.P(i))
		if results.Partial(v.err) {
			x.Lost = append(x.Lost, p.run.Lost(trace.P(i), "locations", v.err))
		} else if v.err != nil {
			return nil, v.err
		}
		l.First, l.Last = v.first, v.last
		if l.Counter, err = p.run.firstCounter(trace.P(i)); err != nil && !results.Partial(err) {
			return nil, err
		}
		x.List = append(x.List, l)
	}
	return x, nil
}

// firstCounter returns the counter of the first reading of a recorder of metrics; -1 for other locations, and without readings.
func (x *run) firstCounter(p trace.P) (int, error) {
	if x.Defs.Location(p).Type != trace.MetricLocation {
		return -1, nil
	}
	a, err := x.array(p, xtf.TypeMetric)
	found := -1
	if err == nil && a.Len() > 0 {
		var row []byte
		if row, err = a.Row(0, nil); err == nil {
			var m xtf.Metric
			m.Load(row)
			if i, ok := counters.NewMembers(x.Defs).Of(&m); ok {
				found = i
			}
		}
	}
	return found, err
}

// location returns a row of the timeline.
func (x *run) location(p trace.P) (Location, error) {
	d := x.Defs
	l := d.Location(p)
	process, thread := d.Process(p)
	row, err := x.File.Dir(xtf.Proc(p))
	if err != nil {
		return Location{}, err
	}
	loc := Location{
		Location: int(p), Process: process, Thread: thread, Name: d.Text(l.Name), Type: cmp.Or(locationTypes[l.Type], "other"), Class: x.classOf(process), Events: row.Events, Counter: -1,
	}
	loc.Group, loc.Node = d.Place(l.Group)
	for _, of := range x.places {
		loc.Places = append(loc.Places, append([]uint32{}, of[process]...))
	}
	return loc, nil
}

// topologies returns the first Cartesian topologies, and the coordinates of processes in each.
func topologies(d *trace.Definitions) ([]Topology, []map[uint32][]uint32) {
	const most = 8
	list, places, at := []Topology{}, []map[uint32][]uint32{}, map[uint32]int{}
	dimensions := map[uint32]Dimension{}
	for i := range d.CartDimensions {
		v := &d.CartDimensions[i]
		dimensions[v.Ref] = Dimension{d.Text(v.Name), v.Size}
	}
	for i := range min(most, len(d.CartTopologies)) {
		t := &d.CartTopologies[i]
		at[t.Ref] = i
		v := Topology{Name: d.Text(t.Name), Dimensions: []Dimension{}}
		for _, n := range t.Dimensions {
			v.Dimensions = append(v.Dimensions, dimensions[n])
		}
		list, places = append(list, v), append(places, map[uint32][]uint32{})
	}
	for i := range d.CartCoordinates {
		c := &d.CartCoordinates[i]
		k, ok := at[c.Topology]
		if !ok || len(c.Coordinates) != len(list[k].Dimensions) {
			continue
		}
		if of := d.CommMembers(d.CartTopologies[k].Comm); uint64(c.Rank) < uint64(len(of)) {
			places[k][of[c.Rank]] = c.Coordinates
		}
	}
	return list, places
}

func countersOf(d *trace.Definitions) []Counter {
	list := []Counter{}
	for i := range d.MetricMembers {
		m := &d.MetricMembers[i]
		list = append(list, Counter{
			ID: i, Name: d.Text(m.Name), Unit: strings.TrimSpace(d.Text(m.Unit)), Description: d.Text(m.Description),
			Cumulative: counters.Mode(m) == counters.Accumulated, Signed: m.ValueType == trace.TypeInt64, Float: m.ValueType == trace.TypeDouble,
		})
	}
	return list
}
