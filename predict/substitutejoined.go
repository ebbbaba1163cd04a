package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/predict/simnet"
)

// Substitute returns the computation of this rank's processes with that of some replaced.
func (in *Input) Substitute(rule Rule, scale Scale, donor func(process uint32) *Donor) *Substituted {
	return &Substituted{Host: in.Vectors, Rule: rule, Scale: scale, Donor: donor, in: in, places: make([]*joiner, in.End-in.First)}
}

// joins reports whether a process has calls that do not count among those of its class: tests that completed nothing and calls
// outside of MPI, of which another process may have more. Such calls are skipped, and the entries around them are one.
func (in *Input) joins(process uint32) bool {
	s := &in.sequences[in.Program.Roots[process]]
	return s.counted != s.calls
}

// Counts reports whether a call is one of those that processes of a class have in common.
func (in *Input) Counts(call simnet.NodeID) bool { return in.keys[call] != 0 }

// IsMPI reports whether a call is none of those outside of MPI.
func (in *Input) IsMPI(call simnet.NodeID) bool { return !in.tables.region(in.Region[call]).apart }

// Counted returns the calls that count out of all calls of a process. It may change list.
func Counted(list []simnet.NodeID, counts func(simnet.NodeID) bool) []simnet.NodeID {
	return slices.DeleteFunc(list, func(c simnet.NodeID) bool { return !counts(c) })
}

// Join adds up the entries of a process's vector around calls that do not count. One that lacks a part is not measured. It may
// change v.
func Join(calls []simnet.NodeID, v []int64, counts func(simnet.NodeID) bool) ([]int64, error) {
	n := 0
	sum := int64(0)
	for i, t := range v {
		if t == notMeasured || sum == notMeasured {
			sum = notMeasured
		} else if sum += t; sum < 0 {
			return nil, ErrTooLong
		}
		if i == len(calls) || counts(calls[i]) {
			v[n] = sum
			n++
			sum = 0
		}
	}
	return v[:n], nil
}

// joiner is a place in the vector of a process whose entries are joined.
type joiner struct {
	calls *rope
	keys  []uint64 // 0 of calls that do not count
	next  uint64   // entry
	at    uint64   // joined entry
	sum   int64    // of the entries since the last call that counts
}

func (in *Input) newJoiner(process uint32, keys []uint64) *joiner {
	return &joiner{calls: newRope(in.Program, in.Program.Roots[process]), keys: keys}
}

// add takes the next entry, and returns the joined one that ends with it: before a call that counts, or at the end. A sum that does
// not fit is not ok.
func (j *joiner) add(t uint64) (sum int64, ended, ok bool) {
	j.next++
	if j.sum += int64(t); j.sum < 0 || t > math.MaxInt64 {
		return 0, false, false
	}
	if c, more := j.calls.next(); more && j.keys[c] == 0 {
		return 0, false, true
	}
	sum, j.sum = j.sum, 0
	j.at++
	return sum, true, true
}

// fillJoined is Fill for such a process; dst has the host times. A joined entry comes before the call that counts, the entries
// before are 0.
func (s *Substituted) fillJoined(process uint32, first uint64, dst []int64, d *Donor) error {
	x := &s.places[process-s.in.First]
	if first == 0 {
		*x = s.in.newJoiner(process, s.in.keys)
	}
	p := *x
	if p == nil || p.next != first {
		return fmt.Errorf("process %d: entries from %d on asked for out of order", process, first)
	}
	for k := range dst {
		sum, ended, ok := p.add(uint64(dst[k]))
		dst[k] = 0
		if ok && ended && p.at <= uint64(len(d.host)) {
			dst[k], ok = s.entry(d, int(p.at-1), sum)
		}
		if !ok {
			return fmt.Errorf("process %d: entry %d of the computation: %w", process, p.next-1, ErrTooLong)
		}
	}
	return nil
}
