package predict

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/cluster"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/xtf"
)

// ClassOptions say which processes are alike.
type ClassOptions struct {
	cluster.Options
	// Strict distinguishes calls of one function also by partner, tag and bytes.
	Strict bool
}

// Classify groups the processes of a run by the calls that they make, then each group into classes by the computation between calls. Groups
// are ordered by their first processes, classes by group and first process. Heights and sums are ticks, rounded down. The result is the
// same for any number of ranks; merges are on rank 0 only. Collective.
//
// Memory in addition to that of package cluster: 28 bytes for each process, 120 for each class, and on rank 0 56 for each merge.
func (in *Input) Classify(ctx context.Context, c mpi.Comm, o ClassOptions) (*xtf.ClassTable, error) {
	keys, seq := in.keys, in.sequences
	if o.Strict {
		keys = in.strictKeys()
		seq = sequences(in.Program, keys)
	}
	groups, err := in.group(c, keys, seq)
	if err != nil {
		return nil, err
	}
	k := &xtf.ClassTable{Members: make([]xtf.Member, in.Processes())}
	for _, list := range groups {
		if err := in.classifyGroup(ctx, c, k, list, seq, keys, o.Options); err != nil {
			return nil, err
		}
	}
	return k, in.measureClasses(c, k)
}

// strictKeys returns a different number for each Call node.
func (in *Input) strictKeys() []uint64 {
	keys := slices.Clone(in.keys)
	for i := range keys {
		if keys[i] != 0 {
			keys[i] = uint64(i) + 1
		}
	}
	return keys
}

// group groups the processes by their sequences: ascending lists, ordered by their first members. It verifies equal hashes by comparing the
// calls: each rank compares the roots that its processes are the first to have.
func (in *Input) group(c mpi.Comm, keys []uint64, seq []sequence) ([][]uint32, error) {
	lists := in.split(seq, func(a, b program.NodeID) bool { return true })
	same := []int64{1}
	checked := map[program.NodeID]bool{}
	for _, list := range lists {
		leader := in.Program.Roots[list[0]]
		for _, p := range list {
			root := in.Program.Roots[p]
			if root == leader || checked[root] {
				continue
			}
			checked[root] = true
			if p >= in.First && p < in.End && !equalSequences(in.Program, seq, keys, leader, root) {
				same[0] = 0
			}
		}
	}
	if err := c.AllreduceInt64(same, mpi.Min); err != nil {
		return nil, err
	}
	if same[0] == 0 { // two sequences with the same hash
		lists = in.split(seq, func(a, b program.NodeID) bool { return equalSequences(in.Program, seq, keys, a, b) })
	}
	return lists, nil
}

func (in *Input) split(seq []sequence, equal func(a, b program.NodeID) bool) [][]uint32 {
	type key struct{ hash, counted uint64 }
	var lists [][]uint32
	leaders := map[key][]int{}
	of := map[program.NodeID]int{}
	for p, root := range in.Program.Roots {
		g, ok := of[root]
		if !ok {
			k := key{seq[root].hash, seq[root].counted}
			i := slices.IndexFunc(leaders[k], func(g int) bool { return equal(in.Program.Roots[lists[g][0]], root) })
			if i < 0 {
				g = len(lists)
				leaders[k] = append(leaders[k], g)
				lists = append(lists, nil)
			} else {
				g = leaders[k][i]
			}
			of[root] = g
		}
		lists[g] = append(lists[g], uint32(p))
	}
	return lists
}

func (in *Input) classifyGroup(ctx context.Context, c mpi.Comm, k *xtf.ClassTable, list []uint32, seq []sequence, keys []uint64, o cluster.Options) error {
	g, base := len(k.Groups), uint32(len(k.Classes))
	group := xtf.Group{Key: uint64(g), First: list[0], Processes: uint32(len(list)), Entries: seq[in.Program.Roots[list[0]]].counted + 1}
	own := slices.DeleteFunc(slices.Clone(list), func(p uint32) bool { return p < in.First || p >= in.End })
	res := &cluster.Result{Class: make([]uint32, len(own)), Classes: []cluster.Class{{First: list[0], Representative: list[0], Size: 1}}}
	if len(list) > 1 {
		var err error
		m := &members{in: in, processes: own, entries: group.Entries, seq: seq, keys: keys, joined: make([]*joiner, len(own))}
		if res, err = cluster.Classify(ctx, c, m, o); err != nil {
			return fmt.Errorf("processes that call the same as process %d: %w", group.First, err)
		}
	}
	approx := &res.Approximation
	group.Rounded, group.Radius, group.Leaders, group.Led = approx.Rounded, approx.Radius, approx.Leaders, approx.Led
	group.Classes, group.Fraction, group.Threshold = uint32(len(res.Classes)), uint32(res.Fraction), floor(res.Threshold, res.Fraction)
	k.Groups = append(k.Groups, group)
	for i, x := range res.Classes {
		key := uint64(base) + uint64(i)
		k.Classes = append(k.Classes, xtf.ClassRow{Key: key, Group: uint32(g), Representative: x.Representative, Members: x.Size})
		k.Sums = append(k.Sums, xtf.ClassSum{Key: key, First: x.First})
	}
	for i, p := range own {
		k.Members[p].Class = base + res.Class[i]
	}
	for i, m := range res.Merges {
		k.Merges = append(k.Merges, xtf.Merge{Key: uint64(g)<<32 | uint64(i), First: m.A, Second: m.B, Height: floor(m.Height, res.Fraction)})
	}
	return nil
}

