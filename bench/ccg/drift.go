package main

import (
	"fmt"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/trace"
)

// drift adds up how far stored time stamps are from the original ones.
type drift struct {
	largest, sum, events uint64 // ticks, ticks
}

// add expands a location next to its source. Kinds and references must agree,
// event for event: a deviation concerns times alone.
func (d *drift) add(src trace.Source, l *ccg.Location) error {
	x := l.Expand()
	defer x.Close()
	var got trace.Batch
	at := 0
	return each(src, l.P(), func(want *trace.Batch) error {
		for i := range want.Events {
			if at == len(got.Events) {
				if err := x.Next(&got); err != nil {
					return fmt.Errorf("event %d: %w", want.First+uint64(i), err)
				}
				at = 0
			}
			w, g := &want.Events[i], &got.Events[at]
			if w.Kind != g.Kind || w.Ref != g.Ref {
				return fmt.Errorf("event %d is %v %d, want %v %d", want.First+uint64(i), g.Kind, g.Ref, w.Kind, w.Ref)
			}
			off := uint64(max(w.Time, g.Time) - min(w.Time, g.Time))
			d.largest = max(d.largest, off)
			d.sum += off
			d.events++
			at++
		}
		return nil
	})
}

// mean returns the mean error in ticks.
func (d *drift) mean() float64 {
	if d.events == 0 {
		return 0
	}
	return float64(d.sum) / float64(d.events)
}
