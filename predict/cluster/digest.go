package cluster

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// A member's digest goes to the rank that its first bytes name. That rank finds the members of equal digests and
// answers each with the lowest id among them and their number. Equal digests of SHA-256 count as equal vectors:
// comparing the vectors too would move every one of them between ranks, to guard against what nobody has ever seen.

const (
	digestBytes = sha256.Size + 4 // and the id
	answerBytes = 4 + 4
)

// leaders returns for each member of this rank the lowest id of the members with an equal vector, and their number.
func (j *job) leaders(list []reading) (ids, weights []uint32, err error) {
	parts := make([][]byte, j.size)
	to := make([]int, len(list))
	var sum [sha256.Size]byte
	for i := range list {
		d := list[i].digest.Sum(sum[:0])
		to[i] = int(getUint64(d) % uint64(j.size))
		parts[to[i]] = putUint32(append(parts[to[i]], d...), j.v.ID(i))
		list[i].digest = nil
	}
	got, err := j.c.Alltoall(parts)
	if err != nil {
		return nil, nil, err
	}
	answers, err := answer(got)
	if err = j.agree(err); err != nil {
		return nil, nil, err
	}
	if got, err = j.c.Alltoall(answers); err != nil {
		return nil, nil, err
	}
	ids, weights = make([]uint32, len(list)), make([]uint32, len(list))
	for i := range list {
		b := got[to[i]]
		if len(b) < answerBytes {
			return nil, nil, j.agree(errMessage("answers"))
		}
		ids[i], weights[i] = getUint32(b), getUint32(b[4:])
		got[to[i]] = b[answerBytes:]
	}
	return ids, weights, j.agree(nil)
}

// answer finds equal digests in the messages of all ranks.
func answer(got [][]byte) ([][]byte, error) {
	type digest struct {
		b        []byte // and the id
		rank, at int
	}
	var list []digest
	answers := make([][]byte, len(got))
	for rank, b := range got {
		if len(b)%digestBytes != 0 {
			return nil, errMessage("digests")
		}
		n := len(b) / digestBytes
		answers[rank] = make([]byte, n*answerBytes)
		for at := range n {
			list = append(list, digest{b[at*digestBytes : (at+1)*digestBytes], rank, at})
		}
	}
	id := func(d digest) uint32 { return getUint32(d.b[sha256.Size:]) }
	slices.SortFunc(list, func(a, b digest) int {
		if c := bytes.Compare(a.b[:sha256.Size], b.b[:sha256.Size]); c != 0 {
			return c
		}
		return compareIDs(id(a), id(b))
	})
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && bytes.Equal(list[i].b[:sha256.Size], list[i+n].b[:sha256.Size]) {
			n++
		}
		for _, d := range list[i : i+n] {
			putUint32(answers[d.rank][d.at*answerBytes:d.at*answerBytes], id(list[i]), uint32(n))
		}
		i += n
	}
	return answers, nil
}
