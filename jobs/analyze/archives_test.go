package analyze_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/oracle"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
)

// archiveFiles are the files of real archives, by path: several tests read the same.
var archiveFiles sync.Map

// archiveFile is the file that three ranks make of an archive. TestRealTraces compares it with that of one rank.
func archiveFile(t *testing.T, path string, src trace.Source) []byte {
	t.Helper()
	made, _ := archiveFiles.LoadOrStore(path, &struct {
		sync.Mutex
		b []byte
	}{})
	x := made.(*struct {
		sync.Mutex
		b []byte
	})
	x.Lock()
	defer x.Unlock()
	if x.b == nil {
		x.b = analyzed(t, 3, analyze.Options{Source: src, StoreBytes: 1 << 20})
	}
	return x.b
}

// TestRealTraces compares the file of each real archive with the oracle; of small archives once more with slices.
func TestRealTraces(t *testing.T) {
	for i, path := range jobtest.Archives(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			n := jobtest.Announced(t, src)
			if testing.Short() && n > 30_000 {
				t.Skip("a large one, left out with -short")
			}
			file := archiveFile(t, path, src)
			want := checkRows(t, src, file)
			if testing.Short() && n > 20_000 {
				return
			}
			compareWithOracle(t, want, file)
			if n < 20_000 {
				compareSlices(t, src, 1+i%4)
			}
		})
	}
}

// compareSlices compares a trace cut into slices with the oracle.
func compareSlices(t *testing.T, src trace.Source, ranks int) {
	var list []oracle.Slice
	width := max(src.Definitions().Clock().TraceLength/10, 1000)
	for k := range uint64(20) {
		list = append(list, oracle.Slice{Key: oracle.Key{ID: k, Name: "slice"}, Begin: k * width, End: (k + 1) * width})
	}
	f := interval.Flags{Slice: interval.Length{N: width, Ticks: true}.String(), Init: "exclude"}
	checkAgainstOracle(t, src, analyze.Options{Intervals: f}, oracle.Options{Slices: list, ExcludeInit: true}, ranks)
}
