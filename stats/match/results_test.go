package match

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// memory is a Sink in memory.
type memory struct{ b []byte }

func (m *memory) Append(b []byte) (int64, error) {
	off := int64(len(m.b))
	m.b = append(m.b, b...)
	return off, nil
}

func (m *memory) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(m.b).ReadAt(b, off)
}

func (m *memory) Size() int64 { return int64(len(m.b)) }
func (m *memory) Drop()       { m.b = nil }

// TestResults adds results of rows in any order and takes them back by blocks.
func TestResults(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	word := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
	for _, rows := range []uint64{1, resultBlock, 3*resultBlock + 7} {
		unit := Unit{P: 5, P2PRows: rows, CollRows: rows}
		sink := &memory{}
		results := newResults([]Unit{unit}, func() Scratch { return sink })
		type whole struct { // a result with its row
			result
			entry
		}
		want := map[whole]bool{}
		var last whole
		for range 4 * rows {
			r := result{p: 5, row: rng.Uint64N(rows), kind: rng.Uint32N(resultCause + 1), mateP: uint32(word()), mateN: xtf.Never, t: word(), a: word(), b: word(), c: word(), flags: uint32(word())}
			if rng.IntN(2) == 0 {
				r.mateN = word()
			}
			x := whole{result: r}
			if r.kind == resultMate || r.kind == resultColl {
				x.entry = entry{
					Key{Peer: uint32(word()), Comm: rng.Uint32N(2), Tag: rng.Uint32N(3)}, 0, Operation{
						Row: r.row, T: word(), End: word(), Bytes: word(), Post: word(), Stay: word(), CallN: word(), Own: word(), Flags: uint32(word()), Kind: uint32(word()), Region: rng.Uint32N(3), Path: rng.Uint32N(2),
					},
				}
				if rng.IntN(2) == 0 && last.of != nil { // at most the tag is another one than that of the result before
					r.kind, r.mateP, r.flags, x.Peer, x.Comm = last.kind, last.mateP, last.result.flags, last.Peer, last.Comm
					x.result = r
				}
				e := x.entry
				r.of = &e
			}
			want[x] = true
			last = x
			last.of = r.of
			if err := results.add(&r); err != nil {
				t.Fatal(err)
			}
		}
		for _, bad := range []result{{p: 4}, {p: 6}, {p: 5, row: (rows + resultBlock) / resultBlock * resultBlock}} {
			if results.add(&bad) == nil {
				t.Errorf("%d rows: a result for row %d of location %d is taken", rows, bad.row, bad.p)
			}
		}
		of := results.of(5)
		for kind, lists := range [][]resultList{of.p2p, of.coll} {
			for i := range lists {
				err := lists[i].each(sink, func(r *result) error {
					x := whole{result: *r}
					if x.result.p, x.of, x.result.row = 5, nil, x.result.row+uint64(i)*resultBlock; r.of != nil {
						x.entry = *r.of
						x.entry.Row = x.result.row
					}
					if !want[x] || (r.kind >= resultColl) != (kind == 1) {
						t.Fatalf("%d rows: result %+v comes back", rows, x)
					}
					delete(want, x)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("%d rows: %d results are lost", rows, len(want))
		}
		for range 100 { // damaged storage is an error, or other results, but no panic
			if len(sink.b) > 0 {
				sink.b[rng.IntN(len(sink.b))] ^= 1 << rng.IntN(8)
			}
			for i := range of.p2p {
				_ = of.p2p[i].each(sink, func(*result) error { return nil })
			}
		}
	}
}

// TestLostRow takes a row of which Match said nothing, or not what the load knew.
func TestLostRow(t *testing.T) {
	sink := &memory{}
	r := newResults([]Unit{{P2PRows: 1}}, func() Scratch { return sink })
	for range 2 {
		j := joined[message, *message]{rows: 1, sink: sink, lists: slices.Clone(r.of(0).p2p)}
		if m := j.next(); m != nil || !errors.Is(j.err, errResults) {
			t.Errorf("message %v, %v", m, j.err)
		}
		if err := r.add(&result{kind: resultDone, t: 9, a: 8}); err != nil {
			t.Fatal(err)
		}
	}
}
