package match

import (
	"testing"

	"github.com/coppice-hpc/coppice/xtf"
)

// FuzzInstances reads instances of any bytes: what is read can be written again.
func FuzzInstances(f *testing.F) {
	plain := instance{last: moment{7, 1}, firstLeave: 8, lastLeave: 9, opMin: 1, opMax: 2, members: 3, lowest: 4, root: noMoment, firstOther: noMoment, lastOther: noMoment, lastGiver: noMoment}
	rooted := plain
	rooted.root, rooted.firstOther, rooted.lastOther = moment{1, 2}, moment{3, 4}, moment{5, 6}
	partly := plain
	partly.partly, partly.lastGiver = true, moment{6, 2}
	f.Add(rooted.append(plain.append(nil, 5), 6))
	f.Add(plain.append(partly.append(nil, 7), 8))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var x, y instance
		for {
			n, rest, ok := x.take(b)
			if !ok {
				return
			}
			m, left, ok := y.take(x.append(nil, n))
			if !ok || n != m || x != y || len(left) > 0 {
				t.Fatalf("instance %d %+v is %d %+v after another round", n, x, m, y)
			}
			b = rest
		}
	})
}

// FuzzPrefixes answers members of any bytes, one reply for each.
func FuzzPrefixes(f *testing.F) {
	f.Add(make([]byte, 3*prefixBytes), make([]byte, prefixBytes))
	f.Add([]byte{1}, []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for i, r := range reducePrefixes(inbox{{Rank: 2, Data: a}, {Rank: 5, Data: b}}) {
			if want := len([][]byte{a, b}[i]) / prefixBytes * prefixReply; len(r.Data) != want || r.Rank != [...]int{2, 5}[i] {
				t.Fatalf("%d bytes of replies for rank %d, want %d", len(r.Data), r.Rank, want)
			}
		}
	})
}

// TestMoments: the lowest location stands for several that enter at once, and no
// member is never chosen.
func TestMoments(t *testing.T) {
	first, last := noMoment, noMoment
	for _, x := range []moment{noMoment, {5, 3}, {5, 2}, {9, 4}, {9, 1}, {9, 8}, noMoment} {
		first.earliest(x)
		last.latest(x)
	}
	if (first != moment{5, 2}) || (last != moment{9, 1}) {
		t.Errorf("first %v, last %v", first, last)
	}
	late := moment{xtf.Never, 3}
	if late.latest(noMoment); late.p != 3 {
		t.Errorf("an enter at the end of time is %v", late)
	}
}
