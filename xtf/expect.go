package xtf

import (
	"os"

	"github.com/coppice-hpc/coppice/internal/exact"
)

// expect lets the operating system fetch the page of a level that a lookup of key will probably read, so that it is fetched at the same
// time as the level above. It assumes that rows are spread evenly between the first and the last key. A wrong guess costs a read of a page
// that nobody uses.
func (a *pages) expect(lv int, key uint64) {
	d := a.desc
	if key <= d.first || key >= d.last {
		return
	}
	ord := guess(key-d.first, d.last-d.first, uint64(d.levels[lv].pages))
	n := pageStride(a.typ, d.codec, lv, a.f.types.align)
	off := a.base + int64(d.levels[lv].start) + int64(ord)*n
	if off < 0 || off > a.f.size-n {
		return
	}
	if r, ok := a.f.r.(*os.File); ok {
		willRead(r, off, n)
	}
}

// guess returns pages * distance / span. It is below pages, since distance is below span.
func guess(distance, span, pages uint64) uint64 {
	ord, _ := exact.MulDiv(distance, pages, span)
	return ord
}
