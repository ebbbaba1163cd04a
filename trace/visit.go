package trace

// This file gives each definition record its fields, in OTF2's order. Readers,
// writers and the canonical encoding all go through these methods.

// Visit passes the fields of c to v.
func (c *ClockProperties) Visit(v Visitor) {
	v.U64("timer_resolution", &c.TimerResolution, RefNone)
	v.U64("global_offset", &c.GlobalOffset, RefNone)
	v.U64("trace_length", &c.TraceLength, RefNone)
	v.U64("realtime_timestamp", &c.RealtimeTimestamp, RefNone)
}

// Visit passes the fields of p to v.
func (p *Paradigm) Visit(v Visitor) {
	v.U8("paradigm", (*uint8)(&p.Paradigm))
	v.U32("name", &p.Name, RefString)
	v.U8("paradigm_class", &p.Class)
}

// Visit passes the fields of p to v.
func (p *ParadigmProperty) Visit(v Visitor) {
	v.U8("paradigm", (*uint8)(&p.Paradigm))
	v.U8("property", &p.Property)
	v.Value("value", &p.Value)
}

// Visit passes the fields of i to v.
func (i *IoParadigm) Visit(v Visitor) {
	v.U8("self", &i.Ref)
	v.U32("identification", &i.Identification, RefString)
	v.U32("name", &i.Name, RefString)
	v.U8("io_paradigm_class", &i.Class)
	v.U32("io_paradigm_flags", &i.Flags, RefNone)
	visitProperties(v, "number_of_properties", &i.Properties)
}

// Visit passes the fields of s to v.
func (s *String) Visit(v Visitor) {
	v.U32("self", &s.Ref, RefNone)
	v.String("string", &s.Value)
}

// Visit passes the fields of a to v.
func (a *Attribute) Visit(v Visitor) {
	v.U32("self", &a.Ref, RefNone)
	v.U32("name", &a.Name, RefString)
	v.U8("type", (*uint8)(&a.Type))
	v.U32("description", &a.Description, RefString)
}

// Visit passes the fields of s to v.
func (s *SystemTreeNode) Visit(v Visitor) {
	v.U32("self", &s.Ref, RefNone)
	v.U32("name", &s.Name, RefString)
	v.U32("class_name", &s.Class, RefString)
	v.U32("parent", &s.Parent, RefNone)
}

// Visit passes the fields of l to v.
func (l *LocationGroup) Visit(v Visitor) {
	v.U32("self", &l.Ref, RefNone)
	v.U32("name", &l.Name, RefString)
	v.U8("location_group_type", (*uint8)(&l.Type))
	v.U32("system_tree_parent", &l.Parent, RefNone)
	v.U32("creating_location_group", &l.Creator, RefLocationGroup)
}

// Visit passes the fields of l to v.
func (l *Location) Visit(v Visitor) {
	v.U64("self", &l.Ref, RefNone)
	v.U32("name", &l.Name, RefString)
	v.U8("location_type", (*uint8)(&l.Type))
	v.U64("number_of_events", &l.Events, RefNone)
	v.U32("location_group", &l.Group, RefLocationGroup)
}

// Visit passes the fields of r to v.
func (r *Region) Visit(v Visitor) {
	v.U32("self", &r.Ref, RefNone)
	v.U32("name", &r.Name, RefString)
	v.U32("description", &r.Description, RefString)
	v.U8("region_type", &r.LegacyType)
	v.U32("source_file", &r.SourceFile, RefString)
	v.U32("begin_line_number", &r.BeginLine, RefNone)
	v.U32("end_line_number", &r.EndLine, RefNone)
	if v.Reading() {
		r.CanonicalName = r.Name
		r.Role, r.Paradigm, r.Flags = legacyRegion(r.LegacyType)
	}
	v.U32("canonical_name", &r.CanonicalName, RefString)
	v.U8("region_role", (*uint8)(&r.Role))
	v.U8("paradigm", (*uint8)(&r.Paradigm))
	v.U32("region_flags", &r.Flags, RefNone)
}

// Visit passes the fields of c to v.
func (c *Callsite) Visit(v Visitor) {
	v.U32("self", &c.Ref, RefNone)
	v.U32("source_file", &c.SourceFile, RefString)
	v.U32("line_number", &c.LineNumber, RefNone)
	v.U32("entered_region", &c.EnteredRegion, RefRegion)
	v.U32("left_region", &c.LeftRegion, RefRegion)
}

// Visit passes the fields of c to v.
func (c *Callpath) Visit(v Visitor) {
	v.U32("self", &c.Ref, RefNone)
	v.U32("parent", &c.Parent, RefNone)
	v.U32("region", &c.Region, RefRegion)
}

