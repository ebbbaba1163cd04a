package xtf

// undefined is the peer and the tag of channels of collectives, and the peer of
// messages whose other process is not known.
const undefined = ^uint32(0)

// Members visits the members of the collective with this ordinal on a
// communicator among the locations [p1, p2), ascending, until visit returns
// false: row n of the COLL array of p. Each location costs a search for the
// communicator's channel and a guess in it, which is right where one location of
// a process calls collectives on it, else a binary search. Of communicators of
// one process, such as MPI_COMM_SELF, ask for the locations of that process. The
// row is valid during the call. Costs are added to st unless it is nil.
func (f *File) Members(comm uint32, ordinal uint64, p1, p2 Proc, st *Stats, visit func(p Proc, n uint64, row []byte) bool) error {
	var row []byte
	for p := uint64(p1); p < min(uint64(p2), uint64(f.Procs())); p++ {
		want := Channel{Key: ChannelKey(undefined, comm), Tag: undefined, Direction: ChannelColl}
		c, ok, err := f.Channel(Proc(p), &want, st)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		n, b, ok, err := f.member(Proc(p), &c, ordinal, row, st)
		if err != nil {
			return err
		}
		if row = b; ok && !visit(Proc(p), n, row) {
			return nil
		}
	}
	return nil
}

// member finds the entry of a channel of collectives whose row has the ordinal.
// Ordinals rise along a channel; a collective that was never matched has none
// and counts as the largest.
func (f *File) member(p Proc, c *Channel, ordinal uint64, row []byte, st *Stats) (n uint64, b []byte, ok bool, err error) {
	a, err := f.array(p, TypeColl, st)
	if err != nil || ordinal == Never {
		return 0, row, false, err
	}
	lo, hi := uint64(0), min(c.Count, Never-1)
	for mid := min(ordinal, max(hi, 1)-1); lo < hi; mid = lo + (hi-lo)/2 {
		if n, err = f.entry(p, c, mid, a, st); err == nil {
			row, err = a.Row(n, row)
		}
		if err != nil {
			return 0, row, false, err
		}
		f.compared(1, st)
		switch at := U64(row, CollOrdinal); {
		case at == ordinal:
			return n, row, true, nil
		case at < ordinal:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return 0, row, false, nil
}
