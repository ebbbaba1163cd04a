package lookup

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
)

// ErrSpan says that a span of time or a width makes no sense.
var ErrSpan = errors.New("not a span of time")

// Window is what the chosen processes did in [Begin, End), from the call graph.
// Of a call that reaches over a border the part inside counts.
type Window struct {
	Ranks         string         `json:"ranks"`
	Locations     int            `json:"locations"`
	Begin         uint64         `json:"begin"` // ticks
	End           uint64         `json:"end"`
	Events        uint64         `json:"events"`
	Sent          uint64         `json:"messages_sent"`
	SentBytes     uint64         `json:"bytes_out"`
	Received      uint64         `json:"messages_received"` // as they complete
	ReceivedBytes uint64         `json:"bytes_in"`
	Outside       uint64         `json:"outside"` // ticks in no recorded call
	Regions       []WindowRegion `json:"regions"` // by falling exclusive time
	Bound         *results.Bound `json:"bound"`
	Off           *uint64        `json:"deviation,omitempty"` // how far any of the times may be off; absent: exact
	Lost          []table.Lost   `json:"lost,omitempty"`
}

// WindowRegion is a region's part in a Window.
type WindowRegion struct {
	Region    uint32        `json:"region"`
	Name      string        `json:"name"`
	Calls     uint64        `json:"calls"`    // begun inside
	Touching  uint64        `json:"touching"` // open inside
	Exclusive uint64        `json:"exclusive"`
	Inclusive uint64        `json:"inclusive"` // some call open, however many
	Share     numbers.Ratio `json:"share"`     // exclusive, of the locations' time in the window
}

// EachReader opens the graphs of the chosen processes' locations that have
// events, one after another. What cannot be read is returned as lost.
func EachReader(r *results.Run, ranks results.Ranks, section string, f func(*GraphReader) error) ([]table.Lost, error) {
	if _, err := r.Graph(); err != nil {
		return nil, err
	}
	return r.EachLocation(ranks, section, func(p trace.P) error {
		g, err := NewReader(r, p)
		if err == nil && g.Loc.Events() > 0 {
			err = f(g)
		}
		return err
	})
}

// NewWindow returns what the chosen processes did in [begin, end), in ticks.
func NewWindow(r *results.Run, ranks results.Ranks, begin, end uint64) (*Window, error) {
	if begin > end {
		return nil, fmt.Errorf("from tick %d to %d: %w", begin, end, ErrSpan)
	}
	w := &Window{Ranks: ranks.String(), Begin: begin, End: end, Regions: []WindowRegion{}}
	var sum *ccg.Interval
	var err error
	w.Lost, err = EachReader(r, ranks, "interval", func(g *GraphReader) error {
		iv, err := g.Index.Interval(g.clock(begin), g.clock(end))
		if err != nil {
			return g.Failed(err)
		}
		if sum == nil {
			sum = &iv
		} else if err := sum.Add(&iv); errors.Is(err, ccg.ErrRange) { // its clock is not that of the locations before
			return g.Failed(fmt.Errorf("%w: %w", err, ccg.ErrCorrupt))
		} else if err != nil {
			return g.Failed(err)
		}
		w.Locations++
		w.Bound = g.run.BoundOf(g.Dev)
		return nil
	})
	if err != nil || sum == nil {
		return w, err
	}
	w.fill(r, sum)
	return w, nil
}

func (w *Window) fill(r *results.Run, iv *ccg.Interval) {
	w.Events, w.Sent, w.SentBytes, w.Received, w.ReceivedBytes = iv.Events, iv.Sent, iv.SentBytes, iv.Received, iv.ReceivedBytes
	if w.Bound != nil {
		w.Off = &iv.Bound
	}
	all := uint64(0)
	for _, x := range iv.Regions {
		all += x.Exclusive
	}
	for _, x := range iv.Regions {
		if x.Region == trace.Undefined && x.Calls == 0 && x.Touching == 0 {
			w.Outside = x.Exclusive
			continue
		}
		w.Regions = append(w.Regions, WindowRegion{
			x.Region, r.RegionName(x.Region), x.Calls, x.Touching, x.Exclusive, x.Inclusive, numbers.NewRatio(x.Exclusive, all),
		})
	}
	slices.SortStableFunc(w.Regions, func(a, b WindowRegion) int { return cmp.Compare(b.Exclusive, a.Exclusive) })
}

