package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// What by_channel says of a partner.
const (
	channelSame   = "same"    // as the stored one
	channelNone   = "none"    // the channel has no entry there
	channelShared = "shared"  // threads share the channel, only the stored one tells
	channelOther  = "another" // the file contradicts itself
)

// paired answers partner and members: about the row that --n, or --time and
// --mode, choose.
func (q *query) paired(a *answer, x *xtf.Array) error {
	var pos xtf.Pos
	var err error
	if q.flags.Changed("n") {
		var n uint64
		if n, err = q.number(); err == nil {
			pos, a.Found = x.SearchN(n)
		}
	} else {
		pos, err = q.search(a, x)
	}
	if err != nil || !a.Found {
		return err
	}
	a.Position = &position{pos.N, pos.Page, pos.Slot}
	row, err := q.array.Counted(&q.rowCost).Row(pos.N, nil)
	if err != nil {
		return q.readFailure(err)
	}
	if q.primitive == "members" {
		return q.members(a, row)
	}
	a.Rows = append(a.Rows, q.rowOf(a, q.array.Proc(), pos.N, row))
	return q.partner(a, pos.N)
}

// rowOf is a row with its location.
func (q *query) rowOf(a *answer, p xtf.Proc, n uint64, row []byte) foundRow {
	r := makeRow(a.typ, n, row)
	process, thread := q.run.Defs.Process(trace.P(p))
	r.where = &report.Place{Location: q.run.Defs.Location(trace.P(p)).Ref, Process: process, Thread: thread}
	return r
}

func (q *query) partner(a *answer, n uint64) error {
	f, p := q.run.File, q.array.Proc()
	var stored, found xtf.Partner
	var has, by bool
	err := q.part(a, "stored", func(st *xtf.Stats) (err error) {
		stored, has, err = f.Partner(p, n, st)
		return err
	})
	if err != nil {
		return err
	}
	a.ByChannel = ""
	err = q.part(a, "by channel", func(st *xtf.Stats) (err error) {
		found, by, err = f.PartnerByChannel(p, n, st)
		if errors.Is(err, xtf.ErrSharedChannel) {
			a.ByChannel, err = channelShared, nil
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case a.ByChannel != "":
	case by && (!has || found != stored):
		a.ByChannel = channelOther
	case by:
		a.ByChannel = channelSame
	default:
		a.ByChannel = channelNone
	}
	if a.Found = has; !has {
		return nil
	}
	at, err := f.Array(stored.P, xtf.TypeP2P)
	var row []byte
	if err == nil && stored.N >= at.Len() {
		err = fmt.Errorf("message %d: partner in row %d of %d: %w", n, stored.N, at.Len(), xtf.ErrCorrupt)
	}
	if err == nil {
		row, err = at.Counted(&q.rowCost).Row(stored.N, nil)
	}
	if err == nil {
		a.Rows = append(a.Rows, q.rowOf(a, stored.P, stored.N, row))
	}
	return q.readFailure(err)
}

func (q *query) members(a *answer, row []byte) error {
	var c xtf.Coll
	c.Load(row)
	return q.part(a, "members", func(st *xtf.Stats) error {
		p1, p2, err := xtf.Proc(0), xtf.Proc(q.run.File.Procs()), error(nil)
		if q.run.Defs.IsSelf(c.Comm) { // each process has its own
			process, _ := q.run.Defs.Process(trace.P(q.array.Proc()))
			p1, p2, err = q.run.File.Locations(process, st)
		}
		size := uint64(0)
		if err == nil {
			err = q.run.File.Members(c.Comm, c.Ordinal, p1, p2, st, func(p xtf.Proc, n uint64, row []byte) bool {
				if size++; len(a.Rows) < q.limit {
					a.Rows = append(a.Rows, q.rowOf(a, p, n, row))
				}
				return true
			})
		}
		a.Size, a.Found, a.More = &size, size > 0, size > uint64(len(a.Rows))
		return err
	})
}

// paired tells the answer about a row in a line.
func (a *answer) paired() string {
	of := fmt.Sprintf("row %d", a.Position.N)
	switch {
	case a.Primitive == "members" && !a.Found:
		return of + " was not matched with others"
	case a.Primitive == "members":
		return fmt.Sprintf("%s is one of %s", of, plural(*a.Size, "member"))
	}
	by := map[string]string{
		channelSame: "its channel says the same", channelNone: "its channel has none either",
		channelShared: "threads share its channel, which therefore does not tell",
		channelOther:  "its channel says another: run coppice check",
	}[a.ByChannel]
	if !a.Found {
		return of + " has no partner; " + by
	}
	if a.ByChannel == channelNone {
		by = strings.TrimSuffix(by, " either") + ": run coppice check"
	}
	to := a.Rows[len(a.Rows)-1]
	return fmt.Sprintf("%s and row %d of process %d, thread %d; %s", of, to.n, to.where.Process, to.where.Thread, by)
}
