package export

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// table writes a table of events as CSV and reads it again.
func table(t *testing.T, s *Source, name string) [][]string {
	t.Helper()
	var b bytes.Buffer
	n, err := s.Events(name, func(x *Schema) (TableWriter, error) { return NewTable(&b, "csv", x) })
	if err != nil {
		t.Fatal(err)
	}
	list, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if uint64(len(list)) != n+1 {
		t.Errorf("%s: %d lines of %d rows", name, len(list), n)
	}
	return list
}

func TestEvents(t *testing.T) {
	t.Parallel()
	d, list := pingPong(2)
	s := source(t, d, list)
	s.Nodes = []string{"whole program", "loop"}
	s.Window = results.Span{Begin: 120, End: 200}
	for name, want := range map[string][]string{
		"calls": {
			"rank,thread,n,begin,end,begin_ns,end_ns,exclusive,parent,depth,class,region,region_ref,flags",
			"0,0,0,10,300,5,150,0,,0,cpu,main,0,0", "0,0,1,120,160,60,80,40,0,1,p2p,MPI_Send,1,1",
			"1,0,0,10,300,5,150,0,,0,cpu,main,0,0", "1,0,1,100,180,50,90,40,0,1,p2p,MPI_Recv \"x\"\n\x01,2,1",
		},
		"messages": {
			"rank,thread,n,begin,end,begin_ns,end_ns,direction,peer,bytes,tag,comm,call,region,post,done,partner_rank,partner_thread,partner_n,partner_begin,flags",
			"0,0,0,120,160,60,80,send,1,0,0,all, \"of\" them,1,MPI_Send,120,160,1,0,0,100,0",
			"1,0,0,100,180,50,90,receive,0,0,0,all, \"of\" them,1,MPI_Recv \"x\"\n\x01,120,160,0,0,0,120,0",
		},
		"waits":     {"rank,thread,n,begin,end,begin_ns,end_ns,pattern,record,cause_rank,cause_thread,interval,path"},
		"intervals": {"rank,thread,n,begin,end,begin_ns,end_ns,node,name,execution,flags", "0,0,0,10,300,5,150,0,whole program,0,4", "0,0,1,50,150,25,75,1,loop,0,0", "1,0,0,10,300,5,150,0,whole program,0,4", "1,0,1,50,150,25,75,1,loop,0,0"},
		"metrics":   {"rank,thread,n,time,time_ns,metric,unit,value,bits,type"},
	} {
		var got []string
		for _, row := range table(t, s, name) {
			got = append(got, strings.Join(row, ","))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.Window = Everything
	if got := table(t, s, "metrics")[2]; strings.Join(got, ",") != "0,0,1,200,100,PAPI_TOT_INS,#,1000,1000,uint64" {
		t.Errorf("%q", got)
	}
	s.Selected = func(p trace.P) bool { return p == 1 }
	if n := len(table(t, s, "calls")); n != 4 {
		t.Errorf("%d lines of one process", n)
	}
	if _, err := s.Events("nothing", nil); !errors.Is(err, ErrRun) {
		t.Error(err)
	}
}

// TestEventsOdd writes rows of all tables with numbers that name nothing.
func TestEventsOdd(t *testing.T) {
	t.Parallel()
	d := definitions(1, "a", "a", "")
	never := uint32(trace.Undefined)
	s := source(t, d, []rows{{
		xtf.TypeCall:   {&xtf.Call{T: 1, End: 2, Region: 99, Class: math.MaxUint32}},
		xtf.TypeP2P:    {&xtf.P2P{T: 1, End: 2, CallN: xtf.Never, MateN: 4, MateP: 77, Peer: never, Done: xtf.Never, MateT: xtf.Never, Comm: 99, Kind: math.MaxUint32}},
		xtf.TypeColl:   {&xtf.Coll{T: 1, End: 2, Ordinal: xtf.Never, Root: never, Flags: 0xFF}},
		xtf.TypeWait:   {&xtf.Wait{T: 1, End: 2, RecN: xtf.Never, CauseP: 9, Pattern: 0xFF, Node: never, Path: never}},
		xtf.TypeIval:   {&xtf.Ival{T: 1, End: 2, Node: 9}},
		xtf.TypeMetric: {&xtf.Metric{T: 1, Value: math.MaxUint64, Metric: 9, Flags: uint32(trace.TypeInt64)}, &xtf.Metric{T: 1, Value: math.Float64bits(math.NaN()), Metric: 4, Flags: uint32(trace.TypeDouble)}},
		xtf.TypeIO:     {&xtf.IO{T: 1, End: xtf.Never, CallN: 3, Asked: 5, Done: xtf.Never, Handle: 8, Op: 7}},
		xtf.TypeRMA:    {&xtf.RMA{T: 1, End: xtf.Never, CallN: xtf.Never, Op: 200}},
	}})
	want := map[string]string{
		"calls":       "0,0,0,1,2,0,1,0,0,0,setup,,99,0",
		"messages":    "0,0,0,1,2,0,1,other,,0,0,(undefined),,a,0,,,,4,,16777215",
		"collectives": "0,0,0,1,2,0,1,invalid <255>,(undefined),,,0,0,0,a,0,0,0,0,0",
		"waits":       "0,0,0,1,2,0,1,pattern 255,,,,,",
		"intervals":   "0,0,0,1,2,0,1,9,,0,0",
		"metrics":     "0,0,1,1,0,PAPI_TOT_INS,#,NaN,9221120237041090561,double",
		"io":          "0,0,0,1,,0,,other,,5,,3",
		"rma":         "0,0,0,1,,0,,other,0,0,0,",
	}
	for _, name := range Tables() {
		list := table(t, s, name)
		if got := strings.Join(list[len(list)-1], ","); got != want[name] {
			t.Errorf("%s: %s\nwant %s", name, got, want[name])
		}
	}
	if got := strings.Join(table(t, s, "metrics")[1], ","); got != "0,0,0,1,0,,,-1,18446744073709551615,int64" {
		t.Error(got)
	}
}

// TestTableRefuses gives what is not a table, or rows of another one.
func TestTableRefuses(t *testing.T) {
	t.Parallel()
	s := &Schema{Columns: []Column{{Name: "a", Type: Text, Dict: []string{"x"}}, {Name: "b", Nullable: true}}}
	if _, err := NewTable(io.Discard, "xls", s); !errors.Is(err, ErrForm) {
		t.Error(err)
	}
	if _, err := NewTable(io.Discard, "csv", &Schema{Columns: []Column{{Type: 9}}}); !errors.Is(err, errSchema) {
		t.Error(err)
	}
	for _, form := range []string{"csv", "parquet", "arrow"} {
		w, err := NewTable(io.Discard, form, s)
		if err != nil {
			t.Fatal(err)
		}
		bad := NewBatch(s)
		bad.Append(Number(1), Absent)
		large := NewBatch(s)
		for range GroupRows + 1 {
			large.Append(Number(0), Absent)
		}
		for i, b := range []*Batch{bad, large, NewBatch(&Schema{}), NewBatch(&Schema{Columns: make([]Column, 2)})} {
			if err := w.Write(b); !errors.Is(err, errSchema) {
				t.Errorf("%s, batch %d: %v", form, i, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// failing takes some bytes, then none.
type failing struct{ left int }

var errFull = errors.New("no space")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestWriteErrors lets every write fail once: each form says so.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	d, list := pingPong(50)
	s := source(t, d, list)
	for _, form := range []string{"csv", "parquet", "arrow", "perfetto", "chrome"} {
		write := func(out io.Writer) (err error) {
			if form == "perfetto" || form == "chrome" {
				_, err = s.Timeline(out, form, 1<<30)
				return err
			}
			_, err = s.Events("messages", func(x *Schema) (TableWriter, error) { return NewTable(out, form, x) })
			return err
		}
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		for left := 0; left < b.Len(); left += max(1, b.Len()/50) {
			if err := write(&failing{left}); !errors.Is(err, errFull) {
				t.Fatalf("%s, %d of %d bytes: %v", form, left, b.Len(), err)
			}
		}
	}
}

// pieces is the largest piece, and how many bytes came before Close.
type pieces struct{ n, largest int }

func (p *pieces) Write(b []byte) (int, error) {
	p.n += len(b)
	p.largest = max(p.largest, len(b))
	return len(b), nil
}

// TestTableStreams writes a table of many batches: each is written when it is full, not at the end.
func TestTableStreams(t *testing.T) {
	t.Parallel()
	s := &Schema{Columns: []Column{{Name: "a"}, {Name: "b", Type: Uint32}}}
	for _, form := range []string{"csv", "parquet", "arrow"} {
		out := &pieces{}
		w, err := NewTable(out, form, s)
		if err != nil {
			t.Fatal(err)
		}
		b := NewBatch(s)
		for k := range 3 {
			b.Reset()
			for i := 0; !b.Full(); i++ {
				b.Append(Number(uint64(i)*1e15), Number(uint64(i*k)))
			}
			before := out.n
			if err := w.Write(b); err != nil || out.n == before {
				t.Fatalf("%s: %d bytes at batch %d: %v", form, out.n, k, err)
			}
		}
		if at := out.n; w.Close() != nil || out.n-at > 1000 || out.largest > GroupRows*20 {
			t.Errorf("%s: %d bytes at the end, %d at once", form, out.n-at, out.largest)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	dict := make([]string, 100)
	for i := range dict {
		dict[i] = fmt.Sprintf("region %d", i)
	}
	s := &Schema{Columns: []Column{{Name: "begin"}, {Name: "end", Nullable: true}, {Name: "rank", Type: Uint32}, {Name: "region", Type: Text, Dict: dict}}}
	batch := NewBatch(s)
	for i := uint64(0); !batch.Full(); i++ {
		batch.Append(Number(1000*i+i*i%77), Number(1000*i+500), Number(i/4096), Number(i*i%100))
	}
	for _, form := range []string{"csv", "parquet", "arrow"} {
		b.Run(form, func(b *testing.B) {
			w, err := NewTable(io.Discard, form, s)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(GroupRows * (8 + 8 + 4 + 4))
			for b.Loop() {
				if err := w.Write(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
