package main

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/coppice-hpc/coppice/mpi"
)

// pattern is how the messages of a segment go.
type pattern uint8

const (
	collective pattern = iota
	climb              // up a binomial tree to rank 0
	groups             // up binomial trees to the first ranks of groups of 16, 256, ... ranks
	hops               // by halves of the ranks
	back               // the same, in the other direction
	shift              // to ranks at fixed distances
	output             // a write to the file
	loose              // depends on time or on what the trace says; see simulated
)

// segment is what all ranks do between two other segments: one collective call, or messages of one pattern. Lists of calls are
// made of segments, so a list for any number of ranks follows from those of a few.
type segment struct {
	stage   string
	pattern pattern
	kind    mpi.OpKind // of a collective
	comm    int
	tag     int
	root    int        // of a collective, -1 for none; of output 0 where rank 0 alone writes
	times   int        // messages along each edge of a tree
	calls   []mpi.Note // of shift: the partner is relative to the rank
	sizes   []sizeLaw  // of a collective: sent and received by the root, then by others; of trees and hops one for each level
	items   int        // of hops whose bytes are known: instances that go by halves, of itemBytes each
}

// itemBytes is the size of a collective instance on its way; see stats.
const itemBytes = 56

// sizeLaw is a number of bytes as it depends on the number of ranks: base + perRank P + perLevel ceil(log2 P).
type sizeLaw struct {
	base, perRank, perLevel int64
	exact                   bool // holds for all numbers of ranks that it was made from
}

func levels(size int) int { return bits.Len(uint(size - 1)) }

func (l sizeLaw) of(size int) int64 {
	return max(0, l.base+l.perRank*int64(size)+l.perLevel*int64(levels(size)))
}

// newSizeLaw finds the law of values at sizes: a constant, a line in the levels, a line in the ranks, or, not exact, the line in
// levels through the last two.
func newSizeLaw(sizes []int, v []int64) sizeLaw {
	k := len(v) - 1
	candidates := []sizeLaw{{base: v[k]}}
	if d := int64(sizes[k] - sizes[k-1]); (v[k]-v[k-1])%d == 0 {
		b := (v[k] - v[k-1]) / d
		candidates = append(candidates, sizeLaw{base: v[k] - b*int64(sizes[k]), perRank: b})
	}
	b := v[k] - v[k-1] // sizes double
	line := sizeLaw{base: v[k] - b*int64(levels(sizes[k])), perLevel: b}
	for _, l := range append(candidates, line) {
		l.exact = true
		for i := range v {
			l.exact = l.exact && l.of(sizes[i]) == v[i]
		}
		if l.exact {
			return l
		}
	}
	return line
}

// Tags that jobs and the packages below it use, and what they are for.
const (
	tagRecords   = 11
	tagPath      = 12
	tagPieces    = 13
	tagCrossing  = 14
	tagCarried   = 15
	tagRows      = 21
	tagThreads   = 31
	tagSends     = 103
	tagReplies   = 104
	tagPartners  = 105
	tagInstances = 106
	tagWhole     = 107
	tagTiles     = 123
	mostTiles    = 8
)

func patternOf(stage string, x mpi.Note) pattern {
	switch {
	case x.Kind.Collective():
		return collective
	case x.Kind == mpi.OpWrite:
		return output
	case x.Tag == tagRecords, x.Tag == tagPath, x.Tag == tagCrossing, x.Tag == tagCarried:
		return loose
	case x.Tag == tagInstances, x.Tag == tagPartners, x.Tag == tagPieces, x.Tag == tagThreads:
		return hops
	case x.Tag == tagWhole:
		return back
	case x.Tag == tagSends, x.Tag == tagReplies:
		return shift
	case x.Tag >= tagTiles && x.Tag < tagTiles+mostTiles:
		return groups
	}
	return climb
}

// sample is the calls of all ranks of one run.
type sample [][]stage

func newSample(all []*recorder) sample {
	s := make(sample, len(all))
	for r := range all {
		s[r] = all[r].stages
	}
	return s
}

// run is consecutive calls of a rank that belong to one segment.
type run struct {
	stage   string
	pattern pattern
	notes   []mpi.Note
}

// runs parts the calls of a rank. Loose ones are left out.
func (s sample) runs(rank int) (list []run) {
	for _, st := range s[rank] {
		open := false
		for _, x := range st.notes {
			p := patternOf(st.name, x)
			if n := len(list) - 1; open && p == list[n].pattern && p != collective && p != output && joins(p, list[n].notes[0], x) {
				list[n].notes = append(list[n].notes, x)
			} else if p != loose {
				list = append(list, run{st.name, p, []mpi.Note{x}})
			}
			open = p != loose
		}
	}
	return list
}

func joins(p pattern, a, b mpi.Note) bool {
	return a.Comm == b.Comm && (a.Tag == b.Tag || p == shift || p == groups)
}

