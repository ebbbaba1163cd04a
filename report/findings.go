package report

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/coppice-hpc/coppice/xtf"
)

// threshold is the efficiency below which POP calls for a look.
const threshold = 0.8

// findings says in sentences, by fixed rules, where to look first.
func (d *Document) findings(u unit) []string {
	s := d.Summary
	var list []string
	add := func(text string) {
		if text != "" {
			list = append(list, text)
		}
	}
	add(d.findStartup(u))
	if p := s.POP.LoadBalance; p.Defined && p.Value < threshold {
		add(d.findImbalance(u))
	}
	if p := s.POP.Communication; p.Defined && p.Value < threshold {
		add(d.findCommunication(u))
	}
	add(d.findIdle(u))
	add(d.findSizes())
	if m := s.Messages.ClockViolation; m != nil && *m > 0 {
		add(fmt.Sprintf("%s of %s messages arrive before they were sent: the clocks disagree, and times between processes are wrong by at least that much",
			count(*m), countBig(s.Messages.Received)))
	}
	if n := s.Collectives.ClockViolation; n != nil && *n > 0 {
		add(fmt.Sprintf("%s of %s members leave a collective before one that they need has entered: the clocks disagree", count(*n), countBig(s.Collectives.Calls)))
	}
	if len(list) == 0 {
		list = append(list, fmt.Sprintf("no efficiency below %.1f", threshold))
	}
	return list
}

// findStartup warns where most MPI time is in Init and the like, so that the
// characteristics say little about the program.
func (d *Document) findStartup(u unit) string {
	t := &d.Summary.Ticks
	share := ratio(t.Management, t.Total)
	if !share.Defined || share.Value < 0.2 {
		return ""
	}
	x := d.largest(xtf.ClassMgmt)
	if x == nil {
		return ""
	}
	rest := ratio(add(t.CPU, t.IO), sub(d.Summary.Item(xtf.ItemTime).Sum, t.Management))
	return fmt.Sprintf("%s of all time is MPI set-up and management, most of it %s (%s %s): the run is short against its start-up; of the rest, %s is useful",
		share.percent(), clean(x.Name, 40), u.big(x.Exclusive), u.name(), rest.percent())
}

func (d *Document) findImbalance(u unit) string {
	s := d.Summary
	cpu := s.Item(xtf.ItemCPU)
	text := fmt.Sprintf("load balance %s: rank %d computes %s %s, the mean is %s, rank %d has least with %s",
		s.POP.LoadBalance.text(2), cpu.MaxP, u.ticks(cpu.Max), u.name(), u.real(cpu.Mean), cpu.MinP, u.ticks(cpu.Min))
	worth := (float64(cpu.Max) - cpu.Mean.Value) / 4 // a part of the difference that is worth a name
	switch x := d.hot.slowest; {
	case x != nil && d.hot.above.Value >= worth && d.hot.above.Value >= d.hot.outside.Value:
		text += fmt.Sprintf("; it spends %s %s more than the mean in %s", u.real(d.hot.above), u.name(), d.label(x, 40))
	case d.hot.outside.Value >= worth:
		text += fmt.Sprintf("; it spends %s %s more than the mean outside of recorded calls: instrument the program's functions to see where", u.real(d.hot.outside), u.name())
	}
	return text
}

func (d *Document) findCommunication(u unit) string {
	s := d.Summary
	t := &s.Ticks
	if away := add(t.DeviceWait, t.DeviceCall); t.MPI.Sign() == 0 && positive(away) {
		return fmt.Sprintf("%s of all time the host is in calls of a device's runtime, %s it waits for the device", ratio(away, t.Total).percent(), ratio(t.DeviceWait, t.Total).percent())
	}
	if t.MPI.Sign() == 0 && sub(t.Measured, t.CPU).Cmp(t.Idle) > 0 {
		return fmt.Sprintf("communication efficiency %s, yet no MPI time: what is lost stands in the table above", s.POP.Communication.text(2))
	}
	if t.MPI.Sign() == 0 {
		return fmt.Sprintf("communication efficiency %s, yet no MPI time: processes do not run at the same time", s.POP.Communication.text(2))
	}
	text := fmt.Sprintf("communication efficiency %s: MPI takes %s of all time", s.POP.Communication.text(2), ratio(t.MPI, t.Total).percent())
	if x := d.largest(xtf.ClassP2P | xtf.ClassColl | xtf.ClassRMA | xtf.ClassMPIIO); x != nil {
		text += fmt.Sprintf(", %s alone %s (%s calls of %s %s each)", clean(x.Name, 40), ratio(x.Exclusive, t.Total).percent(),
			countBig(x.Calls), u.perCall(x.Exclusive, x.Calls), strings.TrimSuffix(u.perCallName(), "/call"))
	}
	if t.PotentialSync == nil {
		return text
	}
	if r := ratio(t.PotentialSync, t.Comm); r.Defined && r.Value > 0 {
		text += fmt.Sprintf("; partners that come late explain up to %s %s of it", u.big(least(t.PotentialSync, t.Comm)), u.name())
	}
	return text
}

func least(a, b *big.Int) *big.Int {
	if a.Cmp(b) <= 0 {
		return a
	}
	return b
}

func (d *Document) findIdle(u unit) string {
	t := &d.Summary.Ticks
	share := ratio(t.Idle, t.Total)
	if !share.Defined || share.Value < 0.05 {
		return ""
	}
	short := d.Summary.Item(xtf.ItemTime)
	return fmt.Sprintf("idle %s: processes live for different times, rank %d only %s %s", share.percent(), short.MinP, u.ticks(short.Min), u.name())
}

// findSizes points at many small messages.
func (d *Document) findSizes() string {
	m := &d.Summary.Messages
	share := ratio(d.Summary.Ticks.P2P, d.Summary.Ticks.Total)
	if !positive(m.Sent) || m.BytesOut == nil || !share.Defined || share.Value < 0.1 {
		return ""
	}
	mean := roundQuotient(m.BytesOut, m.Sent)
	if mean.Cmp(big.NewInt(256)) >= 0 || m.Sent.Cmp(big.NewInt(1000)) < 0 {
		return ""
	}
	return fmt.Sprintf("%s messages carry %s each on average, and point-to-point calls take %s of all time: joining them saves latency", countBig(m.Sent), Bytes(mean), share.percent())
}

// largest returns the region of a class with the most exclusive time.
func (d *Document) largest(class uint32) *RegionTime {
	var best *RegionTime
	for i := range d.hot.profile.Regions {
		x := &d.hot.profile.Regions[i]
		if x.class&class != 0 && (best == nil || x.Exclusive.Cmp(best.Exclusive) > 0) {
			best = x
		}
	}
	return best
}
