package predict

import (
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/predict/pipeline/extract"
)

// TestRepeat compares with counts of all ranks.
func TestRepeat(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	regular := 0
	for range 2000 {
		list := make([]extract.Rank, 1+r.IntN(4))
		most, communicating := 0, 0
		for i := range list {
			if r.IntN(4) > 0 {
				list[i].Messages = make([]extract.Message, 1)
				communicating++
			}
		}
		want, each := communicating > 0, r.IntN(4)
		var x repeat
		for i := range list {
			n := each
			if r.IntN(8) == 0 {
				n = r.IntN(4)
			}
			if list[i].Talks() {
				want = want && n > 1 && (most == 0 || n == most)
				most = n
			}
			for range n {
				x.add(1)
			}
			repeats{0: &x}.end(list[i].Talks())
		}
		if got := x.regular(communicating); got != want {
			t.Fatalf("%d ranks, %d communicate, %+v: %v", len(list), communicating, x, got)
		}
		if want {
			regular++
		}
	}
	if regular < 200 {
		t.Errorf("only %d of the cases are regular", regular)
	}
}
