package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coppice-hpc/coppice/jobs"
)

// TestServeOpen: the browser gets the address that is printed; without one the server says so and serves.
func TestServeOpen(t *testing.T) {
	run := filepath.Join(analysed(t, "stencil:procs=3,events=3k"), "run.xtf")
	pipe := filepath.Join(t.TempDir(), "pipe")
	browser := pipe + ".sh"
	err := syscall.Mkfifo(pipe, 0o600)
	if err == nil {
		err = os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >"+pipe+"\n"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", browser)
	got := make(chan string)
	go func() {
		b, _ := os.ReadFile(pipe) // until the browser has written
		got <- string(b)
	}()
	serve := []string{"serve", run, "--open", "--listen", "127.0.0.1:0", "--idle", "10ms"}
	out := must(t, serve...)
	if address := <-got; !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(out, address) {
		t.Errorf("the browser got %q of\n%s", address, out)
	}
	t.Setenv("BROWSER", "")
	t.Setenv("PATH", "")
	if code, _, errs := call(serve...); code != jobs.ExitDone || !strings.Contains(errs, "Set BROWSER") {
		t.Errorf("without a browser: exit code %d: %s", code, errs)
	}
}

// TestServeUsage: what cannot be served is said before anything listens.
func TestServeUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.xtf")
	if err := os.WriteFile(file, []byte("no run"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want int
		text string
	}{
		{"no file", nil, jobs.ExitUsage, "operands"},
		{"too many files", []string{file, file, file}, jobs.ExitUsage, "operands"},
		{"little memory", []string{file, "--mem", "1M"}, jobs.ExitUsage, "--mem"},
		{"no run", []string{file}, jobs.ExitInput, "run.xtf"},
		{"absent", []string{file + "x"}, jobs.ExitInput, "run.xtfx"},
	} {
		code, out, errs := call(append([]string{"serve"}, c.args...)...)
		if code != c.want || !strings.Contains(errs, c.text) || out != "" {
			t.Errorf("%s: exit code %d, want %d: %s%s", c.name, code, c.want, out, errs)
		}
	}
}
