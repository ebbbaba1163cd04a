package interval_test

import (
	"testing"

	"github.com/coppice-hpc/coppice/stats/interval"
)

func TestFlagsOf(t *testing.T) {
	for _, f := range []interval.Flags{
		{},
		{Markers: "none"},
		{Markers: "f2,f6", Intervals: []string{"region:solve *\"x\" 7", "prv:42", "region:b"}, Fold: true},
		{Slice: "100ms", MarkerCost: "mpi", RecvPoint: "post", Init: "exclude"},
		{SliceCount: 7, Between: "coll:Allreduce"},
	} {
		o, err := f.Parse()
		if err != nil {
			t.Fatal(err)
		}
		back, whole, err := interval.FlagsOf(o.Canonical(), 1e9)
		if err != nil || !whole {
			t.Errorf("%q: %v, %v", o.Canonical(), whole, err)
			continue
		}
		again, err := back.Parse()
		if err != nil || again.Canonical() != o.Canonical() {
			t.Errorf("%q became %q: %v", o.Canonical(), again.Canonical(), err)
		}
	}
	if f, whole, err := interval.FlagsOf("intervals-file=00ff slice=5000ticks", 1e6); err != nil || whole || f.Slice != "5000000ns" {
		t.Errorf("%+v, %v, %v", f, whole, err)
	}
	for _, bad := range []string{"colour=3", `interval=region:"x`, "slice-count=x", "slice=99999999999999999999ticks", "between=coll:Nothing"} {
		if _, _, err := interval.FlagsOf(bad, 1e9); err == nil {
			t.Errorf("%q is not an error", bad)
		}
	}
}
