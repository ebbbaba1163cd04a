package trace

// Definitions holds the definition records of a trace, each kind in the order
// in which it was read. Build it with Add, then call Seal.
type Definitions struct {
	Clocks                   []ClockProperties
	Paradigms                []Paradigm
	ParadigmProperties       []ParadigmProperty
	IoParadigms              []IoParadigm
	Strings                  []String
	Attributes               []Attribute
	SystemTreeNodes          []SystemTreeNode
	LocationGroups           []LocationGroup
	Locations                []Location
	Regions                  []Region
	Callsites                []Callsite
	Callpaths                []Callpath
	Groups                   []Group
	MetricMembers            []MetricMember
	MetricClasses            []MetricClass
	MetricInstances          []MetricInstance
	Comms                    []Comm
	Parameters               []Parameter
	RmaWins                  []RmaWin
	MetricClassRecorders     []MetricClassRecorder
	SystemTreeNodeProperties []SystemTreeNodeProperty
	SystemTreeNodeDomains    []SystemTreeNodeDomain
	LocationGroupProperties  []LocationGroupProperty
	LocationProperties       []LocationProperty
	CartDimensions           []CartDimension
	CartTopologies           []CartTopology
	CartCoordinates          []CartCoordinate
	SourceCodeLocations      []SourceCodeLocation
	CallingContexts          []CallingContext
	CallingContextProperties []CallingContextProperty
	InterruptGenerators      []InterruptGenerator
	IoFileProperties         []IoFileProperty
	IoRegularFiles           []IoRegularFile
	IoDirectories            []IoDirectory
	IoHandles                []IoHandle
	IoPreCreatedHandleStates []IoPreCreatedHandleState
	CallpathParameters       []CallpathParameter
	InterComms               []InterComm

	layout // filled by Seal
}

// Record is one definition record.
type Record interface {
	Visit(v Visitor)
}

// Add appends an empty record of the given kind, with the defaults of fields
// that older writers leave out, and returns it for filling. It returns nil for
// an unknown kind. The record may move at the next Add of its kind.
func (d *Definitions) Add(k DefKind) Record {
	switch k {
	case DefClockProperties:
		return add(&d.Clocks, ClockProperties{RealtimeTimestamp: Undefined64})
	case DefParadigm:
		return add(&d.Paradigms, Paradigm{})
	case DefParadigmProperty:
		return add(&d.ParadigmProperties, ParadigmProperty{})
	case DefIoParadigm:
		return add(&d.IoParadigms, IoParadigm{})
	case DefString:
		return add(&d.Strings, String{})
	case DefAttribute:
		return add(&d.Attributes, Attribute{Description: Undefined})
	case DefSystemTreeNode:
		return add(&d.SystemTreeNodes, SystemTreeNode{})
	case DefLocationGroup:
		return add(&d.LocationGroups, LocationGroup{Creator: Undefined})
	case DefLocation:
		return add(&d.Locations, Location{})
	case DefRegion:
		return add(&d.Regions, Region{})
	case DefCallsite:
		return add(&d.Callsites, Callsite{})
	case DefCallpath:
		return add(&d.Callpaths, Callpath{})
	case DefGroup:
		return add(&d.Groups, Group{})
	case DefMetricMember:
		return add(&d.MetricMembers, MetricMember{})
	case DefMetricClass:
		return add(&d.MetricClasses, MetricClass{})
	case DefMetricInstance:
		return add(&d.MetricInstances, MetricInstance{})
	case DefComm:
		return add(&d.Comms, Comm{})
	case DefParameter:
		return add(&d.Parameters, Parameter{})
	case DefRmaWin:
		return add(&d.RmaWins, RmaWin{Flags: 1})
	case DefMetricClassRecorder:
		return add(&d.MetricClassRecorders, MetricClassRecorder{})
	case DefSystemTreeNodeProperty:
		return add(&d.SystemTreeNodeProperties, SystemTreeNodeProperty{})
	case DefSystemTreeNodeDomain:
		return add(&d.SystemTreeNodeDomains, SystemTreeNodeDomain{})
	case DefLocationGroupProperty:
		return add(&d.LocationGroupProperties, LocationGroupProperty{})
	case DefLocationProperty:
		return add(&d.LocationProperties, LocationProperty{})
	case DefCartDimension:
		return add(&d.CartDimensions, CartDimension{})
	case DefCartTopology:
		return add(&d.CartTopologies, CartTopology{})
	case DefCartCoordinate:
		return add(&d.CartCoordinates, CartCoordinate{})
	case DefSourceCodeLocation:
		return add(&d.SourceCodeLocations, SourceCodeLocation{})
	case DefCallingContext:
		return add(&d.CallingContexts, CallingContext{})
	case DefCallingContextProperty:
		return add(&d.CallingContextProperties, CallingContextProperty{})
	case DefInterruptGenerator:
		return add(&d.InterruptGenerators, InterruptGenerator{})
	case DefIoFileProperty:
		return add(&d.IoFileProperties, IoFileProperty{})
	case DefIoRegularFile:
		return add(&d.IoRegularFiles, IoRegularFile{})
	case DefIoDirectory:
		return add(&d.IoDirectories, IoDirectory{})
	case DefIoHandle:
		return add(&d.IoHandles, IoHandle{})
	case DefIoPreCreatedHandleState:
		return add(&d.IoPreCreatedHandleStates, IoPreCreatedHandleState{})
	case DefCallpathParameter:
		return add(&d.CallpathParameters, CallpathParameter{})
	case DefInterComm:
		return add(&d.InterComms, InterComm{})
	}
	return nil
}

