package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs/analyze"
)

// TestOtherRecorder has EZTrace record planted programs. Its clocks, which differ by tens of milliseconds between processes, are repaired. Then
// its archives give the same verdict as ours: a finding of a kind that is right, with the process that is planted, and in most programs the
// seconds. Their functions it does not have.
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
				if !slices.Contains([]string{"slow_rank.c", "slow_function.c", "small_messages.c", "io_imbalance.c", "late_sender.c", "late_receiver.c", "serial_pipeline.c", "wrong_order.c"}, x.file) {
					continue
				}
				t.Run(x.file, func(t *testing.T) {
					x.compare = strings.HasPrefix(x.file, "late_") || strings.HasPrefix(x.file, "s") && x.kinds[0] != "small_messages"
					program := filepath.Join(folder, strings.TrimSuffix(x.file, ".c"))
					var wrong error
					for range plantedTries {
						file := filepath.Join(t.TempDir(), "run.xtf")
						own := x.run(t, &l, program, file, 0)
						ours := readPlanted(t, file)
						theirs, itsOwn := other(t, func(folder string) []string {
							return l.launch(x.ranks, eztrace, "-t", module+" posixio", "-o", folder, program)
						})
						itsOwn.Function = ""
						if wrong = errors.Join(ours.wrongFinding(&x, &own), theirs.wrongFinding(&x, itsOwn)); wrong != nil {
							continue
						}
						a, _ := ours.finding(&x, &own)
						b, _ := theirs.finding(&x, itsOwn)
						t.Logf("ours: %.160s\ntheirs: %.160s", a.Text, b.Text)
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

// TestOtherThreads is the same for threads, by EZTrace's plug-ins for OMPT and for POSIX threads. The latter takes locks of EZTrace itself for
// the program's, and next to the one for MPI waits for itself in the first call; without that one, a program with MPI has no archive. So
// it has the programs without an MPI library.
func TestOtherThreads(t *testing.T) {
	eztrace, err := exec.LookPath("eztrace")
	if err != nil {
		t.Skip("no eztrace: scripts/setup --test installs it")
	}
	table := plantedTable(t)
	for file, plugIns := range map[string]string{"thread_imbalance.c": "openmpi ompt", "lock.c": "pthread", "posix_barrier.c": "pthread"} {
		t.Run(file, func(t *testing.T) {
			x := table[slices.IndexFunc(table, func(x planted) bool { return x.file == file })]
			x.compare = false // what they do not record is not a loss
			l, source := library{cc: "gcc"}, filepath.Join("..", plantedFolder, file)
			var command func(folder string) []string
			if plugIns == "pthread" {
				program := l.compileProgram(t, source, "-g", "-pthread", "-Itestdata/alone", "-Iinclude")
				command = func(folder string) []string { return []string{eztrace, "-t", plugIns, "-o", folder, program} }
			} else {
				needOMPT(t)
				if l = libraries(t)[0]; strings.Contains(l.cc, "mpich") {
					plugIns = "mpich ompt"
				}
				program := l.clang(t, source, "-g", "-fopenmp", "-Iinclude")
				command = func(folder string) []string {
					return l.launch(x.ranks, eztrace, "-t", plugIns, "-o", folder, program)
				}
			}
			theirs, own := other(t, command)
			if f, err := theirs.finding(&x, own); err != nil {
				t.Error(err)
			} else {
				t.Logf("%.160s", f.Text)
			}
		})
	}
}

// other has a program recorded by another recorder into a folder, and returns what is reported of its archive, and what the program says.
func other(t *testing.T, command func(folder string) []string) (*plantedReport, *plantedCause) {
	t.Helper()
	folder := t.TempDir()
	args := command(folder)
	b, err := exec.Command(args[0], args[1:]...).Output()
	at, own := strings.LastIndex(string(b), "{"), new(plantedCause)
	if err != nil || at < 0 || json.Unmarshal([]byte(strings.SplitN(string(b)[at:], "\n", 2)[0]), own) != nil {
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
	analyse(t, archive, file, func(o *analyze.Options) { o.ClockRepair = true })
	return readPlanted(t, file), own
}
