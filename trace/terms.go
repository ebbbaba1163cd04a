package trace

// LocationType is the kind of a location.
type LocationType uint8

// Location types.
const (
	UnknownLocation LocationType = iota
	CPUThread
	AcceleratorStream
	MetricLocation
)

// OnHost reports whether a location is a thread, or of a kind that its writer does not say.
func (t LocationType) OnHost() bool { return t == CPUThread || t == UnknownLocation }

// LocationTypes counts locations by type.
type LocationTypes struct {
	CPU         int `json:"cpu_threads"`
	Accelerator int `json:"accelerator_streams"`
	Metric      int `json:"metric_recorders"`
	Other       int `json:"other"`
}

// CountLocations counts the locations of d by type.
func CountLocations(d *Definitions) LocationTypes {
	var t LocationTypes
	for i := range d.Locations {
		switch x := d.Locations[i].Type; {
		case x.OnHost():
			t.CPU++
		case x == AcceleratorStream:
			t.Accelerator++
		case x == MetricLocation:
			t.Metric++
		default:
			t.Other++
		}
	}
	return t
}

// LocationGroupType is the kind of a location group.
type LocationGroupType uint8

// Location group types.
const (
	UnknownLocationGroup LocationGroupType = iota
	ProcessGroup
	AcceleratorGroup
)

// DomainAccelerator is the domain of nodes of the system tree that are devices.
const DomainAccelerator = 7

// ParadigmID identifies a parallelisation paradigm.
type ParadigmID uint8

// Paradigms that the analysis tells apart.
const (
	ParadigmUnknown      ParadigmID = 0
	ParadigmUser         ParadigmID = 1
	ParadigmCompiler     ParadigmID = 2
	ParadigmOpenMP       ParadigmID = 3
	ParadigmMPI          ParadigmID = 4
	ParadigmCUDA         ParadigmID = 5
	ParadigmMeasurement  ParadigmID = 6
	ParadigmPthread      ParadigmID = 7
	ParadigmGASPI        ParadigmID = 11
	ParadigmUPC          ParadigmID = 12
	ParadigmSHMEM        ParadigmID = 13
	ParadigmOpenACC      ParadigmID = 18
	ParadigmOpenCL       ParadigmID = 19
	ParadigmNone         ParadigmID = 22 // none of parallelism: calls of files
	ParadigmHIP          ParadigmID = 23
	ParadigmOpenMPTarget ParadigmID = 25
)

// GroupType is the kind of a group.
type GroupType uint8

// Group types.
const (
	GroupUnknown GroupType = iota
	GroupLocations
	GroupRegions
	GroupMetric
	GroupCommLocations
	GroupCommGroup
	GroupCommSelf
)

// GlobalMembers is the group flag that makes ranks of the group index the
// paradigm's location list directly.
const GlobalMembers = 1

// RegionRole says what a region does.
type RegionRole uint8

// Region roles.
const (
	RoleUnknown         RegionRole = 0
	RoleFunction        RegionRole = 1
	RoleWrapper         RegionRole = 2
	RoleLoop            RegionRole = 3
	RoleCode            RegionRole = 4
	RoleParallel        RegionRole = 5
	RoleSections        RegionRole = 6
	RoleSection         RegionRole = 7
	RoleWorkshare       RegionRole = 8
	RoleSingle          RegionRole = 9
	RoleSingleSblock    RegionRole = 10
	RoleMaster          RegionRole = 11
	RoleCritical        RegionRole = 12
	RoleCriticalSblock  RegionRole = 13
	RoleAtomic          RegionRole = 14
	RoleBarrier         RegionRole = 15
	RoleImplicitBarrier RegionRole = 16
	RoleFlush           RegionRole = 17
	RoleOrdered         RegionRole = 18
	RoleOrderedSblock   RegionRole = 19
	RoleTask            RegionRole = 20
	RoleTaskCreate      RegionRole = 21
	RoleTaskWait        RegionRole = 22
	RoleCollOneToAll    RegionRole = 23
	RoleCollAllToOne    RegionRole = 24
	RoleCollAllToAll    RegionRole = 25
	RoleCollOther       RegionRole = 26
	RoleFileIO          RegionRole = 27
	RolePointToPoint    RegionRole = 28
	RoleRMA             RegionRole = 29
	RoleDataTransfer    RegionRole = 30
	RoleArtificial      RegionRole = 31
	RoleThreadCreate    RegionRole = 32
	RoleThreadWait      RegionRole = 33
	RoleFileIOMetadata  RegionRole = 38
	RoleKernel          RegionRole = 40 // OTF2 3.1
)

