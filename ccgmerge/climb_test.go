package ccgmerge

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/mpi"
)

// numbers is a table of numbers below 256, one to a message, and its own receiver.
type numbers struct {
	list   []byte
	refuse bool // fails with the first number
	added  int  // calls of Add
}

var errRefused = errors.New("refused")

func (n *numbers) Len() int { return len(n.list) }

func (n *numbers) Parts(int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, v := range n.list {
			if !yield([]byte{v}) {
				return
			}
		}
	}
}

func (n *numbers) Receive() *numbersReceiver { return &numbersReceiver{table: n} }

type numbersReceiver struct {
	table *numbers
	count int
}

func (r *numbersReceiver) Len() int { return r.count }

// Close finds that something is missing, where nothing came.
func (r *numbersReceiver) Close() error {
	if r.count == 0 {
		return errRefused
	}
	return nil
}

func (r *numbersReceiver) Add(msg []byte) error {
	r.table.added++
	if r.table.refuse {
		return errRefused
	}
	r.count += len(msg)
	for _, v := range msg {
		if !slices.Contains(r.table.list, v) {
			r.table.list = append(r.table.list, v)
		}
	}
	return nil
}

// TestClimbLevels climbs with 5 ranks, each with its own number and one that all have. A table of k numbers goes in k messages of 2 bytes,
// and one of 1 byte: 2k + 1 bytes. Rank 1 sends 2 to rank 0 and rank 3 sends 2 to rank 2, of each of which 1 is new; then rank 2 sends
// 3, of which 2 are new, and rank 4, to whom nobody sends, 2 on the third level.
func TestClimbLevels(t *testing.T) {
	leaf, inner := Level{Messages: 3, Bytes: 5, Nodes: 2, New: 1}, Level{Messages: 4, Bytes: 7, Nodes: 3, New: 2}
	want := [][]Level{{leaf, inner, leaf}, {{}}, {leaf, {}}, {{}}, {{}, {}, {}}}
	tables := make([]numbers, len(want))
	levels := make([][]Level, len(want))
	err := mpi.RunInProcess(len(want), func(c mpi.Comm) error {
		r := &reduction{c: c}
		x := &tables[c.Rank()]
		x.list = []byte{byte(c.Rank()), 100}
		var err error
		levels[c.Rank()], err = climb(r, x, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for rank := range want {
		if !slices.Equal(levels[rank], want[rank]) {
			t.Errorf("rank %d: levels %+v, want %+v", rank, levels[rank], want[rank])
		}
	}
	if slices.Sort(tables[0].list); !slices.Equal(tables[0].list, []byte{0, 1, 2, 3, 4, 100}) {
		t.Errorf("rank 0 has %d", tables[0].list)
	}
}

// TestClimbFails lets a rank of 4 refuse what it gets: it takes all messages, adds no more, and tells the rank below in one message
// of one byte. That one goes on without it, and has no error of its own.
func TestClimbFails(t *testing.T) {
	var tables [4]numbers
	var levels [4][]Level
	var failed [4]error
	err := mpi.RunInProcess(4, func(c mpi.Comm) error {
		r := &reduction{c: c}
		x := &tables[c.Rank()]
		x.list, x.refuse = []byte{byte(c.Rank()), 100}, c.Rank() == 2
		levels[c.Rank()], failed[c.Rank()] = climb(r, x, nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for rank, want := range []error{nil, nil, errRefused, nil} {
		if !errors.Is(failed[rank], want) {
			t.Errorf("rank %d: %v, want %v", rank, failed[rank], want)
		}
	}
	if got, want := fmt.Sprint(levels[0]), fmt.Sprint([]Level{{3, 5, 2, 1}, {1, 1, 0, 0}}); got != want {
		t.Errorf("rank 0: %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(levels[2]), fmt.Sprint([]Level{{3, 5, 0, 0}, {}}); got != want || tables[2].added != 1 {
		t.Errorf("rank 2: %s, want %s, %d added", got, want, tables[2].added)
	}
}
