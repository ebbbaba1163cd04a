package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtfwriter"
)

// commit adds up the result on all ranks, and publishes the archive on rank 0.
func (x *export) commit() error {
	counts, err := x.c.Gather(jobs.AppendWords(nil, x.written...), 0)
	if err != nil {
		return err
	}
	lost, err := json.Marshal(x.lost)
	if err != nil {
		return err
	}
	losts, err := x.c.Gather(lost, 0)
	if err != nil {
		return err
	}
	for _, n := range x.written {
		x.res.Events += n
	}
	lostAll, last, cut := uint64(len(x.lost)), uint64(x.last), &x.res.Cut
	err = jobs.OverRanks(x.c, mpi.Sum, &x.res.Bytes, &x.res.Events, &lostAll, &cut.Messages, &cut.Collectives, &cut.Requests, &cut.Calls)
	if err == nil {
		err = jobs.OverRanks(x.c, mpi.Max, &last)
	}
	if err != nil {
		return err
	}
	x.res.Lost, x.res.Window = int(lostAll), x.window
	if x.c.Rank() == 0 {
		if err = x.gathered(counts, losts, trace.Time(last)); err == nil {
			err = x.publish()
		}
	}
	x.res.Anchor = x.place.anchor()
	return jobs.Agree(x.c, err)
}

// gathered sets numbers of events and the length of the run in the definitions, and the unreadable locations in the result.
func (x *export) gathered(counts, losts [][]byte, last trace.Time) error {
	for p, n := range jobs.TakeWords[uint64](counts...) {
		x.defs.Location(trace.P(p)).Events = n
	}
	for p := range trace.P(x.defs.NumLocations()) {
		l := x.defs.Location(p)
		if q, ok := x.defs.Ordinal(l.Ref); ok {
			l.Events = x.defs.Location(q).Events
		}
	}
	for _, b := range losts {
		var list []Lost
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		x.res.Unreadable = append(x.res.Unreadable, list...)
	}
	if !x.res.Deviation.Lossless() && len(x.defs.Clocks) > 0 {
		c := &x.defs.Clocks[0]
		c.TraceLength = max(c.TraceLength, uint64(last)-min(uint64(last), c.GlobalOffset))
	}
	return nil
}

// publish writes definitions and anchor, and moves the archive to its place.
func (x *export) publish() error {
	w, err := otf2.Create(x.place.work, x.place.name, x.defs, otf2.Options{
		EventChunk: x.res.EventChunk, Creator: "coppice " + x.o.Version, Description: x.res.describe(), Properties: x.res.properties(),
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return xtfwriter.OutputError("", err)
	}
	if err := x.ws.CheckEpoch(); err != nil {
		return jobs.Coded(err)
	}
	return xtfwriter.OutputError("", x.place.publish(x.o.Force))
}

// describe describes the archive, for people.
func (r *Result) describe() string {
	text := "events of the call graph of XTF file " + r.FileID + ", clocks corrected"
	if r.Window != nil {
		text += ", cut to a part of the time"
	}
	switch {
	case r.Exact():
		text += ", exact"
	case r.Deviation.Lossless():
		text += ", times exact"
	default:
		text += ", every gap between events within " + r.Deviation.String()
	}
	return text
}

// properties describes the archive, for programs. Names begin with COPPICE.
func (r *Result) properties() []otf2.Property {
	list := []otf2.Property{
		{Name: "COPPICE::XTF_FILE", Value: r.FileID},
		{Name: "COPPICE::CLOCKS", Value: "corrected"},
		{Name: "COPPICE::DEVIATION", Value: r.Deviation.String()},
		{Name: "COPPICE::EXACT", Value: fmt.Sprint(r.Exact())},
	}
	var parts []string
	for _, t := range r.Differs {
		parts = append(parts, fmt.Sprintf("%s=%d", t.Code, t.Count))
	}
	if len(parts) > 0 {
		list = append(list, otf2.Property{Name: "COPPICE::DIFFERS", Value: strings.Join(parts, ",")})
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"COPPICE::LOCATIONS_LEFT_OUT", r.LeftOut}, {"COPPICE::LOCATIONS_UNREADABLE", r.Lost}} {
		if n.value > 0 {
			list = append(list, otf2.Property{Name: n.name, Value: fmt.Sprint(n.value)})
		}
	}
	return append(list, r.describeWindow()...)
}
