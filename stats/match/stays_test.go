package match

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// TestStayReader compares look-ups with a look at all stays. Some begin where the one before ends.
func TestStayReader(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		var list [][2]uint64
		var b []byte
		for at, n := uint64(0), r.IntN(400); len(list) < n; {
			at += r.Uint64N(4)
			end := at + r.Uint64N(4)
			list = append(list, [2]uint64{at, end})
			b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, at), end)
			at = end
		}
		s := stayReader{data: bytes.NewReader(b), n: uint64(len(list))}
		for range 500 {
			first, instant := r.IntN(len(list)+1), r.Uint64N(1300)
			out, back := instant, xtf.Never
			for _, x := range list[first:] {
				if x[1] <= instant {
					continue
				}
				if out == instant && x[0] <= instant {
					out = x[1]
					continue
				}
				back = x[0]
				break
			}
			if o, k := s.after(uint64(first), instant); o != out || k != back || s.err != nil {
				t.Fatalf("seed %d, from stay %d at %d: out at %d, back at %d, %v; want %d and %d", seed, first, instant, o, k, s.err, out, back)
			}
		}
	}
}
