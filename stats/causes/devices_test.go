package causes

import "testing"

// TestLongWait: in a wait of 3 ticks for each of so many kernels that the first are settled early, each has the 2 ticks from its begin to its end; one that is
// over last and began before all has what is not settled.
func TestLongWait(t *testing.T) {
	const kernels = 2 * mostInWait
	var list []withinRow
	put := func(r *withinRow) error {
		list = append(list, *r)
		return nil
	}
	w := openWait{since: 10}
	for i := range uint64(kernels) {
		if err := w.ended(1, 10+3*i, 12+3*i, 7, deviceKernel, put); err != nil || len(w.parts) > mostInWait {
			t.Fatal(len(w.parts), err)
		}
	}
	settled := len(list)
	for i, r := range list {
		if want := (withinRow{cause: 1, path: 7, begin: 10 + 3*uint64(i), end: 12 + 3*uint64(i)}); r != want {
			t.Fatalf("%d: %+v, want %+v", i, r, want)
		}
	}
	if err := w.ended(2, 5, 12+3*kernels, 8, deviceKernel, put); err != nil || len(list) != settled || settled+mostInWait < kernels {
		t.Fatal(settled, len(list), err)
	}
	if want := (withinRow{cause: 2, path: 8, begin: 9 + 3*uint64(settled), end: 12 + 3*kernels}); len(w.parts) != 1 || w.parts[0] != want {
		t.Errorf("%+v, want %+v", w.parts, want)
	}
}
