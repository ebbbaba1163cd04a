package extract_test

import (
	"context"
	"fmt"

	"github.com/coppice-hpc/coppice/predict/pipeline/extract"
)

// Two processes on their own nodes, of which one sends three chunks to the other.
func ExampleModel() {
	run := &extract.Run{Input: "example", Ranks: []extract.Rank{{Node: "a", End: 3}, {Node: "b", End: 9}}}
	for i := range uint64(3) {
		sent, received := float64(i+1), float64(1+2*i)
		run.Ranks[0].Messages = append(run.Ranks[0].Messages, extract.Message{Peer: 1, Send: true, Begin: sent, End: sent, Bytes: 8, Row: i, Mate: i})
		run.Ranks[1].Messages = append(run.Ranks[1].Messages, extract.Message{Peer: 0, Begin: received, End: received, Bytes: 8, Row: i, Mate: i})
	}
	r, err := extract.Model(context.Background(), []*extract.Run{run}, extract.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Form, "of", len(r.Stages), "stages,", r.Stages[0].Chunks, "chunks")
	// Output: pipeline of 2 stages, 3 chunks
}
