package export

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"unicode/utf8"
)

// traceEvent is an event of Chrome's format.
type traceEvent struct {
	Ph   string
	Pid  *int
	Tid  int
	Ts   *json.Number
	Name string
	Cat  string
	ID   string
	Bp   string
	Args map[string]any
}

func (e *traceEvent) ns(t *testing.T) int64 {
	t.Helper()
	if e.Ts == nil {
		t.Fatalf("%+v: no time", e)
	}
	v, err := strconv.ParseFloat(e.Ts.String(), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(v*1000 + 0.5)
}

// lanes is what a timeline says, in words, by process and thread; flows by id.
type lanes struct {
	list   map[string][]string
	starts map[string]string
	ends   map[string]string
	values int
}

func (l *lanes) add(where, format string, args ...any) {
	l.list[where] = append(l.list[where], fmt.Sprintf(format, args...))
}

func newLanes() *lanes {
	return &lanes{list: map[string][]string{}, starts: map[string]string{}, ends: map[string]string{}}
}

// readChrome checks the rules of the trace event format: B and E balanced on their thread and in the order of time, flows with
// one begin and one end each that are bound to a slice, b and e balanced by id, counters with numbers.
func readChrome(t *testing.T, b []byte) *lanes {
	t.Helper()
	if !utf8.Valid(b) {
		t.Error("not valid UTF-8")
	}
	var doc struct {
		TraceEvents []traceEvent
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	l := newLanes()
	stacks, last := map[string][]string{}, map[string]int64{}
	for i := range doc.TraceEvents {
		e := &doc.TraceEvents[i]
		if e.Pid == nil || *e.Pid < 1 {
			t.Fatalf("event %d without process", i)
		}
		if e.Ph == "M" {
			if len(e.Args) == 0 {
				t.Errorf("event %d: nothing named", i)
			}
			continue
		}
		l.event(t, i, e, stacks, last)
	}
	for track, s := range stacks {
		if len(s) > 0 {
			t.Errorf("%s: %d slices without end", track, len(s))
		}
	}
	if len(l.starts) != len(l.ends) {
		t.Errorf("%d flows begin, %d end", len(l.starts), len(l.ends))
	}
	for id := range l.starts {
		if l.ends[id] == "" {
			t.Errorf("flow %s from %s without end", id, l.starts[id])
		}
	}
	return l
}

// event takes an event that has a time: stacks are the open slices of each track, last the time of its event before.
func (l *lanes) event(t *testing.T, i int, e *traceEvent, stacks map[string][]string, last map[string]int64) {
	t.Helper()
	where := fmt.Sprintf("%d/%d", *e.Pid, e.Tid)
	track, ns := where+e.Ph[:1], e.ns(t)
	switch e.Ph {
	case "E", "s", "f":
		track = where + "B"
	case "e":
		track = where + "b"
	case "C":
		track = where + "C" + e.Name
	}
	if ns < last[track] {
		t.Errorf("event %d, %s of %s: %d ns after %d", i, e.Ph, track, ns, last[track])
	}
	last[track] = ns
	switch e.Ph {
	case "B", "b":
		stacks[track] = append(stacks[track], e.Name)
		l.add(where, "%s %d %s %s", e.Ph, ns, e.Name, e.Cat)
	case "E", "e":
		if len(stacks[track]) == 0 {
			t.Fatalf("event %d: end without begin on %s", i, track)
		}
		stacks[track] = stacks[track][:len(stacks[track])-1]
		l.add(where, "%s %d", e.Ph, ns)
	case "s", "f":
		to := l.starts
		if e.Ph == "f" {
			to = l.ends
		}
		if to[e.ID] != "" || len(stacks[track]) == 0 || (e.Ph == "f") != (e.Bp == "e") {
			t.Errorf("event %d: flow %+v", i, e)
		}
		to[e.ID] = where
	case "C":
		if _, ok := e.Args["value"].(float64); !ok {
			t.Errorf("event %d: counter without value", i)
		}
		l.values++
	default:
		t.Errorf("event %d: phase %s", i, e.Ph)
	}
}
