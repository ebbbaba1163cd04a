package record

import (
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/symbols"
	"github.com/coppice-hpc/coppice/trace/recording"
)

// named opens a recording and adds names to the addresses of its call sites, if the programs and libraries still exist. running: its
// processes still write.
func named(raw string, running bool) (*recording.Source, error) {
	return recording.OpenNaming(raw, running, func(addresses []recording.Address) ([]byte, error) {
		b, err := recording.WriteNames(raw, namesOf(addresses))
		return b, written(err)
	})
}

// namesOf returns functions and lines of addresses, which are sorted by module. Addresses without debug information are left out.
func namesOf(addresses []recording.Address) (list []recording.Named) {
	var f *symbols.File
	var last recording.Address
	for _, a := range addresses {
		if a.Module != last.Module || a.ID != last.ID {
			if f = nil; filepath.IsAbs(a.Module) {
				f, _ = symbols.Open(a.Module, a.ID) // nil without names
			}
			last = a
		}
		if f == nil || a.Offset == 0 {
			continue
		}
		x := recording.Named{Address: a}
		for _, frame := range f.Frames(a.Offset - 1) { // the instruction before the return address, which may belong to the next line
			x.Frames = append(x.Frames, recording.Frame{Function: frame.Function, File: frame.File, Line: uint32(max(frame.Line, 0)), Begin: uint32(max(frame.Begin, 0))})
		}
		if len(x.Frames) > 0 {
			list = append(list, x)
		}
	}
	return list
}
