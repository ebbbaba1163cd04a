package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
)

// TestMerge compares the merge with a stable sort, for few and many locations, many equal times, and times further apart than a key can
// hold.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	type event struct {
		at uint64
		id uint64 // of the location
		n  uint64 // number in the run, as the event's request
	}
	for round := range 120 {
		n := []int{0, 1, 2, 3, 5, 8, 17, 40}[round%8]
		var definitions, events strings.Builder
		var want []event
		step := uint64(1) << []int{0, 2, 20, 57}[r.IntN(4)]
		for i, id := range r.Perm(n) {
			fmt.Fprintf(&definitions, "LOCATION self=%d\n", id)
			at := r.Uint64N(step + 1)
			for range r.IntN(600) {
				if r.IntN(3) > 0 {
					at = max(at, at+r.Uint64N(step)/uint64(1+r.IntN(100)))
				}
				want = append(want, event{at, uint64(i), uint64(len(want))})
				fmt.Fprintf(&events, "%d %d MPI_ISEND_COMPLETE %d\n", i, at, len(want)-1)
			}
		}
		src, err := tracetest.Parse("-- definitions --\n" + definitions.String() + "-- events --\n" + events.String())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want { // locations may be in another order than their definitions
			want[i].id = src.Definitions().Location(trace.P(want[i].id)).Ref
		}
		slices.SortStableFunc(want, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
		m, err := Merge(src)
		if err != nil {
			t.Fatal(err)
		}
		var got []event
		var runs []Run
		for runs, err = m.Next(); err == nil; runs, err = m.Next() {
			for _, x := range runs {
				for _, e := range x.Batch.Events[x.From:x.To] {
					got = append(got, event{uint64(e.Time), src.Definitions().Location(x.P).Ref, x.Batch.Words(&e)[0]})
				}
			}
		}
		if !errors.Is(err, io.EOF) || m.Close() != nil || !slices.Equal(got, want) {
			t.Fatalf("%d locations: %d events, want %d in the order of times and locations: %v", n, len(got), len(want), err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	var text strings.Builder
	text.WriteString("-- program --\nprocesses 64\n-- events --\n")
	for i := range 200_000 {
		fmt.Fprintf(&text, "%d %d MPI_ISEND_COMPLETE %d\n", i%64, i, i)
	}
	src, err := tracetest.Parse(text.String())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m, err := Merge(src)
		for err == nil {
			_, err = m.Next()
		}
		if !errors.Is(err, io.EOF) || m.Close() != nil {
			b.Fatal(err)
		}
	}
}
