package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/jobs"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/trace/receivelog"
)

// logInfo is what info tells of a receive log.
type logInfo struct {
	Kind      string        `json:"kind"`
	Library   string        `json:"mpi_library"`
	Rank      int           `json:"rank"`
	Size      int           `json:"size"`
	Host      string        `json:"host"`
	Program   string        `json:"program"`
	Arguments []string      `json:"arguments"`
	Calls     uint64        `json:"calls"`
	Payload   uint64        `json:"payload_bytes"`
	Stored    uint64        `json:"stored_payload_bytes"`
	Bytes     int64         `json:"bytes"`
	Wtime     bool          `json:"wtime"`
	Complete  bool          `json:"complete"`
	End       string        `json:"end"`
	Unlogged  uint64        `json:"receives_without_data"`
	Refused   []string      `json:"not_replayable"`
	Functions []logFunction `json:"functions"`
}

type logFunction struct {
	Name    string `json:"name"`
	Calls   uint64 `json:"calls"`
	Payload uint64 `json:"payload_bytes"`
}

// openLog reads a receive log to its end.
func openLog(path string) (*logInfo, error) {
	r, err := receivelog.OpenPath(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s, err := receivelog.Summarise(r)
	if err != nil {
		return nil, err
	}
	h := s.Header
	x := &logInfo{
		Kind: "receive_log", Library: h.Library, Rank: h.Rank, Size: h.Size, Host: h.Host, Program: h.Program, Arguments: h.Args,
		Calls: s.Calls, Payload: s.Payload, Stored: s.Stored, Bytes: r.Size(), Wtime: h.Wtime, End: "cut: the process was killed, or the disk was full",
		Refused: append([]string{}, s.Refused...), Functions: []logFunction{},
	}
	if s.End != nil {
		x.Complete, x.End, x.Unlogged = s.End.Reason.Whole(), s.End.Reason.String(), s.End.Unlogged
	}
	for _, c := range s.Functions {
		x.Functions = append(x.Functions, logFunction{"MPI_" + c.Name, c.Calls, c.Payload})
	}
	return x, nil
}

func infoLog(path string, o *output, s streams) error {
	x, err := openLog(path)
	if err != nil {
		return jobs.Fail(jobs.ExitInput, fmt.Errorf("%s: %w", path, err))
	}
	return o.write(s, func(w io.Writer) error {
		if o.format == "json" {
			e := report.Envelope{}
			return e.WriteJSON(w, &report.Brief{}, "info", report.Value(x))
		}
		return x.text(w, path)
	})
}

func (x *logInfo) text(w io.Writer, path string) error {
	rows := [][]string{
		{"receive log", fmt.Sprintf("rank %d of %d on %s, %s", x.Rank, x.Size, report.Clean(x.Host, 80), report.Size(uint64(x.Bytes)))},
		{"command", report.Clean(strings.Join(x.Arguments, " "), 300)},
		{"program", report.Clean(x.Program, 300)},
		{"MPI", report.Clean(x.Library, 100)},
		{"calls", report.Count(x.Calls)},
		{"received", fmt.Sprintf("%s, of which %s had come before", report.Size(x.Payload), report.Size(x.Payload-min(x.Stored, x.Payload)))},
		{"end", x.End},
	}
	if x.Unlogged > 0 {
		rows = append(rows, []string{"without data", report.Count(x.Unlogged) + " receives whose request was freed"})
	}
	if len(x.Refused) > 0 {
		rows = append(rows, []string{"not replayable", "MPI_" + strings.Join(x.Refused, ", MPI_")})
	}
	if err := facts(w, path, rows); err != nil {
		return err
	}
	rows = nil
	for _, f := range x.Functions {
		rows = append(rows, []string{f.Name, report.Count(f.Calls), report.Size(f.Payload)})
	}
	fmt.Fprintln(w)
	return table(w, []string{"<function", ">calls", ">received"}, rows)
}
