package recording

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// table makes the table of a process: slots of kind, tag, communicator, peer and count.
func table(slots ...[5]uint64) []byte {
	b := make([]byte, tableHead+32*tableSlots)
	for i, s := range slots {
		at := b[tableHead+32*i*7:]
		binary.LittleEndian.PutUint32(at, uint32(s[0]))
		binary.LittleEndian.PutUint32(at[4:], uint32(s[1]))
		for k, v := range s[2:] {
			binary.LittleEndian.PutUint64(at[8+8*k:], v)
		}
	}
	return b
}

// parted are the definitions of a process whose part begins 500 ns after MPI_Init.
func parted(rank int, told ...[2]uint64) []byte {
	b := definitions(rank, 0)
	for _, x := range told {
		b = append(b, definition(defPart, words(x[0], x[1]))...)
	}
	return append(b, definition(defEnd, words(endFinalize, 9, 0, 1, 1900))...)
}

// TestPart: process 0 sends three messages of a tag, process 1 begins after it has received the first, and with a receive posted that
// is the second. What is left is the third.
func TestPart(t *testing.T) {
	send := func(dt uint64) []event {
		return []event{{evEnter, dt, []uint64{0}}, {evSend, 0, []uint64{1, 1, 7, 64}}, {evLeave, 1, []uint64{0}}}
	}
	events := append(append(send(10), send(10)...), send(10)...)
	late := []event{
		{evPart, 0, []uint64{1}},
		{evEnter, 5, []uint64{1}},
		{evIrecv, 1, []uint64{0, 1, 7, 64, 3}}, // asked for before
		{evRecv, 1, []uint64{0, 1, 7, 64}},
		{evLeave, 1, []uint64{1}},
		{evIrecvRequest, 1, []uint64{4}},
		{evPart, 1, []uint64{0}},
		{evIrecv, 1, []uint64{0, 1, 7, 64, 4}}, // after the part
	}
	begun := [][2]uint64{{partWaits, 0}, {partBegins, 500}, {partEnds, 600}}
	for _, x := range []struct {
		name           string
		told           [][2]uint64
		table          []byte
		events         []event
		sends, records string // what is left of them
	}{
		{"counted", begun, table([5]uint64{2, 7, 1, 0, 1}), late, "third", "MeasurementOnOff Enter MpiRecv Leave MeasurementOnOff"},
		{"no table", begun, nil, late, "", "MeasurementOnOff Enter Leave MeasurementOnOff"},
		{"short table", begun, table()[:100], late, "", "MeasurementOnOff Enter Leave MeasurementOnOff"},
		{"full table", begun, append([]byte{1}, table()[1:]...), late, "", "MeasurementOnOff Enter Leave MeasurementOnOff"},
		{"damaged table", begun, table([5]uint64{2, 7, 1, 0, 1}, [5]uint64{2, 7, 99, 0, 1}, [5]uint64{2, 7, 1, 1 << 60, 1}, [5]uint64{9, 7, 1, 0, 1}, [5]uint64{1, 7, 1, 0, 1 << 63}), late, "third", "MeasurementOnOff Enter MpiRecv Leave MeasurementOnOff"},
		{"nothing", [][2]uint64{{partNothing, 0}}, nil, nil, "", ""},
		{"never begun", [][2]uint64{{partWaits, 0}}, table(), nil, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			files := map[string][]byte{
				Marker: nil, "0.def": definitions(0, endFinalize), "0.evt": window(0, 1000, false, events...),
				"1.def": parted(1, x.told...), "1.evt": window(0, 1500, false, x.events...),
			}
			if x.table != nil {
				files["1.left"] = x.table
			}
			s, err := OpenPath(write(t, files))
			if err != nil {
				t.Fatal(err)
			}
			kinds := kindsOf(t, s, 0)
			want := "Enter Leave Enter Leave Enter Leave"
			if x.sends == "third" {
				want = "Enter Leave Enter Leave Enter MpiSend Leave"
			}
			if kinds != want {
				t.Errorf("process 0: %s, want %s", kinds, want)
			}
			if kinds := kindsOf(t, s, 1); kinds != x.records {
				t.Errorf("process 1: %s, want %s", kinds, x.records)
			}
		})
	}
}

// TestLatest: the first window of process 1 was given up, with one receive. Of the sends of process 0 the second is left.
func TestLatest(t *testing.T) {
	send := []event{{evEnter, 10, []uint64{0}}, {evSend, 0, []uint64{1, 1, 7, 64}}, {evLeave, 1, []uint64{0}}}
	state := []event{{evPart, 0, []uint64{partState}}, {evPart, 0, []uint64{partState + 1}}}
	receive := []event{{evRecv, 1, []uint64{0, 1, 7, 64}}, {evLeave, 0, []uint64{1}}}
	call := append([]event{{evEnter, 5, []uint64{1}}}, receive...)
	for _, x := range []struct {
		name, sends, receives string
		first                 []event // of the window that is kept
		sent                  int
		before                uint64 // receives that were given up
	}{
		{"between calls", "Enter Leave Enter MpiSend Leave", "MeasurementOnOff Enter Enter Enter MpiRecv Leave", append(state, call...), 2, 1},
		{"in a call", "Enter Leave Enter Leave Enter MpiSend Leave", "MeasurementOnOff Enter Enter Enter MpiRecv Leave", append(append(state, receive...), call...), 3, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			var sends []event
			for range x.sent {
				sends = append(sends, send...)
			}
			s, err := OpenPath(write(t, map[string][]byte{
				Marker: nil, "0.def": definitions(0, endFinalize), "0.evt": window(0, 1000, false, sends...),
				"1.def": parted(1, [2]uint64{partLatest, 1100}), "1.evt": append(make([]byte, windowBytes), window(1, 1500, false, x.first...)...),
				"1.left": table([5]uint64{2, 7, 1, 0, x.before}),
			}))
			if err != nil {
				t.Fatal(err)
			}
			if got := kindsOf(t, s, 0); got != x.sends {
				t.Errorf("process 0: %s, want %s", got, x.sends)
			}
			if got := kindsOf(t, s, 1); got != x.receives {
				t.Errorf("process 1: %s, want %s", got, x.receives)
			}
			if p := s.processes[1].part; p.begins < 400 || !p.late {
				t.Errorf("it begins %d ns after MPI_Init: %+v", p.begins, p)
			}
		})
	}
}

// kindsOf names the events of a location.
func kindsOf(t *testing.T, s *Source, p trace.P) string {
	t.Helper()
	st, err := s.Stream(p)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var names []string
	for i := range st.Chunks() {
		c, err := st.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		for b := (trace.Batch{}); c.Next(&b) == nil; {
			for k := range b.Events {
				names = append(names, b.Events[k].Kind.String())
			}
		}
	}
	return strings.Join(names, " ")
}
