package trace

import (
	"cmp"
	"slices"
)

// UnknownProcess is what Peer returns for a rank that the definitions do not have.
const UnknownProcess = 0xFFFFFFFF

// RootSelf is the root that the root itself names on an inter-communicator
// (OTF2: COLLECTIVE_ROOT_SELF).
const RootSelf = 0xFFFFFFFE

// commRank translates the ranks of one communicator to processes.
type commRank struct {
	self   bool      // a communicator of one process only
	ranks  []uint32  // rank -> process; shared by communicators of one group
	remote *commRank // inter-communicator: group B; the rest is group A
	order  []uint32  // the ranks of processes that are known, by ascending process, of one process ascending; nil where that is all of ranks
	same   bool      // ranks[i] == i
}

func (d *Definitions) sealComms() {
	tables := make(map[uint32]commRank, len(d.Groups))
	whole := make(map[ParadigmID]commRank)
	table := func(ref uint32) commRank {
		t, ok := tables[ref]
		if !ok {
			t = d.groupRanks(ref, whole)
			tables[ref] = t
		}
		return t
	}
	for i := range d.Comms {
		d.ranks = append(d.ranks, table(d.Comms[i].Group))
	}
	for i := range d.InterComms {
		a, b := table(d.InterComms[i].GroupA), table(d.InterComms[i].GroupB)
		a.self, b.self = false, false // a group of "whoever calls" has no ranks to others
		a.remote = &b
		d.ranks = append(d.ranks, a)
	}
	refs := d.CommRefs()
	d.comms = newIndex(len(refs), func(i int) uint64 { return uint64(refs[i]) })
	if n := d.comms.duplicates; n > 0 {
		d.problems.Add(Diagnostic{Code: DiagBadDefinition, Count: uint64(n), Detail: "communicator defined twice, the first is used"})
	}
}

// groupRanks builds the rank table of a group (OTF2: members of a COMM_GROUP index the COMM_LOCATIONS group of the same
// paradigm). Groups without a list of members, which hold all, share the table whole.
func (d *Definitions) groupRanks(ref uint32, whole map[ParadigmID]commRank) commRank {
	g := d.groups.Find(ref)
	switch {
	case g == nil:
		return commRank{}
	case g.Type == GroupCommSelf:
		return commRank{self: true}
	}
	locations := d.commLocations(g.Paradigm)
	if locations == nil {
		return commRank{}
	}
	if g.Flags&GlobalMembers == 0 && g.Type != GroupCommLocations {
		return d.rankTable(locations, len(g.Members), func(r int) uint64 { return g.Members[r] })
	}
	t, ok := whole[g.Paradigm]
	if !ok {
		t = d.rankTable(locations, len(locations.Members), func(r int) uint64 { return uint64(r) })
		whole[g.Paradigm] = t
	}
	return t
}

// rankTable translates n ranks, given by their indices in a location list.
func (d *Definitions) rankTable(locations *Group, n int, member func(r int) uint64) commRank {
	t := commRank{ranks: make([]uint32, n), same: true}
	for r := range n {
		t.ranks[r] = UnknownProcess
		if m := member(r); m < uint64(len(locations.Members)) {
			if p, ok := d.Ordinal(locations.Members[m]); ok {
				t.ranks[r] = d.process[p]
			}
		}
		t.same = t.same && t.ranks[r] == uint32(r)
	}
	if known := n == 0 || t.ranks[n-1] != UnknownProcess; known && slices.IsSorted(t.ranks) {
		return t
	}
	t.order = make([]uint32, 0, n)
	for r, p := range t.ranks {
		if p != UnknownProcess {
			t.order = append(t.order, uint32(r))
		}
	}
	slices.SortFunc(t.order, func(a, b uint32) int { return cmp.Or(cmp.Compare(t.ranks[a], t.ranks[b]), cmp.Compare(a, b)) })
	return t
}

// Peer returns the process that has the given rank in communicator comm, seen
// from process self, or UnknownProcess. Ranks of an inter-communicator name
// processes of the remote group.
func (d *Definitions) Peer(comm, rank, self uint32) uint32 {
	i, ok := d.comms.find(uint64(comm))
	if !ok {
		return UnknownProcess
	}
	t := &d.ranks[i]
	if t.self {
		if rank == 0 {
			return self
		}
		return UnknownProcess
	}
	ranks := t.ranks
	if t.remote != nil {
		if _, local := t.rankOf(self); local {
			ranks = t.remote.ranks
		}
	}
	if uint64(rank) < uint64(len(ranks)) {
		return ranks[rank]
	}
	return UnknownProcess
}

