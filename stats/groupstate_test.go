package stats

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/trace"
)

// states returns the tables of a small run and the states of its first location before each event at which there is one.
func states(tb testing.TB) (*Tables, [][]byte) {
	o, err := synthetic.ParseOptions("irregular:procs=3,events=600,io,depth=5,seed=4")
	if err != nil {
		tb.Fatal(err)
	}
	src, err := synthetic.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tables := NewTables(src.Definitions(), 0)
	l := NewLoader(tables, 0, Outputs{Counts: true})
	stream, err := src.Stream(0)
	if err != nil {
		tb.Fatal(err)
	}
	var list [][]byte
	var b trace.Batch
	for i := range stream.Chunks() {
		r, err := stream.Chunk(i)
		if err != nil {
			tb.Fatal(err)
		}
		for err = r.Next(&b); err == nil; err = r.Next(&b) {
			for all := b.Events; len(all) > 0; all = all[1:] {
				if l.Quiet() {
					list = append(list, l.State().Bytes())
				}
				b.Events = all[:1]
				if err := l.Add(&b); err != nil {
					tb.Fatal(err)
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			tb.Fatal(err)
		}
	}
	return tables, list
}

// TestState takes each state up and gives it again.
func TestState(t *testing.T) {
	tables, list := states(t)
	if len(list) < 50 {
		t.Fatalf("only %d states", len(list))
	}
	for i, b := range list {
		s, err := ParseState(b)
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewGroupLoader(tables, 0, Outputs{Counts: true}, s)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(l.State().Bytes(), b) {
			t.Fatalf("state %d changes", i)
		}
	}
}

// FuzzState takes up any bytes: what is taken is given again.
func FuzzState(f *testing.F) {
	tables, list := states(f)
	for i := 0; i < len(list); i += 20 {
		f.Add(list[i])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseState(b)
		if err != nil {
			return
		}
		l, err := NewGroupLoader(tables, 0, Outputs{Counts: true}, s)
		if err != nil {
			return
		}
		again, err := NewGroupLoader(tables, 0, Outputs{Counts: true}, l.State())
		if err != nil || !bytes.Equal(again.State().Bytes(), l.State().Bytes()) {
			t.Fatalf("not the same again: %v", err)
		}
	})
}
