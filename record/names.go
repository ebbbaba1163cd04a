package record

import (
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/symbols"
	"github.com/coppice-hpc/coppice/trace/recording"
)

// named opens a recording whose call sites have names, as far as the programs and libraries that ran still tell them.
func named(raw string, running bool) (*recording.Source, error) {
	return recording.OpenNaming(raw, running, func(addresses []recording.Address) ([]byte, error) {
		b, err := recording.WriteNames(raw, namesOf(addresses))
		return b, written(err)
	})
}

// namesOf names addresses, which are sorted by module.
func namesOf(addresses []recording.Address) (list []recording.Named) {
	var f *symbols.File
	var last recording.Address
	for _, a := range addresses {
		if a.Module != last.Module || a.ID != last.ID {
			if f = nil; filepath.IsAbs(a.Module) {
				f, _ = symbols.Open(a.Module, a.ID) // without it there are no names
			}
			last = a
		}
		if f == nil || a.Offset == 0 {
			continue
		}
		x := recording.Named{Address: a}
		for _, frame := range f.Frames(a.Offset - 1) { // a return address may be the first of another line
			x.Frames = append(x.Frames, recording.Frame{Function: frame.Function, File: frame.File, Line: uint32(max(frame.Line, 0)), Begin: uint32(max(frame.Begin, 0))})
		}
		if len(x.Frames) > 0 {
			list = append(list, x)
		}
	}
	return list
}
