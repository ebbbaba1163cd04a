package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// crashes are texts that no output may have: whatever the input, no goroutine ends in a panic, no rank meets a race or a deadlock,
// and no error is unforeseen.
var crashes = []string{"panic:", "fatal error:", "DATA RACE", "goroutine ", "this is a bug of coppice", "internal error", "runtime error", "SIGSEGV", "invalid memory address"}

// mostMemory is more than any command needs for inputs of some MB, with the shadow memory of the race detector.
const mostMemory = 3 << 30

// judge asks of a command what holds for all: a documented exit code, no crash, an error in its form, and no files of its own
// left behind.
func (r *round) judge(o outcome) {
	for _, text := range crashes {
		if strings.Contains(o.errs, text) || strings.Contains(o.out, text) {
			r.fail("%s: exit code %d, the output has %q", o, o.code, text)
			return
		}
	}
	if !slices.Contains([]int{0, 1, 2, 3, 4, 5, 75}, o.code) {
		r.fail("%s: exit code %d is not documented", o, o.code)
		return
	}
	if o.peak > mostMemory {
		r.fail("%s: %d MiB of memory", o, o.peak>>20)
	}
	if o.code == 2 || o.code == 3 || o.code == 5 {
		r.judgeError(o)
	}
	if left := leftIn(r.path("tmp")); len(left) > 0 {
		r.fail("%s: exit code %d, left in TMPDIR: %s", o, o.code, strings.Join(left, " "))
		for _, f := range left {
			os.RemoveAll(r.path("tmp", f))
		}
	}
}

// judgeError asks for an error that says what, where, why and what to do: a line "coppice: WHERE: WHAT. DO." that ends the
// error output, and nothing on standard output, except what check found readable.
func (r *round) judgeError(o outcome) {
	if o.out != "" && o.ranks == 0 && o.args[0] != "check" {
		r.fail("%s: exit code %d with text on standard output", o, o.code)
	}
	text := strings.TrimSpace(o.errs)
	at := strings.LastIndex("\n"+text, "\ncoppice: ")
	if at < 0 {
		r.fail("%s: exit code %d without a message", o, o.code)
		return
	}
	message := strings.TrimPrefix(text[at:], "coppice: ")
	if o.ranks > 0 {
		message, _, _ = strings.Cut(message, "\n") // the launcher says something too
	}
	parts := strings.Count(message, ". ") + strings.Count(message, "; ") + strings.Count(message, ": ")
	if o.code == 2 && strings.Contains(message, "--") {
		parts++ // what is wrong with a flag says what to do
	}
	if !strings.HasSuffix(message, ".") && !strings.HasSuffix(message, "?") || parts < 2 || strings.Contains(message, "%!") {
		r.fail("%s: exit code %d, the message has not four parts: %s", o, o.code, clip(message))
	}
}

// leftIn lists a folder.
func leftIn(dir string) (names []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// leftBeside lists files next to an output that belong to work on it.
func leftBeside(output string) []string {
	left, _ := filepath.Glob(output + ".*")
	return left
}

// decode reads the one JSON document that a command printed.
func (r *round) decode(o outcome, v any) bool {
	d := json.NewDecoder(strings.NewReader(o.out))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		r.fail("%s: not JSON: %v", o, err)
		return false
	}
	if d.More() {
		r.fail("%s: more than one JSON document", o)
		return false
	}
	return true
}

// sameFile fails unless a file has these bytes.
func (r *round) sameFile(what, path string, want []byte) {
	b, err := os.ReadFile(path)
	if err != nil {
		r.fail("%s: %v", what, err)
	} else if !bytes.Equal(b, want) {
		r.fail("%s: another file: %d bytes, not %d", what, len(b), len(want))
	}
}
