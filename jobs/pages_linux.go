//go:build !race

package jobs

import (
	"math/bits"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// youngHeap is more than the heap of a process that has only read definitions.
const youngHeap = 64 << 20

// heapPiece is the size of one allocation of askHugePages. Smaller ones would fill more holes of the heap, whose memory is in use already
// and would be cleared.
const heapPiece = 4 << 20

// askHugePages asks the kernel to give the heap huge pages of 2 MiB for its next bytes. Without them, to touch memory for the first time
// costs a fault each 4 KiB, which takes 14 us on some virtual machines, as long as the analysis of 60 events. It allocates the bytes,
// advises the kernel, and frees them untouched: the heap takes the lowest free addresses first, so it uses these next. It does nothing
// if the heap is larger than youngHeap and an eighth of bytes: such a heap has its memory already.
func askHugePages(bytes int64) {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); os.Getpagesize() != 4<<10 || bits.UintSize < 64 || m.HeapSys > max(youngHeap, uint64(bytes)/8) {
		return // where pages have more than 4 KiB, huge ones have up to 512 MiB
	}
	// A heap that does not get its memory ends the process. This mapping only returns an error.
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
