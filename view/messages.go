package view

import (
	"context"
	"fmt"
	"math/bits"
	"sync"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Bounds of densities: bins, and locations that are looked at.
const (
	densityBins      = 128
	densityLocations = 4096
)

// messages answers api/messages.
func (s *Server) messages(ctx context.Context, p *params) (any, error) {
	o, err := p.window()
	if err != nil {
		return nil, err
	}
	limit, err := p.limit(mostMessages, mostMessages)
	if err != nil {
		return nil, err
	}
	q := &arrows{x: p.run, begin: o.begin, end: o.end, of: o.ranks.Locations(p.run.Defs), limit: limit}
	v := &Messages{Begin: o.begin, End: o.end, List: noArrows(), Density: Density{Count: []uint64{}, Bytes: []uint64{}}, Lost: []table.Lost{}}
	q.to = v
	if err := q.count(ctx); err != nil {
		return nil, err
	}
	if !v.Truncated {
		err = q.list(ctx)
	}
	if err == nil && v.Truncated {
		v.List = noArrows()
		err = q.density(ctx)
	}
	return v, err
}

func noArrows() Arrows {
	e := func() []uint64 { return []uint64{} }
	return Arrows{From: []int{}, To: []int{}, SendT: e(), RecvT: e(), Bytes: e(), SendN: e(), RecvN: e(), Wait: e(), SendCall: e(), RecvCall: e()}
}

// arrows gathers messages.
type arrows struct {
	x          *run
	begin, end uint64
	of         func(trace.P) bool
	limit      int
	to         *Messages
}

// count counts sends and receives until there are too many: each message has two.
func (q *arrows) count(ctx context.Context) error {
	for p := range trace.P(q.x.meta.Locations) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !q.of(p) {
			continue
		}
		a, err := q.x.array(p, xtf.TypeP2P)
		n := uint64(0)
		if err == nil {
			n, err = a.Size(q.begin, q.end)
		}
		if results.Partial(err) {
			q.to.Lost = append(q.to.Lost, q.x.Lost(p, "messages", err))
			continue
		}
		if err != nil {
			return err
		}
		if q.to.Total += n; q.to.Total > 2*uint64(q.limit) {
			q.to.Truncated = true
			return nil
		}
	}
	return nil
}

