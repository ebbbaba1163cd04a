package dataflow

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/coppice-hpc/coppice/trace"
)

// members is what a rank knows of a communicator.
type members struct {
	ranks []int32 // that are home of a member, ascending; nil: not an operation of known members
	here  int     // place of this rank in ranks, -1 if it has no member
	local int     // members at home on this rank
}

// membersOf looks a communicator up in the definitions, once. Memory: 4 bytes per
// rank with members.
func (e *engine) membersOf(comm uint32) *members {
	if m := e.comms[comm]; m != nil {
		return m
	}
	m := &members{here: -1}
	e.comms[comm] = m
	d := e.o.Defs
	for i := range d.InterComms {
		if d.InterComms[i].Ref == comm {
			return m
		}
	}
	for i, p := range d.CommMembers(comm) {
		if p == trace.UnknownProcess || !isRank(d, comm, uint32(i), p) {
			continue
		}
		r := e.home(p)
		if r == e.rank {
			m.local++
		}
		m.ranks = append(m.ranks, int32(r))
	}
	slices.Sort(m.ranks)
	m.ranks = slices.Clip(slices.Compact(m.ranks))
	m.here, _ = slices.BinarySearch(m.ranks, int32(e.rank))
	return m
}

// isRank says that a process has this rank, and no lower one too.
func isRank(d *trace.Definitions, comm, rank, process uint32) bool {
	r, ok := d.RankIn(comm, process)
	return ok && r == rank
}

// home is the rank of the first location of a process.
func (e *engine) home(process uint32) int { return e.holder(e.o.Defs.Processes()[process].First) }

// edges gives this rank's parent and children for an instance, -1 where it is the
// root: of a binomial tree over the ranks with members, turned so that the home
// of the operation's root, or a rank that changes with the instance, is the root.
func (e *engine) edges(m *members, c *Collective) (parent int, children []int) {
	n := len(m.ranks)
	turn := int(c.Ordinal / 64 % uint64(n))
	if c.Kind.rooted() {
		at, _ := slices.BinarySearch(m.ranks, int32(e.home(e.o.Defs.CommMembers(c.Comm)[c.Root])))
		turn = at
	}
	parent, children = binomial((m.here-turn+n)%n, n)
	if parent >= 0 {
		parent = int(m.ranks[(parent+turn)%n])
	}
	for i, k := range children {
		children[i] = int(m.ranks[(k+turn)%n])
	}
	return parent, children
}

// step is a value that holds for all members from a communicator rank on.
type step struct {
	member uint32
	v      uint64
}

// steps are a function of the communicator rank, both fields rising: what the
// lower ranks do not exceed already. The other kinds have one step.
type steps []step

// at is the value for a member, 0 before the first step.
func (s steps) at(member uint32) uint64 {
	if i := sort.Search(len(s), func(i int) bool { return s[i].member > member }); i > 0 {
		return s[i-1].v
	}
	return 0
}

// join combines what two sets of members give; a is used up.
func (k Kind) join(a, b steps) steps {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	case k != PrefixMax:
		a[0].v = max(a[0].v, b[0].v)
		return a
	}
	out := make(steps, 0, len(a)+len(b))
	for len(a)+len(b) > 0 {
		var next step
		if len(b) == 0 || len(a) > 0 && a[0].member < b[0].member {
			next, a = a[0], a[1:]
		} else {
			next, b = b[0], b[1:]
		}
		if n := len(out); n == 0 || next.v > out[n-1].v {
			out = append(out, next)
		}
	}
	return out
}

type instanceKey struct {
	comm    uint32
	ordinal uint64
}

// arrival is a member that has entered an instance at its home.
type arrival struct {
	p      trace.P
	member uint32
}

// instance is a collective under way on a rank. Until it is known, sum is that of
// the members in this rank's part of the tree which have entered.
type instance struct {
	c        Collective
	m        *members
	parent   int
	children []int
	entered  int // members at home here
	heard    int // children
	sum      steps
	known    bool
	waiting  []arrival
}

// instanceBytes is about what an instance takes beside its lists.
const instanceBytes = 160

// member is the communicator rank of a location's process, false where the
// collective is none of known members.
func (e *engine) member(p trace.P, c *Collective) (uint32, bool) {
	process, _ := e.o.Defs.Process(p)
	member, ok := e.o.Defs.RankIn(c.Comm, process)
	return member, ok && c.Kind < countKinds && e.membersOf(c.Comm).ranks != nil && e.hasRoot(c)
}

// gets says whether a location gets the result of a collective.
func (e *engine) gets(p trace.P, c *Collective) bool {
	member, ok := e.member(p, c)
	return ok && c.gives(member)
}

// gives says whether a member gets the result.
func (c *Collective) gives(member uint32) bool {
	return !c.Kind.rooted() || (member == c.Root) == (c.Kind != RootToAll)
}

// enter brings a location's value to the home of its process.
func (e *engine) enter(p trace.P, c Collective, v uint64) bool {
	member, ok := e.member(p, &c)
	if !ok {
		return false
	}
	if !c.Kind.rooted() {
		c.Root = 0
	}
	process, _ := e.o.Defs.Process(p)
	if r := e.home(process); r != e.rank {
		b := appendCollective(append(e.out.to(r), partEnter), c)
		b = binary.LittleEndian.AppendUint32(b, uint32(p))
		b = binary.LittleEndian.AppendUint32(b, member)
		e.fail(e.out.add(r, binary.LittleEndian.AppendUint64(b, v)))
		return true
	}
	e.arrive(c, arrival{p, member}, v)
	return true
}

