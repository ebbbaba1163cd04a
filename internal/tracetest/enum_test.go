package tracetest

import (
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

func TestEnumText(t *testing.T) {
	for _, c := range []struct {
		enum string
		v    uint64
		want string
	}{
		{"CollectiveOp", 0, "BARRIER"},
		{"CollectiveOp", 22, "DESTROY_HANDLE_AND_DEALLOCATE"},
		{"CollectiveOp", 23, "INVALID <23>"},
		{"CollectiveOp", trace.Undefined64, "INVALID <18446744073709551615>"},
		{"RegionFlag", 0, "NONE"},
		{"RegionFlag", 3, "{DYNAMIC, PHASE}"},
		{"RegionFlag", 6, "{PHASE, INVALID <0x4>}"},
	} {
		if got := Enums[c.enum].Text(c.v); got != c.want || c.enum == "CollectiveOp" && trace.CollectiveName(c.v) != c.want {
			t.Errorf("%d of %s: %s, want %s", c.v, c.enum, got, c.want)
		}
	}
	for name, e := range Enums {
		if !slices.IsSortedFunc(e.Names, func(a, b Name) int { return int(a.Value) - int(b.Value) }) {
			t.Errorf("%s is not in order", name)
		}
	}
	for name, e := range fieldEnums {
		if Enums[e] == nil {
			t.Errorf("field %s is of an enumeration %s", name, e)
		}
	}
}
