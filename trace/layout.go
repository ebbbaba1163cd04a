package trace

import (
	"cmp"
	"slices"
	"strings"
)

// Process is a location group with its locations.
type Process struct {
	Group uint32 // reference of the location group
	First P      // the first location; the others follow
	Count uint32
}

// layout is what Seal derives from the records.
type layout struct {
	order     []int32   // P -> index in Locations
	process   []uint32  // P -> process
	processes []Process // process -> its locations
	ranked    int       // processes with a rank in MPI, which come first
	byID      index     // location id -> P
	regions   Refs[Region]
	strs      Refs[String]
	contexts  Refs[CallingContext]
	units     Refs[LocationGroup]
	groups    Refs[Group]
	nodes     Refs[SystemTreeNode]
	windows   Refs[RmaWin]
	comms     index             // communicator reference -> index in ranks
	ranks     []commRank        // ranks of communicators and inter-communicators
	hosts     map[uint64]uint32 // the process group that is alone below a node, or everywhere
	meters    map[uint32]uint32 // the process of groups of which all locations record metrics
	byName    bool              // no region is of MPI by its paradigm: names tell
	same      []int             // of each region the first one alike
	joins     bool              // some are alike
	problems  Diagnostics
}

// Seal derives the process order and the look-up tables. Call it once, after
// the last Add.
//
// Processes are ordered by their rank in the MPI location list; location groups without an MPI rank follow in the order of their
// records. The groups of an accelerator belong to the process that created them, or else to the only one that can have created
// them. A group without a rank that only records metrics belongs to the first process on its node, or else to the first of all.
// Within a process the location that called MPI comes first, then CPU threads, then accelerator streams, then metric locations,
// each by ascending location id.
func (d *Definitions) Seal() {
	d.layout = layout{}
	d.strs = NewRefs(d.Strings, func(x *String) uint32 { return x.Ref })
	d.regions = NewRefs(d.Regions, func(x *Region) uint32 { return x.Ref })
	d.byName = !slices.ContainsFunc(d.Regions, func(r Region) bool { return r.Paradigm == ParadigmMPI })
	d.sealRegions()
	d.contexts = NewRefs(d.CallingContexts, func(x *CallingContext) uint32 { return x.Ref })
	d.groups = NewRefs(d.Groups, func(x *Group) uint32 { return x.Ref })
	d.units = NewRefs(d.LocationGroups, func(x *LocationGroup) uint32 { return x.Ref })
	d.nodes = NewRefs(d.SystemTreeNodes, func(x *SystemTreeNode) uint32 { return x.Ref })
	d.windows = NewRefs(d.RmaWins, func(x *RmaWin) uint32 { return x.Ref })
	for _, t := range []struct {
		name string
		dup  int
	}{{"string", d.strs.at.duplicates}, {"region", d.regions.at.duplicates}} {
		if t.dup > 0 {
			d.problems.Add(Diagnostic{Code: DiagBadDefinition, Count: uint64(t.dup), Detail: t.name + " defined twice, the first is used"})
		}
	}
	d.sealHosts()
	d.sealLocations()
	d.sealComms()
}

// Problems returns what Seal and the reader of the definitions found.
func (d *Definitions) Problems() *Diagnostics { return &d.problems }

// NumLocations returns the number of locations, the end of the range of P.
func (d *Definitions) NumLocations() int { return len(d.order) }

// Location returns the record of location p.
func (d *Definitions) Location(p P) *Location { return &d.Locations[d.order[p]] }

// Processes returns the processes in order.
func (d *Definitions) Processes() []Process { return d.processes }

// MPIProcesses returns how many processes, from the first on, have a rank in MPI: all processes, where the trace has no list of
// ranks.
func MPIProcesses(d *Definitions) int {
	if d.ranked == 0 {
		return len(d.processes)
	}
	return d.ranked
}

// Process returns the process of location p and p's ordinal in it.
func (d *Definitions) Process(p P) (process, thread uint32) {
	process = d.process[p]
	return process, uint32(p - d.processes[process].First)
}

// Ordinal returns the P of a location id.
func (d *Definitions) Ordinal(id uint64) (P, bool) {
	i, ok := d.byID.find(id)
	return P(i), ok
}

// Region returns the region with the given reference, nil if there is none.
func (d *Definitions) Region(ref uint32) *Region { return d.regions.Find(ref) }

// RegionIndex returns the index in Regions of a reference.
func (d *Definitions) RegionIndex(ref uint32) (int, bool) {
	return d.regions.at.find(uint64(ref))
}