// Visit passes the fields of g to v.
func (g *Group) Visit(v Visitor) {
	v.U32("self", &g.Ref, RefNone)
	v.U32("name", &g.Name, RefString)
	v.U8("group_type_pre12", &g.LegacyType)
	visitList64(v, "number_of_members", U32, &g.Members)
	if v.Reading() {
		g.Type, g.Paradigm = legacyGroup(g.LegacyType)
	}
	v.U8("group_type", (*uint8)(&g.Type))
	v.U8("paradigm", (*uint8)(&g.Paradigm))
	v.U32("group_flags", &g.Flags, RefNone)
}

// Visit passes the fields of m to v.
func (m *MetricMember) Visit(v Visitor) {
	v.U32("self", &m.Ref, RefNone)
	v.U32("name", &m.Name, RefString)
	v.U32("description", &m.Description, RefString)
	v.U8("metric_type", &m.Type)
	v.U8("metric_mode", &m.Mode)
	v.U8("value_type", (*uint8)(&m.ValueType))
	v.U8("base", &m.Base)
	v.S64("exponent", &m.Exponent)
	v.U32("unit", &m.Unit, RefString)
}

// Visit passes the fields of m to v.
func (m *MetricClass) Visit(v Visitor) {
	v.U32("self", &m.Ref, RefNone)
	visitList32(v, "number_of_metrics", U8, &m.Members)
	v.U8("metric_occurrence", &m.Occurrence)
	v.U8("recorder_kind", &m.RecorderKind)
}

// Visit passes the fields of m to v.
func (m *MetricInstance) Visit(v Visitor) {
	v.U32("self", &m.Ref, RefNone)
	v.U32("metric_class", &m.Class, RefMetric)
	v.U64("recorder", &m.Recorder, RefLocation)
	v.U8("metric_scope", &m.ScopeType)
	v.U64("scope", &m.Scope, RefNone)
}

// Visit passes the fields of c to v.
func (c *Comm) Visit(v Visitor) {
	v.U32("self", &c.Ref, RefNone)
	v.U32("name", &c.Name, RefString)
	v.U32("group", &c.Group, RefGroup)
	v.U32("parent", &c.Parent, RefComm)
	v.U32("flags", &c.Flags, RefNone)
}

// Visit passes the fields of p to v.
func (p *Parameter) Visit(v Visitor) {
	v.U32("self", &p.Ref, RefNone)
	v.U32("name", &p.Name, RefString)
	v.U8("parameter_type", &p.Type)
}

// Visit passes the fields of r to v.
func (r *RmaWin) Visit(v Visitor) {
	v.U32("self", &r.Ref, RefNone)
	v.U32("name", &r.Name, RefString)
	v.U32("comm", &r.Comm, RefComm)
	v.U32("flags", &r.Flags, RefNone)
}

// Visit passes the fields of m to v.
func (m *MetricClassRecorder) Visit(v Visitor) {
	v.U32("metric", &m.Metric, RefMetric)
	v.U64("recorder", &m.Recorder, RefLocation)
}

// Visit passes the fields of s to v.
func (s *SystemTreeNodeProperty) Visit(v Visitor) {
	v.U32("system_tree_node", &s.Node, RefNone)
	v.U32("name", &s.Name, RefString)
	v.U32("string_value", &s.StringValue, RefString)
	if v.Reading() {
		s.Value = Value{TypeString, uint64(s.StringValue)}
	}
	v.Value("value", &s.Value)
}

// Visit passes the fields of s to v.
func (s *SystemTreeNodeDomain) Visit(v Visitor) {
	v.U32("system_tree_node", &s.Node, RefNone)
	v.U8("system_tree_domain", &s.Domain)
}

// Visit passes the fields of l to v.
func (l *LocationGroupProperty) Visit(v Visitor) {
	v.U32("location_group", &l.LocationGroup, RefLocationGroup)
	v.U32("name", &l.Name, RefString)
	v.U32("string_value", &l.StringValue, RefString)
	if v.Reading() {
		l.Value = Value{TypeString, uint64(l.StringValue)}
	}
	v.Value("value", &l.Value)
}

// Visit passes the fields of l to v.
func (l *LocationProperty) Visit(v Visitor) {
	v.U64("location", &l.Location, RefLocation)
	v.U32("name", &l.Name, RefString)
	v.U32("string_value", &l.StringValue, RefString)
	if v.Reading() {
		l.Value = Value{TypeString, uint64(l.StringValue)}
	}
	v.Value("value", &l.Value)
}

