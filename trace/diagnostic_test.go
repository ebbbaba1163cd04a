package trace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiagnostics(t *testing.T) {
	var ds Diagnostics
	if len(ds.Codes) > 0 || ds.Count(DiagStrayLeave) != 0 {
		t.Error("empty diagnostics have contents")
	}
	ds.Add(Diagnostic{Code: DiagClockViolation, Worst: 5})
	ds.Add(Diagnostic{Code: DiagStrayLeave, Event: 3})
	ds.AddAll([]Diagnostic{{Code: DiagClockViolation, Count: 10, Worst: 3}, {Code: DiagTruncated, Detail: "file"}})
	want := []CodeDiagnostics{
		{DiagTruncated, 1, 0, []Diagnostic{{Code: DiagTruncated, Count: 1, Detail: "file"}}},
		{DiagStrayLeave, 1, 0, []Diagnostic{{Code: DiagStrayLeave, Count: 1, Event: 3}}},
		{DiagClockViolation, 11, 5, []Diagnostic{{Code: DiagClockViolation, Count: 1, Worst: 5}, {Code: DiagClockViolation, Count: 10, Worst: 3}}},
	}
	if diff := cmp.Diff(want, ds.Codes); diff != "" {
		t.Error(diff)
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