// Picture is a timeline: for each location the region that took most of each
// pixel's time.
type Picture struct {
	Ranks   string          `json:"ranks"`
	Begin   uint64          `json:"begin"` // ticks
	End     uint64          `json:"end"`
	Width   int             `json:"width"`
	Regions []PictureRegion `json:"regions"` // painted ones, by falling time
	Rows    []PictureRow    `json:"rows"`
	Bound   *results.Bound  `json:"bound"`
	Off     *uint64         `json:"deviation,omitempty"` // how far the times between two pixels may be off
	Lost    []table.Lost    `json:"lost,omitempty"`
}

// PictureRegion is a region of a Picture.
type PictureRegion struct {
	Region uint32 `json:"region"`
	Name   string `json:"name"`
	Pixels uint64 `json:"pixels"`
	Time   uint64 `json:"time"` // ticks in pixels of its own
}

// PictureRow is a location of a Picture.
type PictureRow struct {
	results.Place
	Pixels []int `json:"pixels"` // number in Regions, -1: nothing recorded
}

// NewPicture paints [begin, end) of the chosen processes in width pixels each.
func NewPicture(r *results.Run, ranks results.Ranks, begin, end uint64, width int) (*Picture, error) {
	if begin > end || width < 1 || width > maxWidth {
		return nil, fmt.Errorf("from tick %d to %d in %d pixels: %w", begin, end, width, ErrSpan)
	}
	p := &Picture{Ranks: ranks.String(), Begin: begin, End: end, Width: width, Regions: []PictureRegion{}, Rows: []PictureRow{}}
	at := map[uint32]int{}
	var err error
	p.Lost, err = EachReader(r, ranks, "timeline", func(g *GraphReader) error {
		t, err := g.Index.Timeline(g.clock(begin), g.clock(end), width)
		if err != nil {
			return g.Failed(err)
		}
		if p.Bound = g.run.BoundOf(g.Dev); p.Bound != nil && (p.Off == nil || t.Bound > *p.Off) {
			p.Off = &t.Bound
		}
		p.Rows = append(p.Rows, p.row(g, t.Pixels, at))
		return nil
	})
	p.sort()
	return p, err
}

// maxWidth bounds a picture: its text has a character per pixel.
const maxWidth = 1 << 16

func (p *Picture) row(g *GraphReader, pixels []ccg.Pixel, at map[uint32]int) PictureRow {
	row := PictureRow{Place: g.run.Place(g.p), Pixels: make([]int, len(pixels))}
	for i, x := range pixels {
		if x.Region == trace.Undefined {
			row.Pixels[i] = -1
			continue
		}
		k, ok := at[x.Region]
		if !ok {
			k = len(p.Regions)
			at[x.Region] = k
			p.Regions = append(p.Regions, PictureRegion{Region: x.Region, Name: g.run.RegionName(x.Region)})
		}
		p.Regions[k].Pixels++
		p.Regions[k].Time += x.Ticks
		row.Pixels[i] = k
	}
	return row
}

// sort numbers the regions by falling time, ties by reference.
func (p *Picture) sort() {
	order := make([]int, len(p.Regions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Regions[b].Time, p.Regions[a].Time), cmp.Compare(p.Regions[a].Region, p.Regions[b].Region))
	})
	number := make([]int, len(order))
	regions := make([]PictureRegion, len(order))
	for n, i := range order {
		number[i], regions[n] = n, p.Regions[i]
	}
	p.Regions = regions
	for _, row := range p.Rows {
		for i, k := range row.Pixels {
			if k >= 0 {
				row.Pixels[i] = number[k]
			}
		}
	}
}
