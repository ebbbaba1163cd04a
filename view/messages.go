package view

import (
	"context"
	"fmt"
	"sync"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Limits of densities: bins, and locations that are read.
const (
	densityBins      = 128
	densityLocations = 4096
)

func getMessages(ctx context.Context, p *params) (any, error) {
	o, limit := p.window(), p.limit(mostMessages, mostMessages)
	only := p.choice("only", "all", "late")
	if p.err != nil {
		return nil, p.err
	}
	q := &arrows{x: p.run, begin: o.begin, end: o.end, ranks: o.ranks, of: o.ranks.Locations(p.run.Defs), limit: limit}
	v := &Messages{Begin: o.begin, End: o.end, List: noArrows(), Density: Density{Count: []uint64{}, Bytes: []uint64{}}, Lost: []table.Lost{}}
	q.to = v
	if only == "late" {
		return v, q.late(ctx, o)
	}
	err := q.each(ctx, q.count)
	if err == nil && !v.Truncated {
		err = q.each(ctx, q.list)
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

// arrows collects messages.
type arrows struct {
	x          *run
	begin, end uint64
	ranks      results.Ranks
	of         func(trace.P) bool
	limit      int
	to         *Messages
}

// each calls f for the chosen locations, until there are too many messages.
func (q *arrows) each(ctx context.Context, f func(p trace.P) error) error {
	lost, err := q.x.each(ctx, q.ranks, "messages", func(p trace.P) error {
		if q.to.Truncated {
			return nil
		}
		return f(p)
	})
	q.to.Lost = append([]table.Lost{}, lost...)
	return err
}

// count counts sends and receives until there are too many. Each message has two.
func (q *arrows) count(p trace.P) error {
	a, err := q.x.array(p, xtf.TypeP2P)
	if err != nil {
		return err
	}
	n, err := a.Size(q.begin, q.end)
	q.to.Total += n
	q.to.Truncated = q.to.Total > 2*uint64(q.limit)
	return err
}

// list adds the messages: sends in the window, and receives whose send is not in it.
func (q *arrows) list(p trace.P) (err error) {
	for n, m := range results.Begun[xtf.P2P](q.x.Run, p, q.begin, q.end, &err) {
		if err := q.add(p, n, m); err != nil || q.to.Truncated {
			return err
		}
	}
	return err
}

// add adds the message of a row, unless its other row in the window does.
func (q *arrows) add(p trace.P, n uint64, m *xtf.P2P) error {
	if m.MateN == xtf.Never || m.Kind&xtf.P2PUnmatched != 0 {
		return nil
	}
	o, err := results.Referred[xtf.P2P](q.x.Run, m.MateP, m.MateN)
	if err != nil {
		return err
	}
	from, to, send, recv, sendN, recvN := p, trace.P(m.MateP), m, &o, n, m.MateN
	if m.Kind&xtf.P2PKindMask == xtf.P2PRecv {
		if q.of(to) && o.T >= q.begin && o.T < q.end {
			return nil // its send is listed
		}
		from, to, send, recv, sendN, recvN = to, from, &o, m, recvN, sendN
	}
	if len(q.to.List.From) == q.limit {
		q.to.Truncated = true
		return nil
	}
	wait, err := q.waited(to, recvN, recv)
	if err != nil {
		return err
	}
	q.to.List.add(from, to, send, recv, sendN, recvN, wait)
	return nil
}

// late lists the messages that receivers wait for in the window, longest waits first.
func (q *arrows) late(ctx context.Context, o *windowOptions) error {
	h := &waitSearch{x: q.x, o: o, pattern: xtf.ItemLateSender.String(), best: longest[waitRow]{limit: q.limit, order: compareWaits}, to: &Waits{}}
	if err := h.run(ctx); err != nil {
		return err
	}
	lost := map[trace.P]bool{}
	for _, w := range h.best.list() {
		recv, err := results.Referred[xtf.P2P](q.x.Run, uint32(w.p), w.w.RecN)
		var send xtf.P2P
		if err == nil && recv.MateN != xtf.Never && recv.Kind&xtf.P2PUnmatched == 0 {
			if send, err = results.Referred[xtf.P2P](q.x.Run, recv.MateP, recv.MateN); err == nil {
				q.to.List.add(trace.P(recv.MateP), w.p, &send, &recv, recv.MateN, w.w.RecN, max(w.w.T, w.w.End)-w.w.T)
			}
		}
		if results.Partial(err) && !lost[w.p] {
			lost[w.p] = true
			q.to.Lost = append(q.to.Lost, q.x.Lost(w.p, "messages", err))
		} else if err != nil && !lost[w.p] {
			return err
		}
	}
	sortLost(q.to.Lost)
	q.to.Total, q.to.More = h.found, h.found-min(h.found, uint64(q.limit))
	return nil
}

func (l *Arrows) add(from, to trace.P, send, recv *xtf.P2P, sendN, recvN, wait uint64) {
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
}

// waited returns how many ticks a receive waited for its sender.
func (q *arrows) waited(p trace.P, n uint64, m *xtf.P2P) (_ uint64, err error) {
	looked := 0
	for _, w := range results.Overlapping[xtf.Wait](q.x.Run, p, m.T, max(m.End, after(m.T)), &err) {
		if w.RecN == n && w.Pattern&xtf.WaitPatternMask == xtf.WaitLateSender {
			return max(w.T, w.End) - w.T, nil
		}
		if looked++; looked == mostLooked {
			break
		}
	}
	return 0, err
}

// density computes the numbers and bytes of sends and receives by bins, from running totals at pages. If there are very many locations,
// every k-th stands for k.
func (q *arrows) density(ctx context.Context) error {
	d := &q.to.Density
	d.Count, d.Bytes = make([]uint64, densityBins), make([]uint64, densityBins)
	d.BinTicks = float64(q.end-q.begin) / densityBins
	list, every := q.chosen()
	var total uint64
	type series struct {
		of   *xtf.Array
		sums *xtf.SumSeries
	}
	lost, err := gather(ctx, q.x, list, "messages", func(p trace.P) (v series, err error) {
		if v.of, err = q.x.array(p, xtf.TypeP2P); err == nil {
			v.sums, err = v.of.Sums().Along(q.begin, q.end, densityBins)
		}
		if err == nil {
			err = q.check(v.of, v.sums)
		}
		return v, err
	}, func(_ trace.P, v series) { total += q.addSeries(v.of, v.sums) })
	for b := range d.Count {
		d.Count[b] *= every
		d.Bytes[b] *= every
	}
	q.to.Total = max(q.to.Total, total*every)
	q.to.Lost = append(q.to.Lost, lost...)
	return err
}

// chosen returns the locations to read, and how many locations each stands for.
func (q *arrows) chosen() ([]trace.P, uint64) {
	list := q.x.chosen(q.ranks)
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

// check returns an error for running totals that fall or are impossibly large.
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

// addSeries distributes running totals over the bins, and returns how many operations are in the window.
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

// deal distributes v evenly over the bins of [from, to), and returns the part in the window.
func (q *arrows) deal(bins []uint64, from, to, v uint64) uint64 {
	if v == 0 || q.end <= q.begin {
		return 0
	}
	inside := uint64(0)
	edge := func(b int) uint64 { return q.begin + numbers.MulDiv(q.end-q.begin, uint64(b), densityBins) }
	if to <= from { // at one instant
		if from < q.begin || from >= q.end {
			return 0
		}
		bins[min(numbers.MulDiv(from-q.begin, densityBins, q.end-q.begin), densityBins-1)] += v
		return v
	}
	if to <= q.begin || from >= q.end {
		return 0
	}
	b := int(min(numbers.MulDiv(max(from, q.begin)-q.begin, densityBins, q.end-q.begin), densityBins-1))
	for ; b < densityBins && edge(b) < to; b++ {
		a, z := max(from, edge(b)), min(to, edge(b+1))
		if a < z {
			// Differences of the running share add up to v.
			part := numbers.MulDiv(v, z-from, to-from) - numbers.MulDiv(v, a-from, to-from)
			bins[b] += part
			inside += part
		}
	}
	return inside
}

// kept is an answer about a whole run that is computed once. Errors are not kept.
type kept[T any] struct {
	mu  sync.Mutex
	v   *T
	key int
}

// of returns the value for key; f computes it if it is not there. Concurrent callers wait.
func (k *kept[T]) of(key int, f func() (*T, error)) (*T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.v != nil && k.key == key {
		return k.v, nil
	}
	v, err := f()
	if err == nil {
		k.v, k.key = v, key
	}
	return v, err
}

func getMatrix(ctx context.Context, p *params) (any, error) {
	cells := p.number("cells", matrixCells, 1, matrixCells)
	if p.needRows(); p.err != nil {
		return nil, p.err
	}
	return p.run.pairs.of(int(cells), func() (*Matrix, error) { return p.run.addPairs(ctx, int(cells)) })
}

// pairSums are the sums of a matrix's cells.
type pairSums struct {
	merged, cells   int
	messages, bytes []uint64
	unknown         uint64
}

// addPairs adds up the channels of all locations on the side of the sender. It reads a row of CHANNEL for each partner, communicator and
// tag.
func (x *run) addPairs(ctx context.Context, most int) (*Matrix, error) {
	n := max(1, x.meta.Processes)
	t := pairSums{merged: (n + most - 1) / most}
	t.cells = (n + t.merged - 1) / t.merged
	t.messages, t.bytes = make([]uint64, t.cells*t.cells), make([]uint64, t.cells*t.cells)
	m := &Matrix{
		Processes: x.meta.Processes, Merged: t.merged, Cells: t.cells, From: []int{}, To: []int{}, Messages: []uint64{}, Bytes: []uint64{},
		Lost: []table.Lost{},
	}
	lost, err := gather(ctx, x, x.chosen(results.Ranks{}), "matrix", x.sent, func(p trace.P, list []xtf.Channel) {
		process, _ := x.Defs.Process(p)
		for k := range list {
			t.add(process, &list[k])
		}
	})
	if m.Lost = append(m.Lost, lost...); err != nil {
		return nil, err
	}
	m.Unknown, m.Complete = t.unknown, len(m.Lost) == 0
	for c, messages := range t.messages {
		if messages > 0 {
			m.From, m.To = append(m.From, c/t.cells), append(m.To, c%t.cells)
			m.Messages, m.Bytes = append(m.Messages, messages), append(m.Bytes, t.bytes[c])
		}
	}
	return m, nil
}

func (x *run) sent(p trace.P) ([]xtf.Channel, error) {
	var list []xtf.Channel
	count, bytes := xtf.Most(x.meta.Locations), xtf.Most(x.meta.Locations) // most that may still follow
	err := xtf.Each(x.File, xtf.Proc(p), func(_ uint64, v *xtf.Channel) error {
		switch {
		case v.Direction != xtf.ChannelSend || xtf.IsNotice(v.Tag):
			return nil
		case v.Count > count || v.Bytes > bytes:
			return fmt.Errorf("channels of %d messages or %d bytes more than sums hold: %w", v.Count, v.Bytes, xtf.ErrCorrupt)
		}
		count, bytes = count-v.Count, bytes-v.Bytes
		list = append(list, *v)
		return nil
	})
	return list, err
}

func (t *pairSums) add(from uint32, c *xtf.Channel) {
	f, to := int(from)/t.merged, c.Key>>32/uint64(t.merged)
	if f >= t.cells || to >= uint64(t.cells) {
		t.unknown += c.Count
		return
	}
	i := f*t.cells + int(to)
	t.messages[i], t.bytes[i] = t.messages[i]+c.Count, t.bytes[i]+c.Bytes
}
