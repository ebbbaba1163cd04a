package predict

import (
	"fmt"
	"math"

	"github.com/coppice-hpc/coppice/predict/cluster"
)

// members are processes of one group as the clustering reads them, in ticks: entries around calls that do not count are one.
type members struct {
	in        *Input
	processes []uint32
	entries   uint64
	seq       []sequence
	keys      []uint64
	joined    []*joiner // of processes with calls that do not count, while they are read
	buf       []uint64
}

func (in *Input) members(processes []uint32, entries uint64, seq []sequence, keys []uint64) *members {
	return &members{in: in, processes: processes, entries: entries, seq: seq, keys: keys, joined: make([]*joiner, len(processes))}
}

// Len implements cluster.Vectors.
func (m *members) Len() int { return len(m.processes) }

// ID implements cluster.Vectors.
func (m *members) ID(i int) uint32 { return m.processes[i] }

// Dim implements cluster.Vectors.
func (m *members) Dim() uint64 { return m.entries }

// Read implements cluster.Vectors.
func (m *members) Read(i int, from uint64, dst []int64) error {
	p := m.processes[i]
	root := m.in.Program.Roots[p]
	if m.seq[root].counted != m.seq[root].calls {
		return m.readJoined(i, from, dst)
	}
	if cap(m.buf) < len(dst) {
		m.buf = make([]uint64, len(dst))
	}
	buf := m.buf[:len(dst)]
	if err := m.in.Vectors.Ticks(p, from, buf); err != nil {
		return err
	}
	for j, t := range buf {
		if t > math.MaxInt64 {
			return fmt.Errorf("process %d, entry %d: %w: %w", p, from+uint64(j), ErrTooLong, cluster.ErrRange)
		}
		dst[j] = int64(t)
	}
	return nil
}

// readJoined reads entries of a process with calls that do not count, from its beginning or where it is.
func (m *members) readJoined(i int, from uint64, dst []int64) error {
	p := m.processes[i]
	x := m.joined[i]
	if x == nil || from < x.at {
		x = m.in.newJoiner(p, m.keys)
		m.joined[i] = x
	}
	for x.at < from {
		if _, err := m.join(p, x); err != nil {
			return err
		}
	}
	for j := range dst {
		t, err := m.join(p, x)
		if err != nil {
			return err
		}
		dst[j] = t
	}
	return nil
}

// join returns the next entry: all up to a call that counts, or to the end.
func (m *members) join(p uint32, x *joiner) (int64, error) {
	for {
		var t [1]uint64
		if err := m.in.Vectors.Ticks(p, x.next, t[:]); err != nil {
			return 0, err
		}
		switch sum, ended, ok := x.add(t[0]); {
		case !ok:
			return 0, fmt.Errorf("process %d, entry %d: %w: %w", p, x.next-1, ErrTooLong, cluster.ErrRange)
		case ended:
			return sum, nil
		}
	}
}
