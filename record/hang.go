package record

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coppice-hpc/coppice/trace/otf2"
)

// mostHangs is how many archives watch makes of one run.
const mostHangs = 8

// watch looks for notes of processes in which no MPI call returns, until done is closed. For each group of notes it makes an archive of the
// recording so far (output/hang-1 and so on) and writes a message to errs. The processes continue.
func watch(output, raw string, errs io.Writer, done <-chan struct{}) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for n := 1; n <= mostHangs; {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if len(hanging(raw)) == 0 {
			continue
		}
		select { // wait for the notes of other processes, which look once a second
		case <-done:
			return
		case <-time.After(2 * time.Second):
		}
		ranks := hanging(raw)
		for _, r := range ranks {
			_ = os.Remove(filepath.Join(raw, strconv.Itoa(r)+".hang"))
		}
		folder := filepath.Join(output, fmt.Sprintf("hang-%d", n))
		n++
		if err := dump(raw, folder); err != nil {
			fmt.Fprintf(errs, "coppice record: the recording so far of a program that hangs: %v\n", err)
			continue
		}
		fmt.Fprintf(errs, "coppice record: no MPI call returns on rank %s: the recording so far is %s\n", strings.ReplaceAll(strings.Trim(fmt.Sprint(ranks), "[]"), " ", ","), filepath.Join(folder, "traces.otf2"))
	}
}

// shared serialises what the command and watch write. An *os.File does not need it.
type shared struct {
	sync.Mutex
	to io.Writer
}

func (w *shared) Write(b []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.to.Write(b)
}

// hanging returns the world ranks of the processes that left a note.
func hanging(raw string) (ranks []int) {
	list, _ := filepath.Glob(filepath.Join(raw, "*.hang"))
	for _, path := range list {
		if r, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".hang")); err == nil {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// dump makes an archive of a recording while its processes continue.
func dump(raw, folder string) error {
	src, err := named(raw, true)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	_, err = otf2.Copy(folder, "traces", src, otf2.Options{})
	return err
}