// RankIn returns the rank of a process in communicator comm, for an
// inter-communicator its rank in the group it belongs to.
func (d *Definitions) RankIn(comm, process uint32) (uint32, bool) {
	i, ok := d.comms.find(uint64(comm))
	if !ok {
		return 0, false
	}
	t := &d.ranks[i]
	if t.self {
		return 0, true
	}
	r, ok := t.rankOf(process)
	if !ok && t.remote != nil {
		return t.remote.rankOf(process)
	}
	return r, ok
}

// IsRoot reports whether a process is the root that it names in a collective operation. On an inter-communicator a rank names a
// process of the other group.
func (d *Definitions) IsRoot(comm, root, process uint32) bool {
	if root == RootSelf {
		return true
	}
	i, ok := d.comms.find(uint64(comm))
	if !ok || d.ranks[i].remote != nil {
		return false
	}
	r, ok := d.RankIn(comm, process)
	return ok && r == root
}

// CommRefs returns the references of all communicators, in the order of their records, those of two groups last.
func (d *Definitions) CommRefs() (list []uint32) {
	for i := range d.Comms {
		list = append(list, d.Comms[i].Ref)
	}
	for i := range d.InterComms {
		list = append(list, d.InterComms[i].Ref)
	}
	return list
}

// CommName returns the name of a communicator, and whether it is defined.
func (d *Definitions) CommName(comm uint32) (string, bool) {
	i, ok := d.comms.find(uint64(comm))
	switch {
	case !ok:
		return "", false
	case i < len(d.Comms):
		return d.Text(d.Comms[i].Name), true
	}
	return d.Text(d.InterComms[i-len(d.Comms)].Name), true
}

// IsInter reports whether a communicator has two groups. Their members name the root of an operation differently.
func (d *Definitions) IsInter(comm uint32) bool {
	i, ok := d.comms.find(uint64(comm))
	return ok && d.ranks[i].remote != nil
}

// CommSize returns the number of processes of a communicator, 0 if the definitions do not say. For an inter-communicator it is
// the size of local group A.
func (d *Definitions) CommSize(comm uint32) int {
	i, ok := d.comms.find(uint64(comm))
	if !ok {
		return 0
	}
	if d.ranks[i].self {
		return 1
	}
	return len(d.ranks[i].ranks)
}

// CommMembers returns the processes of a communicator by rank, nil where the
// definitions do not tell or where it holds the calling process alone.
func (d *Definitions) CommMembers(comm uint32) []uint32 {
	if i, ok := d.comms.find(uint64(comm)); ok {
		return d.ranks[i].ranks
	}
	return nil
}

// IsWhole reports whether the trace has all members of a communicator, as far as it is defined.
func IsWhole(d *Definitions, comm uint32) bool {
	i, ok := d.comms.find(uint64(comm))
	if !ok {
		return true
	}
	t := &d.ranks[i]
	return !slices.Contains(t.ranks, UnknownProcess) && (t.remote == nil || !slices.Contains(t.remote.ranks, UnknownProcess))
}

// GroupProcesses returns the processes of a group by their ranks in it, UnknownProcess where the definitions do not say. It is
// nil for a group that is not defined, and for that of the calling process alone.
func (d *Definitions) GroupProcesses(ref uint32) []uint32 {
	return d.groupRanks(ref, map[ParadigmID]commRank{}).ranks
}

// IsSelf reports whether comm holds only the process that uses it, so that its
// operations involve no other process.
func (d *Definitions) IsSelf(comm uint32) bool {
	i, ok := d.comms.find(uint64(comm))
	return ok && d.ranks[i].self
}

func (t *commRank) rankOf(process uint32) (uint32, bool) {
	if t.same {
		return process, uint64(process) < uint64(len(t.ranks))
	}
	if t.order == nil {
		r, ok := slices.BinarySearch(t.ranks, process)
		return uint32(r), ok
	}
	i, ok := slices.BinarySearchFunc(t.order, process, func(r, p uint32) int { return cmp.Compare(t.ranks[r], p) })
	if !ok {
		return 0, false
	}
	return t.order[i], true
}
