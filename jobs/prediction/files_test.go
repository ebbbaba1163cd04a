package prediction_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/jobs/prediction"
)

// TestPredictWithoutFileSystem: what a platform does not tell of files takes no time, and that is said.
func TestPredictWithoutFileSystem(t *testing.T) {
	s := &tracetest.Script{}
	for range 2 {
		s.Steps = append(s.Steps, []tracetest.Step{{Ticks: 100}, {Call: "File_write_all", Ticks: 500}, {Ticks: 100}})
	}
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	for files, want := range map[string]uint64{"": 2, "[filesystem]\nopen_ns = 500\n": 0} {
		got := uint64(0)
		r := mustPredict(t, 2, prediction.Options{Run: run, Platform: platformFile(t, instantNetwork+files)})
		for _, x := range r.LeftOut {
			if strings.Contains(x.Text, "in no time, for the platform has no [filesystem]") {
				got = x.Count
			}
		}
		if got != want {
			t.Errorf("%q: %+v", files, r.LeftOut)
		}
	}
}

// TestPredictOperators: what operators of the program do in a reduction is not in the prediction, and that is said.
func TestPredictOperators(t *testing.T) {
	s := &tracetest.Script{}
	for range 2 {
		s.Steps = append(s.Steps, []tracetest.Step{{Ticks: 100}, {Call: "Op_create", Ticks: 5}, {Call: "Allreduce", Ticks: 5000}, {Ticks: 100}})
	}
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run.xtf")
	if _, err := jobtest.Analyze(2, analyze.Options{Source: src, Output: run, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	r := mustPredict(t, 2, prediction.Options{Run: run, Platform: platformFile(t, instantNetwork)})
	if l := r.LeftOut; len(l) != 1 || l[0].What != "operators" || l[0].Count != 2 || l[0].Lost {
		t.Errorf("%+v", l)
	}
}
