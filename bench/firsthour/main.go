// Command firsthour keeps docs/first-hour.md true: it runs the session that the document shows.
//
//	firsthour            runs all commands, writes what they print and the pictures into the document
//	firsthour --check    runs all commands: exit status 1 where one fails, and a note where what it prints has another shape
//
// Commands are lines that begin with "$ " in blocks of ```console; what follows a command up to the next one is its standard
// output. They run in one folder, one after another. A picture is an image after a comment that says of what:
//
//	<!-- picture 1000x700 report.html#waits -->
//	<!-- picture 1280x800 serve run.xtf#t=1s..2s -->
//	![what it shows](images/NAME.png)
//
// The shape of an output are its words without numbers. Times differ from run to run, and with them the order of a table's
// lines and what is worth a sentence; so most words should be the same, in any order. On a busy machine they may not be, so
// that alone is not a failure.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// sameWords is the part of an output whose words have to be those of the document, in per cent.
const sameWords = 65

func main() {
	check := flag.Bool("check", false, "run and compare, and write nothing")
	document := flag.String("document", "docs/first-hour.md", "the document")
	folder := flag.String("folder", "out/first-hour", "where the commands run; it is emptied first")
	flag.Parse()
	if err := run(*document, *folder, *check); err != nil {
		fmt.Fprintln(os.Stderr, "firsthour:", err)
		os.Exit(1)
	}
}

func run(document, folder string, check bool) error {
	b, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o777)); err != nil {
		return err
	}
	s := &session{folder: folder, images: filepath.Dir(document), check: check}
	lines, err := s.play(strings.Split(string(b), "\n"))
	if err != nil || check {
		return err
	}
	return os.WriteFile(document, []byte(strings.Join(lines, "\n")), 0o666)
}

// session runs the commands of a document.
type session struct {
	folder string // of the commands
	images string // that names of pictures are relative to
	check  bool
}

// play runs what the lines of a document say and returns them with new outputs.
func (s *session) play(lines []string) ([]string, error) {
	var out []string
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		switch {
		case lines[i] == "```console":
			end := i + 1
			for end < len(lines) && lines[end] != "```" {
				end++
			}
			block, err := s.block(lines[i+1 : end])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+2, err)
			}
			out = append(out, block...)
			i = end - 1
		case strings.HasPrefix(lines[i], "<!-- picture ") && !s.check:
			if i+1 == len(lines) {
				return nil, fmt.Errorf("line %d: an image has to follow", i+1)
			}
			if err := s.picture(lines[i], lines[i+1]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	return out, nil
}

// block runs the commands of a block.
func (s *session) block(lines []string) ([]string, error) {
	var out []string
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			return nil, fmt.Errorf("a command has to begin the block: %q", lines[i])
		}
		end := i + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], "$ ") {
			end++
		}
		fmt.Fprintln(os.Stderr, lines[i])
		text, err := s.command(command)
		if err != nil {
			return nil, err
		}
		got := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if text == "" {
			got = nil
		}
		if err := alike(lines[i+1:end], got); s.check && err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", command, err)
		}
		out = append(append(out, lines[i]), got...)
		i = end
	}
	return out, nil
}

// command runs a command and returns its standard output. Exit status 1 is a finding and is after it.
func (s *session) command(text string) (string, error) {
	c := exec.Command("bash", "-c", text)
	c.Dir = s.folder
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.String(), nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return out.String() + errs.String(), nil
	}
	return "", fmt.Errorf("%s: %w\n%s%s", text, err, out.String(), errs.String())
}

var numbers = regexp.MustCompile(`[-+]?[0-9][0-9 .]*([µmn]?s\b|%|[kMGT]?B\b)?`)

// words are those of an output, without numbers.
func words(lines []string) []string {
	return strings.Fields(numbers.ReplaceAllString(strings.Join(lines, " "), " "))
}

// alike reports how two outputs differ, if it is by more than numbers and the order of lines.
func alike(want, got []string) error {
	before, now := words(want), words(got)
	count := map[string]int{}
	for _, w := range before {
		count[w]++
	}
	same := 0
	first := ""
	for _, w := range now {
		if count[w] > 0 {
			count[w]--
			same++
		} else if first == "" {
			first = w
		}
	}
	if n := max(len(before), len(now)); 100*same < sameWords*n {
		return fmt.Errorf("%d of %d words are as in the document, which has %d; new is for example %q. scripts/first-hour writes them anew", same, len(now), len(before), first)
	}
	return nil
}