// list reads the messages: sends in the window, and receives whose send is not.
func (q *arrows) list(ctx context.Context) error {
	q.to.Lost = []table.Lost{}
	for p := range trace.P(q.x.meta.Locations) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !q.of(p) || q.to.Truncated {
			continue
		}
		if err := q.listLocation(p); results.Partial(err) {
			q.to.Lost = append(q.to.Lost, q.x.Lost(p, "messages", err))
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (q *arrows) listLocation(p trace.P) error {
	a, err := q.x.array(p, xtf.TypeP2P)
	if err != nil || a.Len() == 0 {
		return err
	}
	n1, err := a.Rank(q.begin)
	if err != nil {
		return err
	}
	n2, err := a.Rank(q.end)
	if err != nil {
		return err
	}
	var failed error
	err = a.Each(n1, n2, func(n uint64, row []byte) bool {
		var m xtf.P2P
		m.Load(row)
		failed = q.add(p, n, &m)
		return failed == nil && !q.to.Truncated
	})
	if err == nil {
		err = failed
	}
	return err
}

// add adds the message of a row, if it is not the one of another row in the window.
func (q *arrows) add(p trace.P, n uint64, m *xtf.P2P) error {
	if m.MateN == xtf.Never || m.Kind&xtf.P2PUnmatched != 0 {
		return nil
	}
	row, err := results.Referred(q.x.Run, m.MateP, xtf.TypeP2P, m.MateN)
	if err != nil {
		return err
	}
	var o xtf.P2P
	o.Load(row)
	from, to, send, recv, sendN, recvN := p, trace.P(m.MateP), m, &o, n, m.MateN
	if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
		if q.of(to) && o.T >= q.begin && o.T < q.end {
			return nil // the send is listed
		}
		from, to, send, recv, sendN, recvN = to, from, &o, m, recvN, sendN
	}
	l := &q.to.List
	if len(l.From) == q.limit {
		q.to.Truncated = true
		return nil
	}
	wait, err := q.waited(to, recvN, recv)
	if err != nil {
		return err
	}
	l.From, l.To = append(l.From, int(from)), append(l.To, int(to))
	for _, c := range []struct {
		to *[]uint64
		v  uint64
	}{
		{&l.SendT, send.T},
		{&l.RecvT, max(recv.T, recv.End)},
		{&l.Bytes, send.Bytes},
		{&l.SendN, sendN},
		{&l.RecvN, recvN},
		{&l.Wait, wait},
		{&l.SendCall, send.CallN},
		{&l.RecvCall, recv.CallN},
	} {
		*c.to = append(*c.to, c.v)
	}
	return nil
}

// waited is how long a receive waited for its sender.
func (q *arrows) waited(p trace.P, n uint64, m *xtf.P2P) (uint64, error) {
	a, err := q.x.array(p, xtf.TypeWait)
	if err != nil || a.Len() == 0 {
		return 0, err
	}
	ticks := uint64(0)
	looked := 0
	err = a.Overlapping(m.T, max(m.End, behind(m.T)), func(_ uint64, row []byte) bool {
		var w xtf.Wait
		if w.Load(row); w.RecN == n && w.Pattern&xtf.WaitPatternMask == xtf.WaitLateSender {
			ticks = max(w.T, w.End) - w.T
		}
		looked++
		return ticks == 0 && looked < mostLooked
	})
	return ticks, err
}

// density fills the number of sends and receives, and their bytes, by bins, from sums at pages; of very many locations
// every so manieth stands for its neighbours.
func (q *arrows) density(ctx context.Context) error {
	d := &q.to.Density
	d.Count, d.Bytes = make([]uint64, densityBins), make([]uint64, densityBins)
	d.BinTicks = float64(q.end-q.begin) / densityBins
	list, every := q.chosen()
	var mu sync.Mutex
	var total uint64
	err := parallel(ctx, len(list), func(i int) error {
		a, err := q.x.array(list[i], xtf.TypeP2P)
		var s *xtf.SumSeries
		if err == nil {
			s, err = a.SumsAlong(q.begin, q.end, densityBins)
		}
		if err == nil {
			err = q.check(a, s)
		}
		mu.Lock()
		defer mu.Unlock()
		if results.Partial(err) {
			q.to.Lost = append(q.to.Lost, q.x.Lost(list[i], "messages", err))
			return nil
		}
		if err == nil {
			total += q.addSeries(a, s)
		}
		return err
	})
	for b := range d.Count {
		d.Count[b] *= every
		d.Bytes[b] *= every
	}
	q.to.Total = max(q.to.Total, total*every)
	sortLost(q.to.Lost)
	return err
}

// chosen lists the locations to look at, and for how many others each stands.
func (q *arrows) chosen() ([]trace.P, uint64) {
	var list []trace.P
	for p := range trace.P(q.x.meta.Locations) {
		if q.of(p) {
			list = append(list, p)
		}
	}
	every := (len(list) + densityLocations - 1) / densityLocations
	if every <= 1 {
		return list, 1
	}
	n := 0
	for i := 0; i < len(list); i += every {
		list[n] = list[i]
		n++
	}
	return list[:n], uint64(every)
}

// check refuses running totals that fall, or that are more than those of all locations can hold.
func (q *arrows) check(a *xtf.Array, s *xtf.SumSeries) error {
	for j := range s.K {
		if item, _ := xtf.ItemOfSum(a.Type().ID, a.Type().Sums[j].Name); item != xtf.ItemSends && item != xtf.ItemReceives && item != xtf.ItemBytesOut && item != xtf.ItemBytesIn {
			continue
		}
		left := xtf.Most(q.x.meta.Locations)
		for k := 0; k+1 < len(s.T); k++ {
			v := s.Sums[(k+1)*s.K+j] - s.Sums[k*s.K+j]
			if v > left {
				return fmt.Errorf("running totals that rise by %d: %w", v, xtf.ErrCorrupt)
			}
			left -= v
		}
	}
	return nil
}

// addSeries spreads running totals over the bins, and returns their number in the window.
func (q *arrows) addSeries(a *xtf.Array, s *xtf.SumSeries) uint64 {
	d := &q.to.Density
	total := uint64(0)
	for k := 0; k+1 < len(s.T); k++ {
		var count, bytes uint64
		for j := range s.K {
			v := s.Sums[(k+1)*s.K+j] - s.Sums[k*s.K+j]
			switch item, _ := xtf.ItemOfSum(a.Type().ID, a.Type().Sums[j].Name); item {
			case xtf.ItemSends, xtf.ItemReceives:
				count += v
			case xtf.ItemBytesOut, xtf.ItemBytesIn:
				bytes += v
			}
		}
		total += q.deal(d.Count, s.T[k], s.T[k+1], count)
		q.deal(d.Bytes, s.T[k], s.T[k+1], bytes)
	}
	return total
}

// deal spreads v over the bins of [from, to) evenly, and returns what lies in the window.
func (q *arrows) deal(bins []uint64, from, to, v uint64) uint64 {
	if v == 0 || q.end <= q.begin {
		return 0
	}
	inside := uint64(0)
	edge := func(b int) uint64 { return q.begin + scaled(q.end-q.begin, uint64(b), densityBins) }
	if to <= from { // all at one instant
		if from < q.begin || from >= q.end {
			return 0
		}
		bins[min(scaled(from-q.begin, densityBins, q.end-q.begin), densityBins-1)] += v
		return v
	}
	if to <= q.begin || from >= q.end {
		return 0
	}
	b := int(min(scaled(max(from, q.begin)-q.begin, densityBins, q.end-q.begin), densityBins-1))
	for ; b < densityBins && edge(b) < to; b++ {
		a, z := max(from, edge(b)), min(to, edge(b+1))
		if a < z {
			// differences of the running share lose nothing
			part := scaled(v, z-from, to-from) - scaled(v, a-from, to-from)
			bins[b] += part
			inside += part
		}
	}
	return inside
}

// scaled is v * a / b for a <= b, or where the quotient fits.
func scaled(v, a, b uint64) uint64 {
	hi, lo := bits.Mul64(v, a)
	if hi >= b {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, b)
	return q
}
