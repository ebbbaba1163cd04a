//go:build !race

package jobs

import (
	"math/bits"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// youngHeap is larger than what has only read definitions.
const youngHeap = 64 << 20

// heapPiece is so much that only a little of what is in use already is cleared, and so little that a hole of the heap which it fills is.
const heapPiece = 4 << 20

// askHugePages asks the kernel to give the heap, for its next bytes, huge pages of 2 MiB: to touch memory for the first time costs a
// fault each 4 KiB else, which takes 14 us on some virtual machines, as long as the analysis of 60 events. The heap takes the lowest
// free addresses first, so it takes next what is given back here, and was not touched. One that is larger than youngHeap, and an
// eighth of that, has what it takes, and what was in use before would be cleared here.
func askHugePages(bytes int64) {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); os.Getpagesize() != 4<<10 || bits.UintSize < 64 || m.HeapSys > max(youngHeap, uint64(bytes)/8) {
		return // huge pages have up to 512 MiB where others have more than 4 KiB
	}
	// A heap that does not get its memory ends the process: this asks without that.
	probe, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil || syscall.Munmap(probe) != nil {
		return
	}
	percent := debug.SetGCPercent(-1)
	pieces := make([][]byte, bytes/heapPiece)
	for i := range pieces {
		pieces[i] = make([]byte, heapPiece)
		_ = syscall.Madvise(pieces[i], syscall.MADV_HUGEPAGE) // a kernel without them goes on with small ones
	}
	runtime.KeepAlive(pieces)
	debug.SetGCPercent(percent)
	runtime.GC()
}
