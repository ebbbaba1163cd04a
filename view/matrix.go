package view

import (
	"context"
	"fmt"
	"sync"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/report/table"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// kept is an answer about a whole run that is computed once; an error is not kept.
type kept[T any] struct {
	mu  sync.Mutex
	v   *T
	key int
}

// of returns the value, computed by f unless it is there. One request computes, others wait.
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

// matrix answers api/matrix.
func (s *Server) matrix(ctx context.Context, p *params) (any, error) {
	cells, err := p.number("cells", matrixCells, 1, matrixCells)
	if err != nil {
		return nil, err
	}
	if err := p.run.needRows(); err != nil {
		return nil, err
	}
	return p.run.pairs.of(int(cells), func() (*Matrix, error) { return p.run.addPairs(ctx, int(cells)) })
}

// pairSums are the messages of the cells of a matrix.
type pairSums struct {
	merged, cells   int
	messages, bytes []uint64
	unknown         uint64
}

// addPairs adds up the channels of all locations, at the senders. One row of CHANNEL for each communication partner,
// communicator and tag is read.
func (x *run) addPairs(ctx context.Context, most int) (*Matrix, error) {
	n := max(1, x.meta.Processes)
	t := pairSums{merged: (n + most - 1) / most}
	t.cells = (n + t.merged - 1) / t.merged
	t.messages, t.bytes = make([]uint64, t.cells*t.cells), make([]uint64, t.cells*t.cells)
	m := &Matrix{
		Processes: x.meta.Processes, Merged: t.merged, Cells: t.cells, From: []int{}, To: []int{}, Messages: []uint64{}, Bytes: []uint64{},
		Lost: []table.Lost{},
	}
	var mu sync.Mutex
	err := parallel(ctx, x.meta.Locations, func(i int) error {
		list, err := x.sent(trace.P(i))
		mu.Lock()
		defer mu.Unlock()
		if results.Partial(err) {
			m.Lost = append(m.Lost, x.Lost(trace.P(i), "matrix", err))
			return nil
		}
		process, _ := x.Defs.Process(trace.P(i))
		for k := range list {
			t.add(process, &list[k])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sortLost(m.Lost)
	m.Unknown, m.Complete = t.unknown, len(m.Lost) == 0
	for c, messages := range t.messages {
		if messages > 0 {
			m.From, m.To = append(m.From, c/t.cells), append(m.To, c%t.cells)
			m.Messages, m.Bytes = append(m.Messages, messages), append(m.Bytes, t.bytes[c])
		}
	}
	return m, nil
}

// sent lists the channels that location p sends on.
func (x *run) sent(p trace.P) ([]xtf.Channel, error) {
	a, err := x.array(p, xtf.TypeChannel)
	if err != nil {
		return nil, err
	}
	var list []xtf.Channel
	count, bytes := xtf.Most(x.meta.Locations), xtf.Most(x.meta.Locations) // that may follow
	c := a.Rows(0, a.Len())
	for c.Next() {
		var v xtf.Channel
		if v.Load(c.Row()); v.Direction != xtf.ChannelSend {
			continue
		}
		if v.Count > count || v.Bytes > bytes {
			return nil, fmt.Errorf("channels of %d messages or %d bytes more than sums hold: %w", v.Count, v.Bytes, xtf.ErrCorrupt)
		}
		count, bytes = count-v.Count, bytes-v.Bytes
		list = append(list, v)
	}
	return list, c.Err()
}

// add adds a channel.
func (t *pairSums) add(from uint32, c *xtf.Channel) {
	f, to := int(from)/t.merged, c.Key>>32/uint64(t.merged)
	if f >= t.cells || to >= uint64(t.cells) {
		t.unknown += c.Count
		return
	}
	i := f*t.cells + int(to)
	t.messages[i], t.bytes[i] = t.messages[i]+c.Count, t.bytes[i]+c.Bytes
}