// hasRoot says that the root of a rooted collective is a known process.
func (e *engine) hasRoot(c *Collective) bool {
	if !c.Kind.rooted() {
		return true
	}
	list := e.o.Defs.CommMembers(c.Comm)
	return uint64(c.Root) < uint64(len(list)) && list[c.Root] != trace.UnknownProcess && isRank(e.o.Defs, c.Comm, c.Root, list[c.Root])
}

// lookup finds or begins an instance. It is nil where members or messages do not
// agree on what it is; those that wait for it are then reported as stuck.
func (e *engine) lookup(c *Collective) *instance {
	k := instanceKey{c.Comm, c.Ordinal}
	x := e.active[k]
	if x == nil {
		m := e.membersOf(c.Comm)
		if m.here < 0 || m.here >= len(m.ranks) || int(m.ranks[m.here]) != e.rank || c.Kind >= countKinds || !e.hasRoot(c) {
			return nil
		}
		x = &instance{c: *c, m: m}
		x.parent, x.children = e.edges(m, c)
		e.active[k] = x
		e.bytes += instanceBytes
	}
	if x.c != *c {
		return nil
	}
	return x
}

// arrive takes in a member at its home.
func (e *engine) arrive(c Collective, a arrival, v uint64) {
	x := e.lookup(&c)
	if x == nil {
		return
	}
	x.entered++
	switch {
	case c.Kind == RootToAll && a.member == c.Root:
		x.sum, x.known = steps{{0, v}}, true
		e.down(x)
	case c.Kind == RootToAll:
	case c.Kind == PrefixMax:
		x.sum = c.Kind.join(x.sum, steps{{a.member, v}})
	default:
		x.sum = c.Kind.join(x.sum, steps{{0, v}})
	}
	if c.gives(a.member) {
		if x.known {
			e.deliver(x, a)
		} else {
			x.waiting = append(x.waiting, a)
		}
	}
	e.settle(x)
}

// settle moves an instance on when all below have entered, and forgets it when
// nothing more can come.
func (e *engine) settle(x *instance) {
	complete := x.entered >= x.m.local
	if x.c.Kind == RootToAll {
		if complete && x.known {
			e.forget(x)
		}
		return
	}
	if x.known || !complete || x.heard < len(x.children) {
		return
	}
	toRoot := x.c.Kind.rooted()
	if x.parent >= 0 {
		e.sendSteps(x.parent, partUp, x)
		if x.sum = nil; toRoot {
			e.forget(x)
		}
		return
	}
	x.known = true
	if !toRoot {
		e.down(x)
	} else {
		e.deliverAll(x)
	}
	e.forget(x)
}

func (e *engine) forget(x *instance) {
	k := instanceKey{x.c.Comm, x.c.Ordinal}
	if e.active[k] == x {
		delete(e.active, k)
		e.bytes -= instanceBytes
	}
}

// fromChild takes in what a part of the tree sums up to.
func (e *engine) fromChild(c Collective, s steps) {
	if x := e.lookup(&c); x != nil {
		x.sum = c.Kind.join(x.sum, s)
		x.heard++
		e.settle(x)
	}
}

// fromParent takes in a result.
func (e *engine) fromParent(c Collective, s steps) {
	x := e.lookup(&c)
	if x == nil || x.known {
		return
	}
	x.sum, x.known = s, true
	e.down(x)
	if c.Kind == RootToAll {
		e.settle(x)
	} else {
		e.forget(x)
	}
}

// down passes a result to the children and to the members that wait here.
func (e *engine) down(x *instance) {
	for _, r := range x.children {
		e.sendSteps(r, partDown, x)
	}
	e.deliverAll(x)
}

func (e *engine) deliverAll(x *instance) {
	for _, a := range x.waiting {
		e.deliver(x, a)
	}
	x.waiting = nil
}

// deliver gives a member its result, which may be a location of another rank.
func (e *engine) deliver(x *instance, a arrival) {
	v := x.sum.at(a.member)
	if n, ok := e.local(a.p); ok {
		e.put(n, box{collSpace | uint64(x.c.Comm), x.c.Ordinal}, v)
		return
	}
	r := e.holder(a.p)
	b := append(e.out.to(r), partResult)
	b = binary.LittleEndian.AppendUint32(b, uint32(a.p))
	b = binary.LittleEndian.AppendUint32(b, x.c.Comm)
	b = binary.LittleEndian.AppendUint64(b, x.c.Ordinal)
	e.fail(e.out.add(r, binary.LittleEndian.AppendUint64(b, v)))
}

func (e *engine) sendSteps(rank int, part uint8, x *instance) {
	b := appendCollective(append(e.out.to(rank), part), x.c)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(x.sum)))
	for _, s := range x.sum {
		b = binary.LittleEndian.AppendUint32(b, s.member)
		b = binary.LittleEndian.AppendUint64(b, s.v)
	}
	e.report.Parts++
	e.fail(e.out.add(rank, b))
}