// floor returns a height with fraction binary places in whole ticks.
func floor(h cluster.Height, fraction uint8) uint64 {
	if h.Pairs == 0 { // of a group of one process
		return 0
	}
	return h.Floor() >> fraction
}

// measureClasses combines what ranks know of their processes: classes, sums of vectors, heights of merges.
func (in *Input) measureClasses(c mpi.Comm, k *xtf.ClassTable) error {
	n := len(k.Classes)
	of, height := make([]int64, len(k.Members)), make([]int64, n)
	least, most, members, high, low := slices.Repeat([]int64{math.MaxInt64}, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for p := in.First; p < in.End; p++ {
		x, err := in.Vectors.Sum(p)
		if err != nil {
			return c.Agree(err)
		}
		i, sum := k.Members[p].Class, int64(min(x, math.MaxInt64)) // less than 2^63, like all sums of times of a run
		of[p], least[i], most[i] = int64(i), min(least[i], sum), max(most[i], sum)
		members[i], high[i], low[i] = members[i]+1, high[i]+sum>>32, low[i]+sum&math.MaxUint32
	}
	if err := c.Agree(nil); err != nil {
		return err
	}
	for i, list := range [...][]int64{of, members, high, low, most, least} {
		if err := c.AllreduceInt64(list, [...]mpi.Op{mpi.Sum, mpi.Sum, mpi.Sum, mpi.Sum, mpi.Max, mpi.Min}[i]); err != nil {
			return err
		}
	}
	for p, i := range of {
		k.Members[p] = xtf.Member{Key: uint64(p), Class: uint32(i), Group: k.Classes[i].Group}
	}
	for _, m := range k.Merges { // on rank 0
		if i := of[m.First]; i == of[m.Second] {
			height[i] = max(height[i], int64(m.Height))
		}
	}
	if err := c.AllreduceInt64(height, mpi.Max); err != nil {
		return err
	}
	for i := range k.Classes {
		x, s := &k.Classes[i], &k.Sums[i]
		high[i] += low[i] >> 32
		if high[i] > math.MaxInt32 {
			return fmt.Errorf("class %d: a sum of more than 2^63 ticks: %w", i, graph.ErrCorrupt)
		}
		if members[i] != int64(x.Members) {
			return fmt.Errorf("class %d has %d processes, not %d: %w", i, members[i], x.Members, graph.ErrCorrupt)
		}
		x.Diameter, s.Least, s.Most = uint64(height[i]), uint64(least[i]), uint64(most[i])
		s.Mean = uint64(high[i]<<32+low[i]&math.MaxUint32) / uint64(max(members[i], 1))
	}
	return nil
}

// ClassTypes are the arrays with classes, in the region of the whole run.
var ClassTypes = []xtf.TypeID{xtf.TypeClass, xtf.TypeMember, xtf.TypeMerge, xtf.TypeGroup, xtf.TypeClassSum}

// WriteClasses appends the classes that rank 0 has to arrays.
func WriteClasses(k *xtf.ClassTable, row func(t xtf.TypeID) []byte) {
	putRows(k.Groups, xtf.TypeGroup, row)
	putRows(k.Classes, xtf.TypeClass, row)
	putRows(k.Sums, xtf.TypeClassSum, row)
	putRows(k.Members, xtf.TypeMember, row)
	putRows(k.Merges, xtf.TypeMerge, row)
}

func putRows[T any, P interface {
	*T
	Put(b []byte)
}](list []T, t xtf.TypeID, row func(t xtf.TypeID) []byte) {
	for i := range list {
		P(&list[i]).Put(row(t))
	}
}

// prime is 2^61 - 1.
const prime = 1<<61 - 1

// base is the base of the polynomials that hash sequences: any number below prime.
const base = 0x1555_5AAA_9E37_79B9 % prime

// mulMod returns a*b modulo prime, for a and b below it.
func mulMod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return addMod(lo&prime, hi<<3|lo>>61)
}

