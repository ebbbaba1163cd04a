package otf2

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// impossible writes an archive of definitions alone and reads them again.
func impossible(t *testing.T, d *trace.Definitions) (*trace.Definitions, error) {
	t.Helper()
	dir := t.TempDir()
	d.Seal()
	w, err := Create(dir, "traces", d, Options{Description: "cut\x00here"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	a, err := OpenPath(filepath.Join(dir, "traces.otf2"))
	if err != nil {
		t.Fatal(err)
	}
	return a.Definitions(), nil
}

// TestTextWithZero has strings that the format cannot hold: they end at their first zero byte, and nothing next to them is
// harmed.
func TestTextWithZero(t *testing.T) {
	got, err := impossible(t, &trace.Definitions{Strings: []trace.String{{Ref: 0, Value: "solve\x00r"}, {Ref: 1, Value: "\x00"}, {Ref: 2, Value: "main"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got.Text(0) != "solve" || got.Text(1) != "" || got.Text(2) != "main" || len(got.Problems().Codes) > 0 {
		t.Errorf("%q %q %q, %v", got.Text(0), got.Text(1), got.Text(2), got.Problems().List())
	}
}

// TestLongLists has lists whose length does not fit the one byte that the format has for it: they are refused, not cut.
func TestLongLists(t *testing.T) {
	most := make([]uint32, 255)
	if got, err := impossible(t, &trace.Definitions{MetricClasses: []trace.MetricClass{{Members: most}}}); err != nil || len(got.MetricClasses[0].Members) != 255 {
		t.Errorf("255 members: %v", err)
	}
	for name, d := range map[string]*trace.Definitions{
		"metric class": {MetricClasses: []trace.MetricClass{{Members: append(most, 1)}}},
		"topology":     {CartTopologies: []trace.CartTopology{{Dimensions: append(most, 1)}}},
	} {
		if _, err := impossible(t, d); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s of 256 members: %v", name, err)
		}
	}
}
