package trace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiagnostics(t *testing.T) {
	var ds Diagnostics
	if _, found := ds.Severity(); found || ds.Count(DiagStrayLeave) != 0 {
		t.Error("empty diagnostics have contents")
	}
	ds.Add(Diagnostic{Code: DiagClockViolation, Worst: 5})
	ds.Add(Diagnostic{Code: DiagStrayLeave, Event: 3})
	if s, _ := ds.Severity(); s != Warning {
		t.Errorf("severity %d, want a warning", s)
	}
	ds.AddAll([]Diagnostic{{Code: DiagClockViolation, Count: 10, Worst: 3}, {Code: DiagTruncated, Detail: "file"}})
	want := []CodeDiagnostics{
		{DiagTruncated, 1, 0, []Diagnostic{{Code: DiagTruncated, Count: 1, Detail: "file"}}},
		{DiagStrayLeave, 1, 0, []Diagnostic{{Code: DiagStrayLeave, Count: 1, Event: 3}}},
		{DiagClockViolation, 11, 5, []Diagnostic{{Code: DiagClockViolation, Count: 1, Worst: 5}, {Code: DiagClockViolation, Count: 10, Worst: 3}}},
	}
	if diff := cmp.Diff(want, ds.Codes); diff != "" {
		t.Error(diff)
	}
	if s, found := ds.Severity(); s != Damage || !found {
		t.Errorf("severity %d, want damage", s)
	}
	for i := range uint64(1000) {
		ds.Add(Diagnostic{Code: DiagUnmatchedSend, Event: i})
	}
	i := slices.IndexFunc(ds.Codes, func(c CodeDiagnostics) bool { return c.Code == DiagUnmatchedSend })
	if c := ds.Codes[i]; c.Count != 1000 || len(c.First) != keptPerCode || c.First[keptPerCode-1].Event != keptPerCode-1 {
		t.Errorf("1000 of one code: count %d, %d kept", c.Count, len(c.First))
	}
}

func TestCodes(t *testing.T) {
	names := map[string]bool{}
	for c, info := range codes {
		if c.String() == "" || c.Text() == "" || names[c.String()] || info.severity > Damage {
			t.Errorf("code %d: %+v", c, info)
		}
		names[c.String()] = true
	}
}

func TestEnumText(t *testing.T) {
	for _, c := range []struct {
		enum Enum
		v    uint64
		want string
	}{
		{EnumCollectiveOp, 0, "BARRIER"},
		{EnumCollectiveOp, 22, "DESTROY_HANDLE_AND_DEALLOCATE"},
		{EnumCollectiveOp, 23, "INVALID <23>"},
		{EnumCollectiveOp, Undefined64, "INVALID <18446744073709551615>"},
		{EnumRegionFlag, 0, "NONE"},
		{EnumRegionFlag, 3, "{DYNAMIC, PHASE}"},
		{EnumRegionFlag, 6, "{PHASE, INVALID <0x4>}"},
		{EnumNone, 1, "INVALID <1>"},
	} {
		if got := c.enum.Text(c.v); got != c.want {
			t.Errorf("%d of enumeration %d: %s, want %s", c.v, c.enum, got, c.want)
		}
	}
	for e := range enums {
		list := Enum(e).Names()
		if !slices.IsSortedFunc(list, func(a, b Name) int { return int(a.Value) - int(b.Value) }) {
			t.Errorf("enumeration %d is not in order", e)
		}
	}
}