// Each calls f for every record, kinds ascending, each kind in its order.
func (d *Definitions) Each(f func(k DefKind, r Record)) {
	each(DefClockProperties, d.Clocks, f)
	each(DefParadigm, d.Paradigms, f)
	each(DefParadigmProperty, d.ParadigmProperties, f)
	each(DefIoParadigm, d.IoParadigms, f)
	each(DefString, d.Strings, f)
	each(DefAttribute, d.Attributes, f)
	each(DefSystemTreeNode, d.SystemTreeNodes, f)
	each(DefLocationGroup, d.LocationGroups, f)
	each(DefLocation, d.Locations, f)
	each(DefRegion, d.Regions, f)
	each(DefCallsite, d.Callsites, f)
	each(DefCallpath, d.Callpaths, f)
	each(DefGroup, d.Groups, f)
	each(DefMetricMember, d.MetricMembers, f)
	each(DefMetricClass, d.MetricClasses, f)
	each(DefMetricInstance, d.MetricInstances, f)
	each(DefComm, d.Comms, f)
	each(DefParameter, d.Parameters, f)
	each(DefRmaWin, d.RmaWins, f)
	each(DefMetricClassRecorder, d.MetricClassRecorders, f)
	each(DefSystemTreeNodeProperty, d.SystemTreeNodeProperties, f)
	each(DefSystemTreeNodeDomain, d.SystemTreeNodeDomains, f)
	each(DefLocationGroupProperty, d.LocationGroupProperties, f)
	each(DefLocationProperty, d.LocationProperties, f)
	each(DefCartDimension, d.CartDimensions, f)
	each(DefCartTopology, d.CartTopologies, f)
	each(DefCartCoordinate, d.CartCoordinates, f)
	each(DefSourceCodeLocation, d.SourceCodeLocations, f)
	each(DefCallingContext, d.CallingContexts, f)
	each(DefCallingContextProperty, d.CallingContextProperties, f)
	each(DefInterruptGenerator, d.InterruptGenerators, f)
	each(DefIoFileProperty, d.IoFileProperties, f)
	each(DefIoRegularFile, d.IoRegularFiles, f)
	each(DefIoDirectory, d.IoDirectories, f)
	each(DefIoHandle, d.IoHandles, f)
	each(DefIoPreCreatedHandleState, d.IoPreCreatedHandleStates, f)
	each(DefCallpathParameter, d.CallpathParameters, f)
	each(DefInterComm, d.InterComms, f)
}

func add[T any, R interface {
	*T
	Record
}](list *[]T, v T) R {
	*list = append(*list, v)
	return R(&(*list)[len(*list)-1])
}

func each[T any, R interface {
	*T
	Record
}](k DefKind, list []T, f func(DefKind, Record)) {
	for i := range list {
		f(k, R(&list[i]))
	}
}