// addMod returns a+b modulo prime, for a and b up to it.
func addMod(a, b uint64) uint64 {
	s := a + b
	if s >= prime {
		s -= prime
	}
	return s
}

// sequence describes the calls of a node: their number, and the value of the polynomial with the calls as coefficients (Rabin 1981). It
// depends only on the calls, not on how loops are written, so processes that make the same calls in different loops have the same.
type sequence struct {
	hash    uint64
	power   uint64 // base to the power of counted
	counted uint64 // number of calls that count
	calls   uint64 // number of all calls
}

// then returns the sequence of a followed by b.
func (a sequence) then(b sequence) sequence {
	return sequence{addMod(mulMod(a.hash, b.power), b.hash), mulMod(a.power, b.power), a.counted + b.counted, a.calls + b.calls}
}

// repeated returns the sequence of n times a.
func (a sequence) repeated(n uint64) sequence {
	r := sequence{power: 1}
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r = r.then(a)
		}
		a = a.then(a)
	}
	return r
}

// sequences returns the sequence of each node of a program, from the key of each call; key 0 is a call that does not count.
func sequences(p *program.Program, keys []uint64) []sequence {
	s := make([]sequence, len(p.Nodes))
	for i, n := range p.Nodes {
		switch n.Kind {
		case program.Call:
			s[i] = sequence{power: 1, calls: 1}
			if k := keys[i]; k != 0 {
				s[i].hash, s[i].power, s[i].counted = k%prime, base, 1
			}
		case program.Seq:
			r := sequence{power: 1}
			for _, c := range p.Children[n.First : n.First+n.Len] {
				r = r.then(s[c])
			}
			s[i] = r
		case program.Loop:
			s[i] = s[p.Children[n.First]].repeated(n.Count)
		}
	}
	return s
}

// rope iterates over the calls of a process without expanding its loops. Its position is before a node of the program, which can be skipped
// or entered.
type rope struct {
	p     *program.Program
	stack []ropePlace // the last one is next
}

// ropePlace is a node, and how many times it follows itself.
type ropePlace struct {
	node program.NodeID
	left uint64
}

func newRope(p *program.Program, root program.NodeID) *rope {
	return &rope{p, []ropePlace{{root, 1}}}
}

// top returns the next node and how often it follows itself; false at the end.
func (r *rope) top() (ropePlace, bool) {
	if len(r.stack) == 0 {
		return ropePlace{}, false
	}
	return r.stack[len(r.stack)-1], true
}

// skip skips the next node n times.
func (r *rope) skip(n uint64) {
	top := &r.stack[len(r.stack)-1]
	if top.left -= n; top.left == 0 {
		r.stack = r.stack[:len(r.stack)-1]
	}
}

// enter enters the next node, which must not be a call.
func (r *rope) enter() {
	n := &r.p.Nodes[r.stack[len(r.stack)-1].node]
	r.skip(1)
	if n.Kind == program.Loop {
		r.stack = append(r.stack, ropePlace{r.p.Children[n.First], n.Count})
		return
	}
	for i := n.Len; i > 0; i-- {
		r.stack = append(r.stack, ropePlace{r.p.Children[n.First+i-1], 1})
	}
}

// next returns the next call; false at the end.
func (r *rope) next() (program.NodeID, bool) {
	for {
		top, ok := r.top()
		if !ok {
			return 0, false
		}
		if r.p.Nodes[top.node].Kind == program.Call {
			r.skip(1)
			return top.node, true
		}
		r.enter()
	}
}

// equalSequences compares the calls that count of two processes. It skips nodes that both have next. It takes at most O(calls) steps, and
// few if loops are alike.
func equalSequences(p *program.Program, s []sequence, keys []uint64, a, b program.NodeID) bool {
	x, y := newRope(p, a), newRope(p, b)
	for {
		u, more := x.ahead(s)
		v, most := y.ahead(s)
		switch {
		case !more || !most:
			return more == most
		case u.node == v.node || s[u.node].counted == 1 && s[v.node].counted == 1 && p.Nodes[u.node].Kind == program.Call && p.Nodes[v.node].Kind == program.Call:
			if u.node != v.node && keys[u.node] != keys[v.node] {
				return false
			}
			n := min(u.left, v.left)
			x.skip(n)
			y.skip(n)
		case p.Nodes[u.node].Kind != program.Call && (s[u.node].counted >= s[v.node].counted || p.Nodes[v.node].Kind == program.Call):
			x.enter()
		default:
			y.enter()
		}
	}
}