// Context returns the calling context with the given reference, nil if there is none.
func (d *Definitions) Context(ref uint32) *CallingContext { return d.contexts.Find(ref) }

// LocationGroup returns the location group with the given reference, nil if there is none.
func (d *Definitions) LocationGroup(ref uint32) *LocationGroup { return d.units.Find(ref) }

// Node returns the node of the system tree with the given reference, nil if there is none.
func (d *Definitions) Node(ref uint32) *SystemTreeNode { return d.nodes.Find(ref) }

// NodeName returns the name of a node, "" if there is none.
func (d *Definitions) NodeName(ref uint32) string {
	if n := d.Node(ref); n != nil {
		return d.Text(n.Name)
	}
	return ""
}

// Place returns the names of a location group and of its node of the system tree, "" where there is none.
func (d *Definitions) Place(ref uint32) (group, node string) {
	if g := d.LocationGroup(ref); g != nil {
		return d.Text(g.Name), d.NodeName(g.Parent)
	}
	return "", ""
}

// IoFiles returns the name of the file of each handle, or that of the handle where the trace names no file.
func (d *Definitions) IoFiles() map[uint32]string {
	files := map[uint32]uint32{}
	for i := range d.IoRegularFiles {
		files[d.IoRegularFiles[i].Ref] = d.IoRegularFiles[i].Name
	}
	for i := range d.IoDirectories {
		files[d.IoDirectories[i].Ref] = d.IoDirectories[i].Name
	}
	names := make(map[uint32]string, len(d.IoHandles))
	for i := range d.IoHandles {
		h := &d.IoHandles[i]
		name, ok := files[h.File]
		if names[h.Ref] = d.Text(name); !ok || names[h.Ref] == "" {
			names[h.Ref] = d.Text(h.Name)
		}
	}
	return names
}

// WindowComm returns the communicator of a window for one-sided operations.
func (d *Definitions) WindowComm(win uint32) (uint32, bool) {
	if w := d.windows.Find(win); w != nil {
		return w.Comm, true
	}
	return Undefined, false
}

// ContextRegion returns the reference of the region of a calling context, after Joined.
func (d *Definitions) ContextRegion(ref uint32) (uint32, bool) {
	if c := d.Context(ref); c != nil {
		return Joined(d, c.Region), true
	}
	return Undefined, false
}

// Text returns the string with the given reference, "" if there is none.
func (d *Definitions) Text(ref uint32) string {
	if s := d.strs.Find(ref); s != nil {
		return s.Value
	}
	return ""
}

// Interned returns a function that returns one reference for each text, and defines strings that are not defined yet. refs maps
// the texts that are defined to their references, and is filled.
func (d *Definitions) Interned(refs map[string]uint32) func(text string) uint32 {
	return func(text string) uint32 {
		ref, ok := refs[text]
		if !ok {
			ref = uint32(len(d.Strings))
			refs[text] = ref
			d.Strings = append(d.Strings, String{ref, text})
		}
		return ref
	}
}

// Clock returns the clock. Resolution 0 means that the trace does not have it, and that times are ticks.
func (d *Definitions) Clock() ClockProperties {
	if len(d.Clocks) == 0 {
		return ClockProperties{}
	}
	return d.Clocks[0]
}

// unranked is above all ranks.
const unranked = 1 << 32

// place is a location's sort key.
type place struct {
	location int32
	process  uint64 // rank, or above all ranks the group's ordinal
	master   bool
}

func (d *Definitions) sealLocations() {
	master := d.mpiRanks()
	d.meters = meters(d, master)
	rankOfGroup := make(map[uint32]uint64, len(master))
	for i := range d.Locations {
		l := &d.Locations[i]
		if r, ok := master[l.Ref]; ok {
			g := d.owner(l.Group)
			if old, seen := rankOfGroup[g]; !seen || r < old {
				rankOfGroup[g] = r
			}
		}
	}
	places := make([]place, len(d.Locations))
	for i := range d.Locations {
		l := &d.Locations[i]
		g := d.owner(l.Group)
		r, ok := rankOfGroup[g]
		if !ok {
			r = 1<<40 + uint64(g)
			if k, known := d.units.at.find(uint64(g)); known {
				r = unranked + uint64(k)
			}
		}
		_, m := master[l.Ref]
		places[i] = place{int32(i), r, m}
	}
	slices.SortStableFunc(places, d.comparePlaces)
	d.setOrder(places)
}

