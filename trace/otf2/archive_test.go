package otf2

import (
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// The event counts of README.md and README-apps.md next to the archives.
func TestEventCounts(t *testing.T) {
	for name, want := range map[string]uint64{
		"npb-lu.S-16": 172230, "hip-mi300-scorep9": 72670, "otf2-1.1-integrity": 480000, "synthetic-all-events": 159,
		"stencil4d-32": 4324, "pingpong-papi-scorep71": 204, "pingpong-scorep71": 120, "lammps-pppm-8": 231654, "sweep3d-16": 210144,
	} {
		t.Run(name, func(t *testing.T) {
			a := mustOpen(t, filepath.Join(traces(t), name))
			var got, measured uint64
			for p := range trace.P(a.Definitions().NumLocations()) {
				s := drain(t, a, p, nil)
				got += s.events
				if severity, any := tracetest.Severity(&s.diags); any && severity > trace.Note {
					t.Errorf("location %d: %v", p, s.diags)
				}
				x, err := a.Measure(p)
				if err != nil {
					t.Fatal(err)
				}
				measured += x.Events
			}
			if got != want || measured != want {
				t.Errorf("%d events, %d measured, want %d", got, measured, want)
			}
		})
	}
}
