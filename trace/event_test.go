package trace

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ExampleBatch() {
	var b Batch
	b.Append(100, Enter, 3)
	b.Append(105, MpiSend, 0, 1, 0, 7, 1024)
	b.AppendAttributes(EventAttribute{Ref: 2, Type: TypeUint64, Value: 42})
	for i := range b.Events {
		e := &b.Events[i]
		fields, _, _, _ := b.Layout(e)
		fmt.Println(e.Time, e.Kind, e.Ref, fields, b.Attributes(nil, e))
	}
	// Output:
	// 100 Enter 3 [] []
	// 105 MpiSend 0 [1 0 7 1024] [{2 4 42}]
}

// TestLayout builds an event of every kind, with and without each of the parts
// that may follow the fields, and splits it.
func TestLayout(t *testing.T) {
	for k := range 256 {
		for variant := range 4 {
			kind := Kind(k)
			var b Batch
			b.Append(1, Enter, 9) // so that words do not begin at 0
			b.Append(2, BufferFlush, 0, 77)
			fields, list := fieldsOf(kind)
			b.Append(Time(k), kind, 5, append(append([]uint64{}, fields...), list...)...)
			e := &b.Events[2]
			var attributes []EventAttribute
			if variant&1 != 0 {
				attributes = []EventAttribute{{1, TypeInt8, 2}, {Undefined, TypeLocationGroup, Undefined64}}
				b.AppendAttributes(attributes...)
			}
			var surplus []uint64
			if variant&2 != 0 {
				surplus = []uint64{9, 0x0807060504030201, 9}
				e.Flags |= HasSurplus
				b.Args = append(b.Args, surplus...)
				e.Len += uint32(len(surplus))
			}
			gotFields, gotList, _, gotSurplus := b.Layout(e)
			for _, d := range []string{
				cmp.Diff(nilIfEmpty(fields), nilIfEmpty(gotFields)), cmp.Diff(nilIfEmpty(list), nilIfEmpty(gotList)),
				cmp.Diff(surplus, nilIfEmpty(gotSurplus)), cmp.Diff(attributes, b.Attributes(nil, e)),
			} {
				if d != "" {
					t.Errorf("%v, variant %d: %s", kind, variant, d)
				}
			}
		}
	}
}

func nilIfEmpty(s []uint64) []uint64 {
	if len(s) == 0 {
		return nil
	}
	return s
}

// fieldsOf makes up the fields of a kind and its list of three elements.
func fieldsOf(k Kind) (fields, list []uint64) {
	if k == Enter || k == Leave {
		return nil, nil
	}
	info := k.Info()
	for i := range info.Fields {
		fields = append(fields, uint64(100+i))
	}
	if info.List == NoList {
		return fields, nil
	}
	n := map[List]int{MetricList: 6, StringList: 3, PayloadList: 3}[info.List]
	fields[len(fields)-1] = map[List]uint64{MetricList: 3, StringList: 3, PayloadList: 17}[info.List]
	for i := range n {
		list = append(list, uint64(1000+i))
	}
	return fields, list
}

func TestBatchReset(t *testing.T) {
	var b Batch
	b.AppendAttributes(EventAttribute{}) // no event to add to
	b.Append(1, MpiIrecvRequest, 0, 8)
	b.AppendAttributes()
	if len(b.Args) != 1 || b.Events[0].Flags != 0 {
		t.Errorf("empty attribute lists leave traces: %+v", b)
	}
	b.Reset()
	if len(b.Events) != 0 || len(b.Args) != 0 || cap(b.Args) == 0 {
		t.Errorf("after Reset: %+v", b)
	}
}

func TestAppendAllocates(t *testing.T) {
	b := Batch{Events: make([]Event, 0, 8), Args: make([]uint64, 0, 64)}
	if n := testing.AllocsPerRun(100, func() {
		b.Reset()
		b.Append(1, Enter, 3)
		b.Append(2, MpiSend, 0, 1, 2, 3, 4)
		b.Layout(&b.Events[1])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestKinds checks the table of record kinds against itself.
func TestKinds(t *testing.T) {
	names, labels, known := map[string]Kind{}, map[string]Kind{}, 0
	for k := range 256 {
		kind := Kind(k)
		info := kind.Info()
		if !kind.Known() {
			if info.List != PayloadList || len(info.Fields) != 1 || info.Label != "UNKNOWN" {
				t.Errorf("unknown kind %d: %+v", k, info)
			}
			continue
		}
		known++
		if _, ok := names[info.Name]; ok || kind.String() != info.Name {
			t.Errorf("name %s of kind %d", info.Name, k)
		}
		if _, ok := labels[info.Label]; ok {
			t.Errorf("label %s of kind %d is taken", info.Label, k)
		}
		names[info.Name], labels[info.Label] = kind, kind
		if info.Singleton && len(info.Fields) != 1 {
			t.Errorf("%s is written without a length but has %d fields", info.Name, len(info.Fields))
		}
		if info.List != NoList && len(info.Fields) < 2 {
			t.Errorf("%s has a list without a count", info.Name)
		}
		for _, f := range info.Fields {
			if f.Name == "" || f.Ref != RefNone && f.Ref >= NumRefKinds || f.Ref != RefNone && f.Width != U32 {
				t.Errorf("%s: field %+v", info.Name, f)
			}
		}
	}
	if known != 79 || Enter != 12 || CommDestroy != 88 {
		t.Errorf("%d kinds, want 79 from BufferFlush (10) to CommDestroy (88)", known)
	}
}
