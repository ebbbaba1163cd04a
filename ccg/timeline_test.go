package ccg

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
)

// timeline paints every gap into every pixel.
func (o *told) timeline(b, e trace.Time, w int) []Pixel {
	var row []Pixel
	border := func(i int) trace.Time {
		hi, lo := bits.Mul64(uint64(i), uint64(e-b))
		q, _ := bits.Div64(hi, lo, uint64(w))
		return b + trace.Time(q)
	}
	for i := range w {
		ticks := map[uint32]uint64{}
		lo, hi := border(i), border(i+1)
		for k := 1; k < len(o.steps); k++ {
			n := clip(o.steps[k-1].Time, o.steps[k].Time, lo, hi)
			if n == 0 {
				continue
			}
			region := uint32(trace.Undefined)
			if open := o.open[k]; len(open) > 0 {
				region = open[len(open)-1].Region
			}
			ticks[region] += n
		}
		best := Pixel{Region: trace.Undefined}
		for region, n := range ticks {
			if n > best.Ticks || n == best.Ticks && region < best.Region {
				best = Pixel{region, n}
			}
		}
		row = append(row, best)
	}
	return row
}

func TestTimelineEqualsEvents(t *testing.T) {
	eachCase(t, func(t *testing.T, m *made) {
		for p, l := range m.locs {
			o := tell(m.defs, m.streams[p])
			r := rand.New(rand.NewPCG(uint64(p), 5))
			list := o.borders(r, 10)
			list = append(list[:4], list[5:]...)
			x := l.Index()
			for i := range rounds(min(20, 4+2000/len(o.steps))) {
				b, e := list[r.IntN(len(list))], list[r.IntN(len(list))]
				if i == 0 {
					b, e = 0, l.First()+3*(o.steps[len(o.steps)-1].Time-l.First())
				}
				if b > e {
					b, e = e, b
				}
				if w := r.IntN(3); w == 0 {
					x.near = 0 // sums wherever they can be used
				} else if w == 1 {
					x.near = 1 << 30
				}
				w := []int{1, 2, 3, 17, 60}[r.IntN(5)]
				got, err := x.Timeline(b, e, w)
				if err != nil {
					t.Fatal(err)
				}
				if want := o.timeline(b, e, w); !slices.Equal(got.Pixels, want) {
					t.Fatalf("location %d, [%d, %d), %d pixels:\n%v, want\n%v", p, b, e, w, got.Pixels, want)
				}
			}
			for _, bad := range []struct{ b, e, w int }{{2, 1, 1}, {1, 2, 0}, {1, 2, 1 << 30}} {
				if _, err := x.Timeline(trace.Time(bad.b), trace.Time(bad.e), bad.w); err == nil {
					t.Errorf("%+v was accepted", bad)
				}
			}
		}
	})
}
