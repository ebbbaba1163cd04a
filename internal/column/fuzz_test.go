package column

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// FuzzBlock decodes a block of any pipeline and encodes the values by every one.
func FuzzBlock(f *testing.F) {
	var e Encoder
	r := rand.New(rand.NewPCG(15, 16))
	for p := range numPipelines {
		for range 20 {
			v := randomColumn(r, 2+r.IntN(120))
			if b, ok := e.appendBlockBy(nil, v, p); ok {
				f.Add(uint16(len(v)), b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint16, data []byte) {
		v, got := make([]uint64, n), make([]uint64, n)
		if _, err := DecodeBlock(v, data); err != nil {
			return
		}
		for p := range numPipelines {
			b, ok := e.appendBlockBy(nil, v, p)
			if !ok {
				continue
			}
			rest, err := DecodeBlock(got, b)
			if err != nil || len(rest) != 0 || !slices.Equal(got, v) {
				t.Fatalf("%s: %d values do not come back: %v", p, n, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	e := Encoder{Entropy: true}
	r := rand.New(rand.NewPCG(11, 12))
	for range 60 {
		f.Add(e.Append(nil, randomColumn(r, 1+r.IntN(2500))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		if c.Verify() != nil {
			return
		}
		if c.Len() > 1<<20 {
			return
		}
		// what decodes must survive being encoded again
		v := make([]uint64, 0, c.Len())
		var k Cursor
		k.Init(&c)
		for range c.Len() {
			v = append(v, k.Next())
		}
		if k.Err() != nil {
			t.Fatal(k.Err())
		}
		checkColumn(t, e.Append(nil, v), v)
	})
}

func FuzzUnsqueeze(f *testing.F) {
	s := NewSqueezer()
	f.Add(s.Append(nil, make([]byte, 1000)))
	f.Add(s.Append(nil, []byte("short")))
	u := NewUnsqueezer(1 << 20)
	f.Fuzz(func(t *testing.T, data []byte) {
		unit, rest, err := u.Read(data)
		if err == nil && (len(unit) > 1<<20 || len(rest) > len(data)) {
			t.Fatalf("%d bytes, rest %d of %d", len(unit), len(rest), len(data))
		}
	})
}
