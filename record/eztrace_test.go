package record

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOtherRecorder has EZTrace record planted programs. Its archives give the same verdict as ours: a first finding of a kind that is
// right, with the process that is planted. Of its clocks, which differ by tens of milliseconds between processes, these programs are free.
func TestOtherRecorder(t *testing.T) {
	eztrace, err := exec.LookPath("eztrace")
	if err != nil {
		t.Skip("no eztrace: scripts/setup --test installs it")
	}
	table := plantedTable(t)
	for _, l := range libraries(t) {
		t.Run(l.cc, func(t *testing.T) {
			module := "openmpi"
			if strings.Contains(l.cc, "mpich") {
				module = "mpich"
			}
			folder := l.makeExamples(t, plantedFolder)
			for _, x := range table {
				if !slices.Contains([]string{"slow_rank.c", "slow_function.c", "small_messages.c", "io_imbalance.c"}, x.file) {
					continue
				}
				t.Run(x.file, func(t *testing.T) {
					x.compare = false // seconds are those of its clocks
					program := filepath.Join(folder, strings.TrimSuffix(x.file, ".c"))
					var wrong error
					for range plantedTries {
						file := filepath.Join(t.TempDir(), "run.xtf")
						own := x.run(t, &l, program, file, 0)
						ours := readPlanted(t, file)
						theirs := x.other(t, &l, []string{eztrace, "-t", module + " posixio"}, program)
						if wrong = theirs.wrongFinding(&x, &own); wrong != nil {
							continue
						}
						a, b := ours.Findings[0], theirs.Findings[0]
						t.Logf("ours: %.160s\ntheirs: %.160s", a.Text, b.Text)
						if wrong = ours.wrongFinding(&x, &own); wrong != nil {
							continue
						}
						if x.kinds[0] == "imbalance" && !strings.Contains(b.Text, fmt.Sprintf("rank %d computes", own.Process)) {
							t.Errorf("process %d is planted: %s", own.Process, b.Text)
						}
						break
					}
					if wrong != nil {
						t.Error(wrong)
					}
				})
			}
		})
	}
}

// other records a program with another recorder, and returns what is reported of its archive.
func (x *planted) other(t *testing.T, l *library, recorder []string, program string) *plantedReport {
	t.Helper()
	folder := t.TempDir()
	args := l.launch(x.ranks, slices.Concat(recorder, []string{"-o", folder, program})...)
	b, err := exec.Command(args[0], args[1:]...).Output()
	at := strings.LastIndex(string(b), "{")
	if err != nil || at < 0 || json.Unmarshal([]byte(strings.SplitN(string(b)[at:], "\n", 2)[0]), new(plantedCause)) != nil {
		t.Fatalf("%v: %v\n%s", args, err, b)
	}
	var archive string
	err = filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".otf2") {
			archive = path
		}
		return err
	})
	if err != nil || archive == "" {
		t.Fatalf("%v left no archive: %v", args, err)
	}
	file := filepath.Join(folder, "run.xtf")
	analyse(t, archive, file)
	return readPlanted(t, file)
}
