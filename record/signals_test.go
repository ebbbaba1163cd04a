package record

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSignals has programs that a signal ends, or an error of MPI: it is the first finding, with the process and the line that the program
// wrote down just before, and the launcher's status is what it is without the recorder. One that the program takes is none.
func TestSignals(t *testing.T) {
	t.Parallel()
	const segmentation = `signal SIGSEGV \(segmentation fault\)`
	for _, l := range libraries(t) {
		program := l.compileProgram(t, "signals.c", "-g", "-O0")
		for _, x := range []struct {
			how, what string // a regular expression
			in, to    string // functions: which has the line; a regular expression of what it called there
		}{
			{"null", segmentation, "raises", ""},
			{"jump", segmentation, "raises", ""},
			{"abort", `signal SIGABRT \(abort\)`, "raises", " > .*abort.*"},
			{"call", segmentation, "raises", " > MPI_Send.*"},
			{"stack", segmentation, "deeper", "( > .*)?"},
			{"thread", segmentation, "thread", ""},
			{"rank", `MPI error "(MPI_ERR_RANK: invalid|Invalid) rank"`, "raises", " > MPI_Send"},
			{"truncated", `MPI error "(MPI_ERR_TRUNCATE: message|Message) truncated"`, "raises", " > MPI_Wait"},
			{how: "returned"},
			{how: "handled"},
			{how: "survived"},
		} {
			t.Run(l.cc+"/"+x.how, func(t *testing.T) {
				lines := filepath.Join(t.TempDir(), "lines")
				command, status := noting(t, l.launch(2, program, x.how, lines))
				r, _, errs := l.runRecorded(t, Options{Command: command, Sites: 1})
				if want := status(); r.Exit != want || want == 0 {
					t.Errorf("status %d, the launcher's is %d: %s", r.Exit, want, errs)
				}
				file := filepath.Join(t.TempDir(), "run.xtf")
				analyse(t, r.Archive, file)
				first := readPlanted(t, file).Findings[0]
				if x.what == "" {
					if first.Kind != "hang" || strings.Contains(first.Text, "by signal") || strings.Contains(first.Text, "MPI error") {
						t.Errorf("%s: %s", first.Kind, first.Text)
					}
					return
				}
				b, err := os.ReadFile(lines)
				if err != nil {
					t.Fatal(err)
				}
				line, _, _ := strings.Cut(string(b), "\n")
				place := fmt.Sprintf("%s (signals.c:%s)", x.in, line)
				want := "^ended without MPI_Finalize: rank 1 by " + x.what + " in " + regexp.QuoteMeta(place)
				if first.Kind != "abort" || !regexp.MustCompile(want+x.to+"; calls that never returned: rank 0 in MPI_Recv").MatchString(first.Text) || !strings.HasPrefix(first.Where.Place, "signals.c:"+line) {
					t.Errorf("%s: %s, at %q instead of %s", first.Kind, first.Text, first.Where.Place, place)
				}
			})
		}
	}
}