// ahead skips nodes without calls that count, and returns the next one with some.
func (r *rope) ahead(s []sequence) (ropePlace, bool) {
	for {
		top, ok := r.top()
		if !ok || s[top.node].counted > 0 {
			return top, ok
		}
		r.skip(top.left)
	}
}

// members are processes of one group, for clustering, in ticks. Entries around a call that does not count are added up.
type members struct {
	in        *Input
	processes []uint32
	entries   uint64
	seq       []sequence
	keys      []uint64
	joined    []*joiner // of processes with calls that do not count
	buf       []uint64
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

// readJoined reads entries of a process with calls that do not count, from its position or, if that is too far, from the begin.
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

// join returns the next joined entry: all entries up to a call that counts, or to the end.
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

// ClassFlags are class options as users write them. The zero value of each, except for Threshold, is the default.
type ClassFlags struct {
	Threshold      string // 5% of the mean sum of a group's vectors, or a time: 10us, 500ticks
	Linkage        string // complete, average, single, centroid
	Metric         string // l1, l2
	Representative string // mean, medoid
	Sequence       string // calls, strict
	Quantum        string // a share, such as 1%
	MaxClasses     uint32
	Dendrogram     bool // all merges, also above the threshold
}

// Names of the choices, by value; the first is the default.
var (
	linkageNames        = []string{"complete", "average", "single", "centroid"}
	metricNames         = []string{"l1", "l2"}
	representativeNames = []string{"mean", "medoid"}
	sequenceNames       = []string{"calls", "strict"}
)

// ppm is the unit of shares.
const ppm = 1_000_000

// Parse returns the options, for a clock with this many ticks a second.
func (f *ClassFlags) Parse(resolution uint64) (ClassOptions, error) {
	var o ClassOptions
	o.MaxClasses, o.Full = f.MaxClasses, f.Dendrogram
	var choice [4]int
	for i, x := range []struct {
		flag, value string
		names       []string
	}{
		{"linkage", f.Linkage, linkageNames},
		{"metric", f.Metric, metricNames},
		{"representative", f.Representative, representativeNames},
		{"sequence", f.Sequence, sequenceNames},
	} {
		if x.value == "" {
			continue
		}
		if choice[i] = slices.Index(x.names, x.value); choice[i] < 0 {
			return o, fmt.Errorf("--%s %q: choose %s", x.flag, x.value, strings.Join(x.names, ", "))
		}
	}
	o.Linkage, o.Metric, o.Representative = cluster.Linkage(choice[0]), cluster.Metric(choice[1]), cluster.Representative(choice[2])
	o.Strict = choice[3] != 0
	if f.Threshold != "" {
		d, err := graph.ParseDeviation(f.Threshold, max(resolution, 1))
		if err != nil || d.Num > 0 && d.Abs > 0 || d.TimeStamps {
			return o, fmt.Errorf("--classes %q: write a share below 100%%, such as 5%%, or a time, such as 10us or 500ticks", f.Threshold)
		}
		o.Threshold = cluster.Threshold{Absolute: d.Abs, PPM: share(d)}
	}
	if f.Quantum != "" {
		d, err := graph.ParseDeviation(f.Quantum, 1)
		if err != nil || d.Num == 0 || d.Abs > 0 || d.TimeStamps {
			return o, fmt.Errorf("--quantum %q: write a share below 100%%, such as 1%%", f.Quantum)
		}
		o.Quantum = share(d)
	}
	return o, nil
}

// share returns a relative bound in millionths, rounded up.
func share(d graph.Deviation) uint32 {
	if d.Num == 0 {
		return 0
	}
	return uint32((d.Num*ppm-1)/d.Den + 1) // Num < Den; nine decimals at most
}

// String returns the options that determine the result.
func (o *ClassOptions) String() string {
	threshold := fmt.Sprintf("%dticks", o.Threshold.Absolute)
	if o.Threshold.PPM > 0 {
		threshold = fmt.Sprintf("%dppm", o.Threshold.PPM)
	}
	parts := []string{
		"threshold=" + threshold, "linkage=" + linkageNames[o.Linkage], "metric=" + metricNames[o.Metric],
		"representative=" + representativeNames[o.Representative],
	}
	if o.Strict {
		parts = append(parts, "sequence=strict")
	}
	if o.Quantum > 0 {
		parts = append(parts, fmt.Sprintf("quantum=%dppm", o.Quantum))
	}
	if o.MaxClasses > 0 {
		parts = append(parts, fmt.Sprintf("classes-max=%d", o.MaxClasses))
	}
	if o.Full {
		parts = append(parts, "dendrogram")
	}
	return strings.Join(parts, ",")
}
