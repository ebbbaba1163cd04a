//go:build !race

package jobs

import (
	"math/bits"
	"os"
	"strings"
	"testing"
)

// TestHugePages holds that the kernel knows of the heap that it may be in huge pages: "hg" among the flags of a mapping, which
// nothing else here asks for.
func TestHugePages(t *testing.T) {
	marked := func() bool {
		b, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Skip("the kernel does not say what a mapping is: ", err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "VmFlags:") && strings.Contains(line, " hg") {
				return true
			}
		}
		return false
	}
	if _, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil || os.Getpagesize() != 4<<10 || bits.UintSize < 64 {
		t.Skipf("no huge pages of 2 MiB here: pages of %d bytes, %d bits, %v", os.Getpagesize(), bits.UintSize, err)
	}
	if marked() {
		t.Fatal("huge pages before they were asked for")
	}
	askHugePages(64 << 20)
	if !marked() {
		t.Error("the kernel does not know")
	}
}
