package readers

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/report/export"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// published are the fields that are written, as the .proto files in protos/perfetto/trace of
// https://github.com/google/perfetto declare them: number, name, type, and whether it is repeated. Oneofs are left out, for
// they have no form of their own on the wire.
var published = map[string][]declared{
	"Trace": {{1, "packet", "TracePacket", true}},
	"TracePacket": {
		{8, "timestamp", "uint64", false},
		{10, "trusted_packet_sequence_id", "uint32", false},
		{11, "track_event", "TrackEvent", false},
		{12, "interned_data", "InternedData", false},
		{13, "sequence_flags", "uint32", false},
		{60, "track_descriptor", "TrackDescriptor", false},
	},
	"TrackEvent": {
		{3, "category_iids", "uint64", true},
		{4, "debug_annotations", "DebugAnnotation", true},
		{9, "type", "int32", false}, // enum Type
		{10, "name_iid", "uint64", false},
		{11, "track_uuid", "uint64", false},
		{23, "name", "string", false},
		{30, "counter_value", "int64", false},
		{44, "double_counter_value", "double", false},
		{47, "flow_ids", "fixed64", true},
		{48, "terminating_flow_ids", "fixed64", true},
	},
	"TrackDescriptor": {
		{1, "uuid", "uint64", false},
		{2, "name", "string", false},
		{3, "process", "ProcessDescriptor", false},
		{4, "thread", "ThreadDescriptor", false},
		{5, "parent_uuid", "uint64", false},
		{8, "counter", "CounterDescriptor", false},
	},
	"ProcessDescriptor":   {{1, "pid", "int32", false}, {6, "process_name", "string", false}},
	"ThreadDescriptor":    {{1, "pid", "int32", false}, {2, "tid", "int32", false}, {5, "thread_name", "string", false}},
	"CounterDescriptor":   {{3, "unit", "int32", false}}, // enum Unit
	"InternedData":        {{1, "event_categories", "EventCategory", true}, {2, "event_names", "EventName", true}, {3, "debug_annotation_names", "DebugAnnotationName", true}},
	"EventCategory":       {{1, "iid", "uint64", false}, {2, "name", "string", false}},
	"EventName":           {{1, "iid", "uint64", false}, {2, "name", "string", false}},
	"DebugAnnotationName": {{1, "iid", "uint64", false}, {2, "name", "string", false}},
	"DebugAnnotation":     {{1, "name_iid", "uint64", false}, {3, "uint_value", "uint64", false}, {6, "string_value", "string", false}},
}

type declared struct {
	number   int32
	name     string
	typ      string
	repeated bool
}

// schema makes the description of the messages that the protobuf runtime reads with.
func schema(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("trace.proto"), Package: proto.String("perfetto.protos"), Syntax: proto.String("proto2")}
	for name, fields := range published {
		m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for _, f := range fields {
			d := &descriptorpb.FieldDescriptorProto{Name: proto.String(f.name), Number: proto.Int32(f.number), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
			if f.repeated {
				d.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			}
			if published[f.typ] != nil {
				d.Type, d.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".perfetto.protos."+f.typ)
			} else {
				d.Type = map[string]descriptorpb.FieldDescriptorProto_Type{
					"uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64, "uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32,
					"int32": descriptorpb.FieldDescriptorProto_TYPE_INT32, "int64": descriptorpb.FieldDescriptorProto_TYPE_INT64,
					"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
					"fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
				}[f.typ].Enum()
			}
			m.Field = append(m.Field, d)
		}
		file.MessageType = append(file.MessageType, m)
	}
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Messages().ByName("Trace")
}

// unknown counts what a message holds next to the fields of the schema.
func unknown(m protoreflect.Message) (n int) {
	n = len(m.GetUnknown())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				n += unknown(v.List().Get(i).Message())
			}
		default:
			n += unknown(v.Message())
		}
		return true
	})
	return n
}

// TestPerfetto reads a timeline of an analysed run by the published schema: all of it is known, and writing it again gives as
// many bytes, so no field has a form of its own.
func TestPerfetto(t *testing.T) {
	o, err := synthetic.ParseOptions("irregular:procs=4,events=10k,metrics")
	if err != nil {
		t.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.xtf")
	if err := mpi.RunInProcess(1, func(c mpi.Comm) error {
		_, err := analyze.Run(c, analyze.Options{Source: src, Output: path, StoreBytes: 64 << 20})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	run, err := results.Open(path, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var b bytes.Buffer
	s := &export.Source{Run: run, Window: export.Everything}
	drawn, err := s.Timeline(&b, "perfetto", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(schema(t))
	if err := proto.Unmarshal(b.Bytes(), m); err != nil {
		t.Fatal(err)
	}
	if n := unknown(m); n != 0 {
		t.Errorf("%d bytes of fields that are not in the schema", n)
	}
	if n := proto.Size(m); n != b.Len() {
		t.Errorf("%d bytes, written again %d", b.Len(), n)
	}
	events := map[int64]uint64{}
	packets := m.Get(m.Descriptor().Fields().ByName("packet")).List()
	for i := range packets.Len() {
		p := packets.Get(i).Message()
		if f := p.Descriptor().Fields().ByName("track_event"); p.Has(f) {
			e := p.Get(f).Message()
			events[e.Get(e.Descriptor().Fields().ByName("type")).Int()]++
		}
	}
	if events[1] != drawn.Slices || events[2] != drawn.Slices || events[4] != drawn.Counters || drawn.Flows == 0 {
		t.Errorf("events by type %v, drawn %+v", events, drawn)
	}
}
