package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/view"
)

// What a viewer file holds where the flags do not say.
const (
	viewerLevels = 8
	viewerSize   = 20 << 20
)

// viewerFile is the result in JSON.
type viewerFile struct {
	To     string `json:"to"`
	Output string `json:"output"`
	Bytes  int64  `json:"bytes"`
	Tiles  int    `json:"tiles"`
	Levels int    `json:"levels"`
}

// exportViewer writes the viewer as one file that needs no server.
func exportViewer(path string, o *exportFlags, s streams) error {
	if o.time != "" || o.ranks != "" || o.table != "" {
		return usage("--time, --ranks and --table are not for --to viewer: it holds the whole run, as deep as --levels and --max-size say")
	}
	limit := int64(o.maxSize)
	if limit == 0 {
		limit = viewerSize
	}
	run, err := s.runs.open(path)
	if err != nil {
		return err
	}
	server, err := view.New([]*report.Run{run}, view.Options{Tool: version})
	if err != nil {
		return readError(path, err)
	}
	files := files{force: o.force}
	defer files.discard()
	var held *view.Static
	err = files.write(o.output, s, func(w io.Writer) (err error) {
		held, err = server.WriteStatic(context.Background(), w, view.StaticOptions{Levels: o.levels, MaxBytes: limit})
		return err
	})
	if errors.Is(err, view.ErrStaticSize) {
		return usage("%w with --max-size", err)
	}
	if err == nil {
		err = files.publish()
	}
	if err != nil {
		return exportError(run, err)
	}
	if !o.job.quiet {
		more := ""
		if !held.Full {
			more = "; --max-size left out deeper ones"
		}
		fmt.Fprintf(s.err, "coppice: %s: %s, %d tiles, %d zoom levels complete%s\n", o.output, report.Size(uint64(held.Bytes)), held.Tiles, held.Levels, more)
	}
	if o.format == "json" {
		return about(s.out, run, "export", report.Value(viewerFile{o.to, o.output, held.Bytes, held.Tiles, held.Levels}))
	}
	return nil
}