func (d *Definitions) comparePlaces(a, b place) int {
	la, lb := &d.Locations[a.location], &d.Locations[b.location]
	typeOrder := func(l *Location) LocationType {
		if l.Type.OnHost() {
			return CPUThread
		}
		return l.Type
	}
	masterOrder := func(m bool) int {
		if m {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(a.process, b.process),
		cmp.Compare(masterOrder(a.master), masterOrder(b.master)),
		cmp.Compare(typeOrder(la), typeOrder(lb)),
		cmp.Compare(la.Ref, lb.Ref))
}

func (d *Definitions) setOrder(places []place) {
	last := uint64(Undefined64)
	for _, pl := range places {
		if pl.process != last {
			last = pl.process
			if last < unranked {
				d.ranked++
			}
			d.processes = append(d.processes, Process{d.owner(d.Locations[pl.location].Group), P(len(d.order)), 0})
		}
		d.processes[len(d.processes)-1].Count++
		d.process = append(d.process, uint32(len(d.processes)-1))
		d.order = append(d.order, pl.location)
	}
	d.byID = newIndex(len(d.order), func(p int) uint64 { return d.Location(P(p)).Ref })
	if n := d.byID.duplicates; n > 0 {
		d.problems.Add(Diagnostic{Code: DiagBadDefinition, Count: uint64(n), Detail: "location defined twice"})
	}
}

// everywhere is the key of hosts that means all nodes of the system tree.
const everywhere = 1 << 32

// owner returns the process group that location group ref belongs to.
func (d *Definitions) owner(ref uint32) uint32 {
	if host, ok := d.meters[ref]; ok {
		return host
	}
	for range 8 { // creators of creators; a cycle ends here
		g := d.LocationGroup(ref)
		if g == nil || g.Type != AcceleratorGroup {
			break
		}
		next := g.Creator
		if d.LocationGroup(next) == nil {
			var ok bool
			if next, ok = d.hosts[uint64(g.Parent)]; !ok {
				next, ok = d.hosts[everywhere]
			}
			if !ok {
				break
			}
		}
		ref = next
	}
	return ref
}

// meters finds the process of each group that only records metrics: such groups are not processes.
func meters(d *Definitions, master map[uint64]uint64) map[uint32]uint32 {
	runs := map[uint32]bool{} // by group with locations: whether one of these runs a program
	for i := range d.Locations {
		l := &d.Locations[i]
		_, ranked := master[l.Ref]
		runs[l.Group] = runs[l.Group] || ranked || l.Type != MetricLocation
	}
	first := map[uint64]uint32{} // process on a node, or everywhere
	for i := range d.LocationGroups {
		g := &d.LocationGroups[i]
		for _, below := range []uint64{uint64(g.Parent), everywhere} {
			if _, known := first[below]; !known && runs[g.Ref] && g.Type != AcceleratorGroup {
				first[below] = g.Ref
			}
		}
	}
	list := map[uint32]uint32{}
	for i := range d.LocationGroups {
		g := &d.LocationGroups[i]
		if program, has := runs[g.Ref]; program || !has || g.Type == AcceleratorGroup {
			continue
		}
		host, ok := first[uint64(g.Parent)]
		if !ok {
			host, ok = first[everywhere]
		}
		if ok {
			list[g.Ref] = host
		}
	}
	return list
}

// sealHosts finds the process groups that are alone below a node of the system tree, and the group that is alone in the trace.
// Accelerators without a record of who uses them, such as those of rocprofv3, belong to these.
func (d *Definitions) sealHosts() {
	d.hosts = make(map[uint64]uint32)
	several := make(map[uint64]bool)
	for i := range d.LocationGroups {
		g := &d.LocationGroups[i]
		if g.Type == AcceleratorGroup {
			continue
		}
		for _, below := range []uint64{uint64(g.Parent), everywhere} {
			if _, more := d.hosts[below]; more || several[below] {
				several[below] = true
				delete(d.hosts, below)
				continue
			}
			d.hosts[below] = g.Ref
		}
	}
}

// mpiRanks maps the location ids of the MPI location list to their ranks.
func (d *Definitions) mpiRanks() map[uint64]uint64 {
	g := d.commLocations(ParadigmMPI)
	if g == nil {
		return nil
	}
	m := make(map[uint64]uint64, len(g.Members))
	for r, id := range g.Members {
		if _, ok := m[id]; !ok {
			m[id] = uint64(r)
		}
	}
	return m
}

// commLocations returns the location list of a paradigm.
func (d *Definitions) commLocations(p ParadigmID) *Group {
	for i := range d.Groups {
		if g := &d.Groups[i]; g.Type == GroupCommLocations && g.Paradigm == p {
			return g
		}
	}
	return nil
}

// IsMPI reports whether r is an MPI function: by its paradigm, or by its name where the writer recorded no paradigm or gave no
// region that of MPI. EZTrace calls all regions functions of the user. TAU gives the paradigm MPI to functions of the program too
// that have a type of MPI among their arguments. It is false for nil, a region without definition.
func (d *Definitions) IsMPI(r *Region) bool {
	if r == nil {
		return false
	}
	name := d.Text(r.Name)
	if r.Paradigm == ParadigmMPI {
		return !strings.Contains(name, "(") || mpiName(strings.TrimPrefix(name, "P"))
	}
	return (d.byName || r.Paradigm == ParadigmUnknown) && mpiName(name)
}

func mpiName(name string) bool { return strings.HasPrefix(name, "MPI_") }

// sealRegions finds for each region with a name the index in Regions of the first one that differs from it by its reference
// alone. Writers that do not join the definitions of processes define each region once for each process.
func (d *Definitions) sealRegions() {
	type key struct {
		text [4]string
		rest Region
	}
	d.same = make([]int, len(d.Regions))
	first := make(map[key]int, len(d.Regions))
	for i, r := range d.Regions {
		k := key{[...]string{d.Text(r.Name), d.Text(r.Description), d.Text(r.SourceFile), d.Text(r.CanonicalName)}, r}
		k.rest.Ref, k.rest.Name, k.rest.Description, k.rest.SourceFile, k.rest.CanonicalName = 0, 0, 0, 0, 0
		at, ok := first[k]
		if !ok || k.text[0] == "" {
			at = i
			first[k] = i
		}
		d.same[i] = at
		d.joins = d.joins || at < i
	}
}

// SameRegion returns the index in Regions of the first region that differs from ref by its reference alone. Sums of a region
// cover all of these.
func (d *Definitions) SameRegion(ref uint32) (int, bool) {
	i, ok := d.RegionIndex(ref)
	if !ok {
		return len(d.Regions), false
	}
	return d.same[i], true
}

// Joined returns the reference of the region of SameRegion, and a reference without definition as it is.
func Joined(d *Definitions, ref uint32) uint32 {
	if d.joins {
		if i, ok := d.SameRegion(ref); ok {
			return d.Regions[i].Ref
		}
	}
	return ref
}

// Refs finds the definitions of a list by their references. The first of several with one reference counts.
type Refs[T any] struct {
	list []T
	at   index
}

// NewRefs looks at the references of a list.
func NewRefs[T any](list []T, ref func(x *T) uint32) Refs[T] {
	return Refs[T]{list, newIndex(len(list), func(i int) uint64 { return uint64(ref(&list[i])) })}
}

// Find returns the definition with a reference, nil if there is none.
func (x *Refs[T]) Find(ref uint32) *T {
	if i, ok := x.at.find(uint64(ref)); ok {
		return &x.list[i]
	}
	return nil
}

// index maps references to ordinals: a dense table where the references are
// dense, else sorted pairs. Memory 4 bytes per reference, or 12 sparse.
type index struct {
	dense      []int32 // -1 where there is none
	keys       []uint64
	values     []int32
	duplicates int
}

func newIndex(n int, key func(i int) uint64) index {
	var x index
	var top uint64
	for i := range n {
		top = max(top, key(i))
	}
	if top < uint64(4*n+1024) {
		x.dense = make([]int32, top+1)
		for i := range x.dense {
			x.dense[i] = -1
		}
		for i := range n {
			if k := key(i); x.dense[k] < 0 {
				x.dense[k] = int32(i)
			} else {
				x.duplicates++
			}
		}
		return x
	}
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(key(int(a)), key(int(b))) })
	for _, i := range all {
		k := key(int(i))
		if len(x.keys) > 0 && x.keys[len(x.keys)-1] == k {
			x.duplicates++
			continue
		}
		x.keys, x.values = append(x.keys, k), append(x.values, i)
	}
	return x
}

func (x *index) find(key uint64) (int, bool) {
	if x.keys == nil {
		if key < uint64(len(x.dense)) && x.dense[key] >= 0 {
			return int(x.dense[key]), true
		}
		return 0, false
	}
	i, ok := slices.BinarySearch(x.keys, key)
	if !ok {
		return 0, false
	}
	return int(x.values[i]), true
}
