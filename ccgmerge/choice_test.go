package ccgmerge

import (
	"errors"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/build"
	"github.com/coppice-hpc/coppice/mpi"
)

// blank is counts of nothing.
type blank struct{}

func (blank) AppendBinary(dst []byte) ([]byte, error) { return append(dst, 1), nil }

// TestChoiceFails: where one step fails on one rank, every rank returns, with an
// error; none waits for a broadcast that does not come.
func TestChoiceFails(t *testing.T) {
	broken := errors.New("broken")
	for _, step := range []string{"open", "merge", "decide"} {
		t.Run(step, func(t *testing.T) {
			fail := func(s string) error {
				if s == step {
					return broken
				}
				return nil
			}
			left := make([]bool, 5)
			err := mpi.RunInProcess(len(left), func(c mpi.Comm) error {
				var largest uint64
				blanks := choice[blank]{
					add:     func(*build.Local) error { return nil },
					open:    func([]byte) (blank, error) { return blank{}, fail("open") },
					merge:   func(_, _ blank) error { return fail("merge") },
					decide:  func(blank) ([]byte, error) { return []byte{1}, fail("decide") },
					largest: &largest,
				}
				_, err := blanks.of(&reduction{c: c, locals: slice(nil)}, blank{})
				left[c.Rank()] = err != nil
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for rank, ok := range left {
				if !ok {
					t.Errorf("rank %d has no error", rank)
				}
			}
		})
	}
}
