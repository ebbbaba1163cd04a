package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// row is one comparison.
type row struct {
	section, what, peer string
	own, other          string // figures in unit, or "-"
	unit                string
	ratio               string // how many times better coppice is, or "-"
	note                string
}

func (r row) skipped() bool { return strings.HasPrefix(r.note, "skipped: ") }

// peer is a tool that was measured.
type peer struct{ name, version string }

// result is what a section's script printed.
type result struct {
	section
	rows  []row
	peers []peer
	took  time.Duration
	load  string // load average before
	err   error
}

// measure runs the script of a section. What it printed until an error counts.
func measure(c config, s section) result {
	r := result{section: s, load: loadAverage()}
	script := filepath.Join("bench", "sections", s.name+".sh")
	fmt.Fprintf(os.Stderr, "== %s: %s\n", s.name, s.what)
	begin := time.Now()
	out, err := execute(c, script)
	r.took = time.Since(begin)
	if e := os.WriteFile(filepath.Join(c.out, s.name+".tsv"), out, 0o644); err == nil {
		err = e
	}
	rows, peers, e := parse(s.name, string(out))
	if err == nil {
		err = e
	}
	r.rows, r.peers, r.err = rows, peers, err
	fmt.Fprintf(os.Stderr, "-- %s: %d rows, %.0f s\n", s.name, len(rows), r.took.Seconds())
	return r
}

// execute runs a script and returns its standard output.
func execute(c config, script string) ([]byte, error) {
	work, err := os.MkdirTemp("", "coppice-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	cmd := exec.Command(script)
	cmd.Env = os.Environ()
	for _, v := range []struct{ name, path string }{{"COPPICE", coppice}, {"BENCH_WORK", work}, {"BENCH_TRACES", c.traces}, {"BENCH_PEERS", c.peers}} {
		path, err := filepath.Abs(v.path)
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, v.name+"="+path)
	}
	quick := ""
	if c.quick {
		quick = "1"
	}
	cmd.Env = append(cmd.Env, "BENCH_QUICK="+quick)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err = cmd.Run()
	return out.Bytes(), err
}

// parse reads what a script printed. Rows of another section, or with figures that are not numbers, are errors.
func parse(name, text string) (rows []row, peers []peer, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		f := strings.Split(line, "\t")
		switch {
		case f[0] == "peer" && len(f) == 3:
			peers = append(peers, peer{f[1], f[2]})
			continue
		case f[0] != name || len(f) != 8:
			return rows, peers, fmt.Errorf("not a row: %q", line)
		}
		for _, figure := range []string{f[3], f[4], f[6]} {
			if _, e := strconv.ParseFloat(figure, 64); e != nil && figure != "-" {
				return rows, peers, fmt.Errorf("%q is not a number, in %q", figure, line)
			}
		}
		rows = append(rows, row{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]})
	}
	if len(rows) == 0 {
		err = fmt.Errorf("no rows")
	}
	return rows, peers, err
}