// Visit passes the fields of c to v.
func (c *CartDimension) Visit(v Visitor) {
	v.U32("self", &c.Ref, RefNone)
	v.U32("name", &c.Name, RefString)
	v.U32("size", &c.Size, RefNone)
	v.U8("cart_periodicity", &c.Periodicity)
}

// Visit passes the fields of c to v.
func (c *CartTopology) Visit(v Visitor) {
	v.U32("self", &c.Ref, RefNone)
	v.U32("name", &c.Name, RefString)
	v.U32("communicator", &c.Comm, RefComm)
	visitList32(v, "number_of_dimensions", U8, &c.Dimensions)
}

// Visit passes the fields of c to v.
func (c *CartCoordinate) Visit(v Visitor) {
	v.U32("cart_topology", &c.Topology, RefNone)
	v.U32("rank", &c.Rank, RefNone)
	visitList32(v, "number_of_dimensions", U8, &c.Coordinates)
}

// Visit passes the fields of s to v.
func (s *SourceCodeLocation) Visit(v Visitor) {
	v.U32("self", &s.Ref, RefNone)
	v.U32("file", &s.File, RefString)
	v.U32("line_number", &s.LineNumber, RefNone)
}

// Visit passes the fields of c to v.
func (c *CallingContext) Visit(v Visitor) {
	v.U32("self", &c.Ref, RefNone)
	v.U32("region", &c.Region, RefRegion)
	v.U32("source_code_location", &c.SourceCodeLocation, RefSourceCodeLocation)
	v.U32("parent", &c.Parent, RefCallingContext)
}

// Visit passes the fields of c to v.
func (c *CallingContextProperty) Visit(v Visitor) {
	v.U32("calling_context", &c.Context, RefCallingContext)
	v.U32("name", &c.Name, RefString)
	v.Value("value", &c.Value)
}

// Visit passes the fields of i to v.
func (i *InterruptGenerator) Visit(v Visitor) {
	v.U32("self", &i.Ref, RefNone)
	v.U32("name", &i.Name, RefString)
	v.U8("interrupt_generator_mode", &i.Mode)
	v.U8("base", &i.Base)
	v.S64("exponent", &i.Exponent)
	v.U64("period", &i.Period, RefNone)
}

// Visit passes the fields of i to v.
func (i *IoFileProperty) Visit(v Visitor) {
	v.U32("io_file", &i.File, RefIoFile)
	v.U32("name", &i.Name, RefString)
	v.Value("value", &i.Value)
}

// Visit passes the fields of i to v.
func (i *IoRegularFile) Visit(v Visitor) {
	v.U32("self", &i.Ref, RefNone)
	v.U32("name", &i.Name, RefString)
	v.U32("scope", &i.Scope, RefNone)
}

// Visit passes the fields of i to v.
func (i *IoDirectory) Visit(v Visitor) {
	v.U32("self", &i.Ref, RefNone)
	v.U32("name", &i.Name, RefString)
	v.U32("scope", &i.Scope, RefNone)
}

// Visit passes the fields of i to v.
func (i *IoHandle) Visit(v Visitor) {
	v.U32("self", &i.Ref, RefNone)
	v.U32("name", &i.Name, RefString)
	v.U32("file", &i.File, RefIoFile)
	v.U8("io_paradigm", &i.Paradigm)
	v.U32("io_handle_flags", &i.Flags, RefNone)
	v.U32("comm", &i.Comm, RefComm)
	v.U32("parent", &i.Parent, RefIoHandle)
}

// Visit passes the fields of i to v.
func (i *IoPreCreatedHandleState) Visit(v Visitor) {
	v.U32("io_handle", &i.Handle, RefIoHandle)
	v.U8("mode", &i.Mode)
	v.U32("status_flags", &i.StatusFlags, RefNone)
}

// Visit passes the fields of c to v.
func (c *CallpathParameter) Visit(v Visitor) {
	v.U32("callpath", &c.Callpath, RefNone)
	v.U32("parameter", &c.Parameter, RefParameter)
	v.Value("value", &c.Value)
}

// Visit passes the fields of i to v.
func (i *InterComm) Visit(v Visitor) {
	v.U32("self", &i.Ref, RefNone)
	v.U32("name", &i.Name, RefString)
	v.U32("group_a", &i.GroupA, RefGroup)
	v.U32("group_b", &i.GroupB, RefGroup)
	v.U32("common_communicator", &i.CommonComm, RefComm)
	v.U32("flags", &i.Flags, RefNone)
}
