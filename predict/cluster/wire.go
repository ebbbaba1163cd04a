package cluster

import (
	"cmp"
	"encoding/binary"
	"fmt"
)

// Messages are little-endian words without any framing: both sides know from the points how many there are, and a
// length that differs is errMessage.

// errMessage is a message from another rank that is not what it must be.
func errMessage(what string) error {
	return fmt.Errorf("cluster: damaged message: %s", what)
}

func getUint32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func getUint64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

func putUint32(b []byte, list ...uint32) []byte {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func putUint64(b []byte, list ...uint64) []byte {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func putEntries(b []byte, list []int64) []byte {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// readEntries fills dst from a message of exactly that many entries.
func readEntries(b []byte, dst []int64) error {
	if len(b) != 8*len(dst) {
		return errMessage("entries")
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return nil
}

func compareIDs(a, b uint32) int { return cmp.Compare(a, b) }