var errShape = errors.New("the calls of the ranks do not have the shape that lists are made of")

// align gives for each run of rank 0 the one of another rank, -1 where rank 0 alone writes to the file.
func align(zero, other []run) ([]int, error) {
	list := make([]int, len(zero))
	j := 0
	for i, x := range zero {
		if j < len(other) && other[j].pattern == x.pattern && other[j].stage == x.stage {
			list[i] = j
			j++
			continue
		}
		if list[i] = -1; x.pattern != output {
			return nil, fmt.Errorf("%w: in stage %s", errShape, x.stage)
		}
	}
	if j < len(other) {
		return nil, fmt.Errorf("%w: in stage %s", errShape, other[j].stage)
	}
	return list, nil
}

// learn finds the segments that runs on so many ranks, each a power of two and twice the one before, are made of.
func learn(samples []sample) ([]segment, error) {
	sizes := make([]int, len(samples))
	zero, last := make([][]run, len(samples)), make([][]run, len(samples))
	at := make([][]int, len(samples))
	for k, s := range samples {
		sizes[k] = len(s)
		zero[k], last[k] = s.runs(0), s.runs(len(s)-1)
		var err error
		if at[k], err = align(zero[k], last[k]); err != nil {
			return nil, err
		}
		if len(zero[k]) != len(zero[0]) {
			return nil, fmt.Errorf("%w: %d segments with %d ranks, %d with %d", errShape, len(zero[0]), sizes[0], len(zero[k]), len(s))
		}
	}
	base := samples[len(samples)-1]
	list := make([]segment, len(zero[0]))
	for i, x := range zero[len(samples)-1] {
		first := x.notes[0]
		g := &list[i]
		*g = segment{stage: x.stage, pattern: x.pattern, kind: first.Kind, comm: first.Comm, tag: first.Tag, root: first.Peer}
		switch x.pattern {
		case collective, output:
			var v [4][]int64
			for k := range samples {
				y := mpi.Note{}
				if at[k][i] >= 0 {
					y = last[k][at[k][i]].notes[0]
				} else {
					g.root = 0
				}
				z := zero[k][i].notes[0]
				for n, bytes := range [...]int64{z.Sent, z.Received, y.Sent, y.Received} {
					v[n] = append(v[n], bytes)
				}
			}
			for _, bytes := range v {
				g.sizes = append(g.sizes, newSizeLaw(sizes, bytes))
			}
		case shift:
			for _, c := range x.notes {
				if 2*c.Peer > len(base) {
					c.Peer -= len(base)
				}
				g.calls = append(g.calls, c)
			}
		}
	}
	return list, learnEdges(base, list)
}

// learnEdges takes the mean bytes of the messages of each distance, 1, 2, 4 and so on, of trees and hops.
func learnEdges(s sample, list []segment) error {
	n := levels(len(s))
	sums := make([][]int64, len(list))
	counts := make([][]int64, len(list))
	for i := range list {
		sums[i], counts[i] = make([]int64, n), make([]int64, n)
	}
	zero := s.runs(0)
	for r := range s {
		own := s.runs(r)
		at, err := align(zero, own)
		if err != nil {
			return err
		}
		for i, j := range at {
			if j < 0 {
				continue
			}
			for _, c := range own[j].notes {
				if c.Kind == mpi.OpSend || c.Kind == mpi.OpIsend {
					k := bits.Len(uint(max(c.Peer-r, r-c.Peer))) - 1
					sums[i][k], counts[i][k] = sums[i][k]+c.Sent, counts[i][k]+1
				}
			}
		}
	}
	for i := range list {
		g := &list[i]
		if g.pattern != climb && g.pattern != groups && g.pattern != hops && g.pattern != back {
			continue
		}
		g.times = len(zero[i].notes) / n
		if g.tag == tagInstances {
			g.items = instances(zero[i].notes, len(s))
		}
		if g.tag == tagWhole {
			g.items = list[i-1].items
		}
		for k := range n {
			g.sizes = append(g.sizes, sizeLaw{base: sums[i][k] / max(counts[i][k], 1)})
		}
		g.rows(n)
	}
	return nil
}

// rows recognises trees whose messages are rows of equal length of each rank of the subtree, and a byte.
func (g *segment) rows(n int) {
	if g.tag != tagRows {
		return
	}
	row := g.sizes[0].base - 1
	for k := range n {
		if g.sizes[k].base != row<<k+1 {
			return
		}
	}
	g.items = int(row)
}

// instances is how many collective instances a round has of which rank 0 gives away all but its own: those that the law of hop gives
// it.
func instances(notes []mpi.Note, size int) int {
	away := 0
	for _, x := range notes {
		away += int(x.Sent) / itemBytes
	}
	n := away
	for n-(n+size-1)/size < away {
		n++
	}
	return n
}
