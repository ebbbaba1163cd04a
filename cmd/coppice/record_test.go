package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/record"
	"github.com/coppice-hpc/coppice/trace/recording"
)

// TestRecordUsage has what record refuses before it starts anything; package record has tests with programs.
func TestRecordUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "recording"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		code int
		args []string
		want string
	}{
		{"no folder", jobs.ExitUsage, []string{"record", "--", "mpirun", "true"}, "-o DIR is missing"},
		{"no command", jobs.ExitUsage, []string{"record", "-o", dir}, "no command"},
		{"unknown flag", jobs.ExitUsage, []string{"record", "-o", dir, "--frobnicate", "true"}, "--help"},
		{"bad size", jobs.ExitUsage, []string{"record", "-o", dir, "--max-bytes", "much", "true"}, "max-bytes"},
		{"no MPI", jobs.ExitUsage, []string{"record", "-o", filepath.Join(dir, "x"), "--", "true"}, "statically linked"},
		{"no compiler", jobs.ExitUsage, []string{"record", "-o", filepath.Join(dir, "x"), "--cc", filepath.Join(dir, "cc"), "--", "true"}, "does not work"},
		{"finish with a command", jobs.ExitUsage, []string{"record", "--finish", dir, "--", "true"}, "takes no command"},
		{"finish with an output", jobs.ExitUsage, []string{"record", "--finish", dir, "-o", dir}, "no -o"},
		{"finish of nothing", jobs.ExitInput, []string{"record", "--finish", filepath.Join(dir, "none")}, "no recording"},
		{"finish of no recording", jobs.ExitInput, []string{"record", "--finish", dir}, "no recording"},
	} {
		code, out, errs := call(x.args...)
		if code != x.code || !strings.Contains(errs, x.want) || out != "" {
			t.Errorf("%s: status %d, want %d; %q in %q; %q", x.name, code, x.code, x.want, errs, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a folder was made for a command that was refused")
	}
}

// TestRecorded: the count of recorded processes leaves out those of which nothing is recorded.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]record.Result{
		"a: 4 processes recorded. Next":      {},
		"a: 2 processes of 4 recorded. Next": {Unasked: 2},
		"a: 1 process of 4 recorded. Next":   {Unasked: 1, Unopened: []int{2}, Cut: map[int]string{0: recording.Absent, 1: "killed"}},
		"a: 0 processes of 4 recorded":       {Unasked: 4},
	} {
		r.Archive, r.Processes = "a", 4
		var errs strings.Builder
		if err := concludeRecord(&r, nil, streams{err: &errs, verb: "record"}); !strings.Contains(errs.String(), want) {
			t.Errorf("%v: %q, want %q", err, errs.String(), want)
		}
	}
}

// TestLogRanks names processes by a list, or by the file of an earlier run, whose representatives they are.
func TestLogRanks(t *testing.T) {
	t.Parallel()
	dir := analysed(t, "stencil:procs=6,iterations=4")
	run := analysedAs(t, dir, "classes.xtf", "--classes", "0%")
	var want []int
	doc := jsonOf[struct {
		Classes struct {
			Groups []struct {
				Classes []struct{ Representative int }
			}
		}
	}](t, "report", run, "classes")
	for _, g := range doc.Classes.Groups {
		for _, c := range g.Classes {
			want = append(want, c.Representative)
		}
	}
	if len(want) == 0 {
		t.Fatal("no representatives")
	}
	for _, x := range []struct {
		text  string
		want  []int
		wrong string
	}{
		{"", nil, ""},
		{"0,3", []int{0, 3}, ""},
		{" 7", []int{7}, ""},
		{"5,0-2, 1", []int{0, 1, 2, 5}, ""},
		{"2-1", nil, "neither a list of ranks"},
		{"0-2147483647", nil, "more than 65536"},
		{run, want, ""},
		{filepath.Join(dir, "run.xtf"), nil, "--classes"},
		{"1;2", nil, "neither a list of ranks"},
		{"-1", nil, "neither a list of ranks"},
		{filepath.Join(dir, "traces.otf2"), nil, "--log-ranks"},
	} {
		got, err := logRanks(x.text)
		if !slices.Equal(got, x.want) || (err == nil) != (x.wrong == "") || err != nil && !strings.Contains(err.Error(), x.wrong) {
			t.Errorf("%s: %v, %v", x.text, got, err)
		}
	}
}
