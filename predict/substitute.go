package predict

import (
	"fmt"
	"math"
	"slices"

	"github.com/coppice-hpc/coppice/predict/platform"
	"github.com/coppice-hpc/coppice/predict/simnet"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// Rule says how the computation of a process is derived from that of its representative.
type Rule uint8

// Rules.
const (
	ScaleRule Rule = iota // own host time x the representative's target time / its host time
	CopyRule              // the representative's target time
)

// shortEntry is the host time in ps below which the ratio of a single entry is not used: 1 us.
const shortEntry = 1e6

// quantile: ratios below the first hundredth and above the last are replaced by these.
const quantile = 100

// Donor is a process whose computation on the target is known. Others of its class derive theirs from it. It is read-only. Memory: 20 bytes
// for each entry.
type Donor struct {
	Process uint32
	host    []int64
	target  []int64 // ps, or notMeasured or kept
	site    []uint32
	sites   []siteTotal
	all     siteTotal
	low     platform.Scale // bounds of ratios
	high    platform.Scale
	bounded bool
}

// siteTotal is the sum of measured times at a site: a place in the program.
type siteTotal struct {
	host, target int64
	count        uint64
}

func (s *siteTotal) add(host, target int64) bool {
	s.host += host
	s.target += target
	s.count++
	return s.host >= 0 && s.target >= 0
}

// NewDonor returns a donor: host and target time of each entry in ps, and the number of its site (any numbers).
func NewDonor(process uint32, host, target []int64, site []uint32) (*Donor, error) {
	if len(host) != len(target) || len(site) != len(host) {
		return nil, fmt.Errorf("process %d: %d host times, %d target times, %d sites", process, len(host), len(target), len(site))
	}
	d := &Donor{Process: process, host: host, target: target, site: make([]uint32, len(site))}
	number := map[uint32]uint32{}
	var ratios []platform.Scale
	for i, s := range site {
		k, ok := number[s]
		if !ok {
			k = uint32(len(d.sites))
			number[s] = k
			d.sites = append(d.sites, siteTotal{})
		}
		d.site[i] = k
		if target[i] == notMeasured {
			continue
		}
		if !d.sites[k].add(host[i], target[i]) || !d.all.add(host[i], target[i]) {
			return nil, fmt.Errorf("process %d: %w", process, ErrTooLong)
		}
		if host[i] >= shortEntry {
			ratios = append(ratios, platform.Scale{Num: uint64(target[i]), Den: uint64(host[i])})
		}
	}
	if n := len(ratios); n > 0 {
		slices.SortFunc(ratios, platform.Scale.Compare)
		d.bounded, d.low, d.high = true, ratios[n/quantile], ratios[n-1-n/quantile]
	}
	return d, nil
}

// Keep keeps the recorded time of entry i for every process, if it was not measured.
func (d *Donor) Keep(i int) {
	if d.target[i] == notMeasured {
		d.target[i] = kept
	}
}

// Entries returns the length of the vector.
func (d *Donor) Entries() int { return len(d.host) }

// clamped limits a ratio to the donor's bounds.
func (d *Donor) clamped(f platform.Scale) platform.Scale {
	switch {
	case !d.bounded:
	case f.Compare(d.low) < 0:
		return d.low
	case d.high.Compare(f) < 0:
		return d.high
	}
	return f
}

// ratio returns the ratio of a site, or of all measured entries if the site has none.
func (d *Donor) ratio(site uint32) platform.Scale {
	for _, s := range [...]*siteTotal{&d.sites[site], &d.all} {
		if s.host > 0 {
			return d.clamped(platform.Scale{Num: uint64(s.target), Den: uint64(s.host)})
		}
	}
	return platform.One
}

// scaled returns entry i of a process with this host time. If that equals the donor's, it is the donor's target time.
func (d *Donor) scaled(i int, host int64) (int64, bool) {
	t, h := d.target[i], d.host[i]
	switch {
	case t != notMeasured && h == host:
		return t, true
	case t != notMeasured && h >= shortEntry:
		return d.clamped(platform.Scale{Num: uint64(t), Den: uint64(h)}).Checked(uint64(host))
	}
	return d.ratio(d.site[i]).Checked(uint64(host))
}

// copied returns entry i for any process: the measured time, or the mean of its site.
func (d *Donor) copied(i int) (int64, bool) {
	if t := d.target[i]; t != notMeasured {
		return t, true
	}
	if s := d.sites[d.site[i]]; s.count > 0 {
		return int64(uint64(s.target) / s.count), true
	}
	return d.ratio(d.site[i]).Checked(uint64(d.host[i]))
}

// Substituted is the computation of a run, with that of some processes replaced. Processes without a donor take host time x Scale.
type Substituted struct {
	Host  simnet.Calc
	Rule  Rule
	Scale platform.Scale
	// Donor returns the donor of a process, nil for none. It must be safe for concurrent use.
	Donor  func(process uint32) *Donor
	in     *Input    // nil: every call counts
	places []*joiner // by process
}

// Fill implements [simnet.Calc].
func (s *Substituted) Fill(process uint32, first uint64, dst []int64) error {
	if err := s.Host.Fill(process, first, dst); err != nil {
		return err
	}
	var d *Donor
	if s.Donor != nil {
		d = s.Donor(process)
	}
	if d != nil && s.in != nil && s.in.joins(process) {
		return s.fillJoined(process, first, dst, d)
	}
	for k := range dst {
		i := first + uint64(k)
		v, ok := int64(0), true // after the last entry
		switch {
		case d == nil:
			v = s.Scale.Of(dst[k])
			ok = v != network.Never
		case i < uint64(len(d.host)):
			v, ok = s.entry(d, int(i), dst[k])
		}
		if !ok {
			return fmt.Errorf("process %d: entry %d of the computation: %w", process, i, ErrTooLong)
		}
		dst[k] = v
	}
	return nil
}

// entry returns entry i of a process with a donor.
func (s *Substituted) entry(d *Donor, i int, host int64) (int64, bool) {
	switch {
	case d.target[i] == kept:
		return host, true
	case s.Rule == CopyRule:
		return d.copied(i)
	}
	return d.scaled(i, host)
}

// Substitute returns the computation of this rank's processes, replaced where donor returns one.
func (in *Input) Substitute(rule Rule, scale platform.Scale, donor func(process uint32) *Donor) *Substituted {
	return &Substituted{Host: in.Vectors, Rule: rule, Scale: scale, Donor: donor, in: in, places: make([]*joiner, in.End-in.First)}
}

// joins reports whether a process has calls that do not count: tests that completed nothing, and calls outside of MPI. Another process of
// its class may have more or fewer. They are skipped, and the entries around them are added up.
func (in *Input) joins(process uint32) bool {
	s := &in.sequences[in.Program.Roots[process]]
	return s.counted != s.calls
}

// Counts reports whether a call counts: processes of a class have it in common.
func (in *Input) Counts(call program.NodeID) bool { return in.keys[call] != 0 }

// IsMPI reports whether a call is one of MPI.
func (in *Input) IsMPI(call program.NodeID) bool { return !in.tables.region(in.Region[call]).apart }

// Counted returns the calls of a process that count. It may change list.
func Counted(list []program.NodeID, counts func(program.NodeID) bool) []program.NodeID {
	return slices.DeleteFunc(list, func(c program.NodeID) bool { return !counts(c) })
}

// Join adds up the entries of a vector around calls that do not count. An entry with a part that was not measured is not measured. It may
// change v.
func Join(calls []program.NodeID, v []int64, counts func(program.NodeID) bool) ([]int64, error) {
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

// joiner is a position in the vector of a process with joined entries.
type joiner struct {
	calls *rope
	keys  []uint64 // 0 for calls that do not count
	next  uint64   // entry
	at    uint64   // joined entry
	sum   int64    // of entries since the last call that counts
}

func (in *Input) newJoiner(process uint32, keys []uint64) *joiner {
	return &joiner{calls: newRope(in.Program, in.Program.Roots[process]), keys: keys}
}

// add takes the next entry. It returns a joined entry if one ends with it: before a call that counts, or at the end. ok is false if the sum
// does not fit.
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

// fillJoined is Fill for a process with joined entries; dst has the host times. A joined entry is put before the call that counts; the
// entries before are 0.
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
