package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAlike(t *testing.T) {
	for _, x := range []struct {
		name      string
		want, got string
		same      bool
	}{
		{"numbers", "time 1.250 s, 12 % of 3 runs", "time 99.1 ms, 7 % of 4 runs", true},
		{"order and width", "MPI_Init   1\nMPI_Send 2", "MPI_Send 3\nMPI_Init 4", true},
		{"nothing", "", "", true},
		{"another text", "late sender 1.2 s caused by rank 3", "no process waits", false},
		{"more text", "one line", "one line and a lot more that was not there before", false},
		{"less text", "one line and a lot more that was there before", "one line", false},
	} {
		if err := alike(strings.Split(x.want, "\n"), strings.Split(x.got, "\n")); (err == nil) != x.same {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

func TestPlay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("first\nsecond\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	text := "# Title\n\n```console\n$ cat a\nold\n$ true\n$ echo 7 words; exit 1\n```\nend\n"
	s := &session{folder: dir}
	out, err := s.play(strings.Split(text, "\n"))
	want := "# Title\n\n```console\n$ cat a\nfirst\nsecond\n$ true\n$ echo 7 words; exit 1\n7 words\n```\nend\n"
	if got := strings.Join(out, "\n"); err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	s.check = true
	if _, err := s.play(strings.Split(want, "\n")); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"```console\nno command\n```", "```console\n$ exit 2\n```"} {
		if _, err := s.play(strings.Split(bad, "\n")); err == nil {
			t.Errorf("no error: %q", bad)
		}
	}
}
