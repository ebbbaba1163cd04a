package record

import "testing"

// TestReplayLibrary makes the replaying library for every MPI library there is.
func TestReplayLibrary(t *testing.T) {
	for _, cc := range compilers(t) {
		t.Run(cc, func(t *testing.T) {
			if _, err := ReplayLibrary(t.Context(), cc, t.TempDir()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
