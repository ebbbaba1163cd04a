package oracle

import (
	"regexp"

	"github.com/coppice-hpc/coppice/trace"
)

// collectiveOnFile are the calls on files that all processes call which opened the file together, but for those that do not block and those
// that end what another one began.
var collectiveOnFile = regexp.MustCompile(`^mpi_file_(?:(open|close|sync|set_view|seek_shared|set_size|preallocate|set_atomicity|set_info)|(read|write)(?:_at)?_all(?:_begin)?|(read|write)_ordered(?:_begin)?)$`)

// namesFile reports whether a record of a kind begins with the handle of a file, in the call that uses it.
func namesFile(k trace.Kind) bool {
	return k == trace.IoCreateHandle || k == trace.IoDestroyHandle || k == trace.IoSeek || k == trace.IoOperationBegin
}

// onFile makes a call a part in a collective operation, if a record in it names a file that several processes have open.
func (w *requests) onFile(e *record) {
	v := &w.l.visits[e.visit]
	call := collectiveOnFile.FindStringSubmatch(w.a.plainName(v.region))
	if call == nil || len(w.l.colls) > 0 && w.l.colls[len(w.l.colls)-1].visit == e.visit && w.l.colls[len(w.l.colls)-1].file != "" {
		return
	}
	for _, h := range w.a.d.IoHandles {
		if h.Ref == uint32(e.fields[0]) && w.a.d.CommSize(h.Comm) > 1 {
			w.collective(&record{fields: []uint64{noOperation, uint64(h.Comm), trace.Undefined, 0, 0}, visit: e.visit}, &member{start: e.visit, seq: w.next(), file: call[1] + call[2] + call[3]})
		}
	}
}

// noOperation is that of a collective that OTF2 has no number for.
const noOperation = 1 << 16
