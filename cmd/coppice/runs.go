package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/xtf"
)

// openRuns are the runs that a verb reads; they are closed when it has ended. It is safe for concurrent use.
type openRuns struct {
	lock sync.Mutex
	list []*report.Run
}

// open opens a run for a verb that reads one.
func (o *openRuns) open(path string) (*report.Run, error) {
	r, err := report.Open(path, xtf.Options{})
	if err != nil {
		return nil, readError(path, err)
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	o.list = append(o.list, r)
	return r, nil
}

// about writes a document about a run in JSON: what all documents tell of it, then the value under its key.
func about(w io.Writer, run *report.Run, key string, v json.Marshaler) error {
	e, brief, err := aboutOf(run)
	if err != nil {
		return readError(run.Path, err)
	}
	return e.WriteJSON(w, brief, key, v)
}

// aboutOf reads what all documents tell of a run.
func aboutOf(run *report.Run) (report.Envelope, *report.Brief, error) {
	e, err := run.Envelope()
	if err != nil {
		return e, nil, err
	}
	brief, err := run.Brief()
	return e, brief, err
}

// close closes the runs of a verb that ended with err. Where a part of one could not be read and the verb went on without, its result
// is partial: no other place decides so, for any verb and format.
func (o *openRuns) close(err error) error {
	var paths []string
	var first string
	locations, whole := 0, 0
	for _, r := range o.list {
		lost := r.Left()
		for i := range lost {
			if lost[i].WholeRun {
				whole++
			} else {
				locations++
			}
		}
		if len(lost) > 0 {
			paths = append(paths, r.Path)
			first = cmp.Or(first, lost[0].Error)
		}
		r.Close() // it was read only: nothing to lose
	}
	if code := jobs.ExitCode(err); len(paths) == 0 || code != jobs.ExitDone && code != jobs.ExitFound {
		return err
	}
	var parts []string
	if locations > 0 {
		parts = append(parts, report.Plural(locations, "location"))
	}
	if whole > 0 {
		parts = append(parts, "a part about the whole run")
	}
	return jobs.Fail(jobs.ExitPartial, fmt.Errorf("%s: the file is damaged, the result leaves %s out: %s. Copy the file again or analyze the trace again; coppice check %s tells what is still sound",
		strings.Join(paths, ", "), strings.Join(parts, " and "), first, paths[0]))
}