// Region flags.
const (
	RegionDynamic = 1 // executions differ, and each counts by itself
	RegionPhase   = 2 // a phase of the program
)

// legacy fills what follows from the region type that writers before OTF2 1.1 used.
func (r *Region) legacy() {
	r.CanonicalName, r.Role, r.Paradigm, r.Flags = r.Name, RoleUnknown, ParadigmUnknown, 0
	if t := int(r.LegacyType); t < len(legacyRegions) {
		l := legacyRegions[t]
		r.Role, r.Paradigm, r.Flags = l.role, l.paradigm, l.flags
	}
}

// legacy takes over the value of writers before OTF2 2.0, which was always a string.
func (s *SystemTreeNodeProperty) legacy() { s.Value = Value{TypeString, uint64(s.StringValue)} }
func (l *LocationGroupProperty) legacy()  { l.Value = Value{TypeString, uint64(l.StringValue)} }
func (l *LocationProperty) legacy()       { l.Value = Value{TypeString, uint64(l.StringValue)} }

var legacyRegions = [...]struct {
	role     RegionRole
	paradigm ParadigmID
	flags    uint32
}{
	1:  {RoleFunction, ParadigmUnknown, 0},
	2:  {RoleLoop, ParadigmUser, 0},
	3:  {RoleFunction, ParadigmUnknown, 0},
	4:  {RoleFileIO, ParadigmUser, 0},
	5:  {RoleParallel, ParadigmOpenMP, 0},
	6:  {RoleLoop, ParadigmOpenMP, 0},
	7:  {RoleSections, ParadigmOpenMP, 0},
	8:  {RoleSection, ParadigmOpenMP, 0},
	9:  {RoleWorkshare, ParadigmOpenMP, 0},
	10: {RoleSingle, ParadigmOpenMP, 0},
	11: {RoleMaster, ParadigmOpenMP, 0},
	12: {RoleCritical, ParadigmOpenMP, 0},
	13: {RoleAtomic, ParadigmOpenMP, 0},
	14: {RoleBarrier, ParadigmOpenMP, 0},
	15: {RoleImplicitBarrier, ParadigmOpenMP, 0},
	16: {RoleFlush, ParadigmOpenMP, 0},
	17: {RoleCriticalSblock, ParadigmOpenMP, 0},
	18: {RoleSingleSblock, ParadigmOpenMP, 0},
	19: {RoleWrapper, ParadigmOpenMP, 0},
	20: {RoleTask, ParadigmOpenMP, 0},
	21: {RoleTaskWait, ParadigmOpenMP, 0},
	22: {RoleBarrier, ParadigmMPI, 0},
	23: {RoleCollOneToAll, ParadigmMPI, 0},
	24: {RoleCollAllToOne, ParadigmMPI, 0},
	25: {RoleCollAllToAll, ParadigmMPI, 0},
	26: {RoleCollOther, ParadigmMPI, 0},
	27: {RoleCode, ParadigmUser, 0},
	28: {RoleCode, ParadigmUser, RegionDynamic},
	29: {RoleCode, ParadigmUser, RegionDynamic | RegionPhase},
	30: {RoleLoop, ParadigmUser, RegionDynamic},
	31: {RoleFunction, ParadigmUser, RegionDynamic},
	32: {RoleLoop, ParadigmUser, RegionDynamic | RegionPhase},
	33: {RoleTaskCreate, ParadigmOpenMP, 0},
	34: {RoleOrdered, ParadigmOpenMP, 0},
	35: {RoleOrderedSblock, ParadigmOpenMP, 0},
}

// legacy fills what follows from the group type that writers before OTF2 1.2 used.
func (g *Group) legacy() {
	g.Type, g.Paradigm = GroupUnknown, ParadigmUnknown
	if t := int(g.LegacyType); t < len(legacyGroups) {
		g.Type, g.Paradigm = legacyGroups[t].t, legacyGroups[t].paradigm
	}
}

var legacyGroups = [...]struct {
	t        GroupType
	paradigm ParadigmID
}{
	1: {GroupLocations, ParadigmUnknown},
	2: {GroupRegions, ParadigmUnknown},
	3: {GroupMetric, ParadigmUnknown},
	4: {GroupCommGroup, ParadigmMPI},
	5: {GroupCommSelf, ParadigmMPI},
	6: {GroupCommLocations, ParadigmMPI},
}
