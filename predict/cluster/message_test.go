package cluster

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
)

// damaged is a communicator whose messages arrive as something else.
type damaged struct {
	mpi.Comm
	rng  *rand.Rand
	left int // messages that arrive as they are
}

func (d *damaged) spoil(all [][]byte) [][]byte {
	if d.left--; d.left != -1 {
		return all
	}
	for i, b := range all {
		switch all[i] = slices.Clone(b); d.rng.IntN(3) {
		case 0:
			all[i] = all[i][:d.rng.IntN(len(b)+1)]
		case 1:
			all[i] = append(all[i], all[i]...)
		default:
			for k := range all[i] {
				if d.rng.IntN(4) == 0 {
					all[i][k] = byte(d.rng.Uint32())
				}
			}
		}
	}
	return all
}

func (d *damaged) Allgather(b []byte) ([][]byte, error) {
	all, err := d.Comm.Allgather(b)
	return d.spoil(all), err
}

func (d *damaged) Gather(b []byte, root int) ([][]byte, error) {
	all, err := d.Comm.Gather(b, root)
	return d.spoil(all), err
}

func (d *damaged) Recv(from, tag int) ([]byte, mpi.Status, error) {
	b, st, err := d.Comm.Recv(from, tag)
	return d.spoil([][]byte{b})[0], st, err
}

func (d *damaged) Bcast(b []byte, root int) ([]byte, error) {
	b, err := d.Comm.Bcast(b, root)
	return d.spoil([][]byte{b})[0], err
}

// Damaged messages give an error or a result, whose numbers are in range.
func FuzzMessages(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, uint8(seed%16))
	}
	rng := rand.New(rand.NewPCG(41, 42))
	data := random(rng, 30, 4, 50)
	f.Fuzz(func(t *testing.T, seed uint64, left uint8) {
		o := Options{
			Linkage: Linkage(seed % uint64(numLinkages)), Metric: Metric(seed / 4 % 2), MaxClasses: uint32(seed / 8 % 2 * 4), Threshold: Threshold{PPM: 300_000},
			Representative: Representative(seed / 16 % 2),
		}
		c := &damaged{Comm: mpi.Serial(), rng: rand.New(rand.NewPCG(seed, 0)), left: int(left)}
		r, err := classify(t.Context(), c, Rows{numbers(len(data)), data}, o, 5, 5)
		if err != nil {
			return
		}
		if len(r.Class) != len(data) {
			t.Errorf("%d members", len(r.Class))
		}
		for _, k := range r.Class {
			if int(k) >= len(r.Classes) {
				t.Errorf("class %d of %d", k, len(r.Classes))
			}
		}
	})
}

// Words of any content about clusters, edges and distances are in range, or refused.
func FuzzWords(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add(pack(told([]candidate{{1, 5}, {0, 5}, {-1, 3}, {3, 1}}, 0)), uint8(2))
	f.Add(pack([]uint64{two(uint32(7), 1), 5}), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		c := newTriangle[uint32](alone(), form{mean: len(b)%2 == 0}, []uint64{1, 1, 1, 1})
		list := make([]candidate, 4)
		err := unpack([][]byte{b, b}, 2, "x", func(rank int, x []uint64) bool {
			if rank > 1 || len(x) != 2 {
				t.Errorf("rank %d, %d words", rank, len(x))
			}
			return c.take(list, x)
		})
		for _, x := range list {
			if x.at < -1 || x.at > 3 {
				t.Errorf("%v, %+v", err, x)
			}
		}
		row := make([]uint32, size)
		if rest, err := take(b, row); err == nil && len(rest) != len(b)-4*len(row) || err != nil && len(b) >= 4*len(row) {
			t.Errorf("%d of %d bytes left, %v", len(rest), len(b), err)
		}
	})
}
