package oracle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// Piece is a stretch of the critical path on one location.
type Piece struct {
	From, To uint64
	Activity Activity
	Path     int
	Node     int // innermost execution of markers
}

// jump is a wait that the critical path leaves, at its end, for another location.
type jump struct {
	from, to uint64
	cause    trace.P
}

// criticalPath walks back from the end of a location with MPI calls to the begin of
// all (intervals 6.2) and returns the pieces by location, in time.
func (a *analysis) criticalPath() [][]Piece {
	path := make([][]Piece, len(a.locs))
	jumps := make([][]jump, len(a.locs))
	var at *location
	begin, end := uint64(noTime), uint64(0) // of the run
	for i, l := range a.locs {
		jumps[i] = a.jumps(l)
		if len(l.records) == 0 {
			continue
		}
		begin, end = min(begin, l.execs[0].from), max(end, l.execs[0].to)
		if at == nil || !at.communicates() && l.communicates() || at.communicates() == l.communicates() && l.execs[0].to > at.execs[0].to {
			at = l
		}
	}
	if at == nil {
		return path
	}
	t := at.execs[0].to
	if t < end { // the others have nothing to do with MPI
		path[at.p] = append(path[at.p], Piece{From: t, To: end, Activity: Outside})
	}
	if to, ok := a.lastFinalize(at); ok {
		jumps[at.p] = append(jumps[at.p], to)
	}
	seen := map[trace.P]bool{at.p: true} // locations visited at t
	for {
		j, ok := before(jumps[at.p], t, seen)
		from := begin
		if ok = ok && j.to > begin; ok {
			from = j.to
		}
		if from < at.first { // what the location does before its first event is not known
			path[at.p] = append(path[at.p], Piece{From: from, To: min(t, at.first), Activity: Outside})
		}
		if last := at.execs[0].to; last < t { // nor what it does after its last one
			path[at.p] = append(path[at.p], Piece{From: max(from, last), To: t, Activity: Outside})
		}
		if from < t {
			path[at.p] = append(path[at.p], pieces(at, from, t)...)
			clear(seen)
			seen[at.p] = true
		}
		if !ok {
			break
		}
		at, t = a.locs[j.cause], from
		seen[at.p] = true
	}
	for i, list := range path {
		slices.SortFunc(list, func(x, y Piece) int { return cmp.Compare(x.From, y.From) })
		path[i] = joined(list)
	}
	return path
}

// lastFinalize is the wait of a location in MPI_Finalize for the one that comes to it last, if each process ends with it and leaves it
// after that.
func (a *analysis) lastFinalize(of *location) (last jump, ok bool) {
	leave, n, own := uint64(noTime), 0, uint64(noTime)
	for _, l := range a.locs {
		calls := slices.DeleteFunc(slices.Clone(l.visits), func(v visit) bool { return v.call < 0 })
		if len(calls) == 0 {
			continue
		}
		v := calls[len(calls)-1]
		if name := strings.ToLower(a.regionName(v.region)); name != "mpi_finalize" && name != "pmpi_finalize" {
			continue
		}
		if n++; n == 1 || v.enter > last.to {
			last = jump{v.enter, v.enter, l.p}
		}
		if leave = min(leave, v.leave); l == of {
			own = v.enter
		}
	}
	return last, own < last.to && leave >= last.to && n == len(a.d.Processes())
}

// communicates reports whether a location uses MPI; a process may have others.
func (l *location) communicates() bool {
	return len(l.ops)+len(l.colls) > 0 || slices.ContainsFunc(l.slices, func(s slice) bool { return s.what == MPI })
}

// before returns the jump that ends last, at t or before. At t itself it must
// not lead back to a location that has been seen at that instant.
func before(list []jump, t uint64, seen map[trace.P]bool) (jump, bool) {
	i, _ := slices.BinarySearchFunc(list, t, func(j jump, t uint64) int { return cmp.Compare(j.to, t+1) })
	for i--; i >= 0; i-- {
		if list[i].to < t || !seen[list[i].cause] {
			return list[i], true
		}
	}
	return jump{}, false
}

// jumps lists the waits of a location by their ends. The root of an N-to-1
// operation goes on to the last sender.
func (a *analysis) jumps(l *location) []jump {
	list := slices.Clone(l.leaves)
	for _, w := range a.r.Locations[l.p].Waits {
		if w.Cause != NoCause && w.Pattern != EarlyReduce {
			list = append(list, jump{w.From, w.To, w.Cause})
		}
	}
	for _, m := range l.colls {
		v := &l.visits[m.visit]
		if trace.CollectiveClass(m.op)&trace.ClassNToOne == 0 || v.marker || v.class&trace.ClassInit != 0 {
			continue
		}
		if q := last(m.givers(a)); q != nil {
			if end := min(q.started(), v.leave); end > v.enter {
				list = append(list, jump{v.enter, end, q.at.p})
			}
		}
	}
	slices.SortFunc(list, func(x, y jump) int { return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(y.cause, x.cause)) })
	return list
}

// pieces cuts a stretch by activity, path and node, in time.
func pieces(l *location, from, to uint64) []Piece {
	var out []Piece
	i, _ := slices.BinarySearchFunc(l.does, from, func(s slice, t uint64) int { return cmp.Compare(s.to, t+1) })
	for ; i < len(l.does) && l.does[i].from < to; i++ {
		s := l.does[i]
		out = append(out, Piece{max(s.from, from), min(s.to, to), s.what, s.path, s.node})
	}
	return out
}

// joined puts pieces together that differ in time only and touch.
func joined(list []Piece) []Piece {
	var out []Piece
	for _, p := range list {
		if n := len(out); n > 0 && out[n-1].To == p.From && out[n-1].Activity == p.Activity && out[n-1].Path == p.Path && out[n-1].Node == p.Node {
			out[n-1].To = p.To
		} else {
			out = append(out, p)
		}
	}
	return out
}
