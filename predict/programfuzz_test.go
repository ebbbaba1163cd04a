package predict

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/mpi"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/coppice-hpc/coppice/trace"
)

// FuzzOpen changes bytes of a location's graph and makes its check sum right again: the file does not open, or its program and its
// vectors are those of the events that the graph has now.
func FuzzOpen(f *testing.F) {
	for seed := range uint64(6) {
		f.Add(seed, []byte{0, 40, 1}, uint16(9))
		f.Add(seed, []byte{1, 3, 255, 0, 80, 2}, uint16(40))
	}
	f.Fuzz(func(t *testing.T, seed uint64, changes []byte, at uint16) {
		r := rand.New(rand.NewPCG(seed%16, 11))
		file := graphsOfBatches(t, worldOf(3), []*trace.Batch{randomProcess(r, 0, 3), randomProcess(r, 1, 3), randomProcess(r, 2, 3)})
		blob := slices.Clone(file.blobs[1])
		body := blob[:len(blob)-4]
		for i := 0; i+2 < len(changes) && i < 24; i += 3 {
			body[(int(changes[i])<<8|int(changes[i+1])+int(at))%len(body)] ^= changes[i+2]
		}
		binary.LittleEndian.PutUint32(blob[len(blob)-4:], crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		file.blobs[1] = blob
		in, err := Open(mpi.Serial(), file, OpenOptions{})
		if err != nil {
			return
		}
		if err := checkProgram(in.Program); err != nil {
			t.Fatal(err)
		}
		// columns that a program does not need may be damaged
		if err := checkTwin(in, in.tables, 1); err != nil && !errors.Is(err, graph.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

// FuzzMessage decodes programs from other ranks: what it takes can be taken over.
func FuzzMessage(f *testing.F) {
	b := &builder{tables: newTables(worldOf(2)), first: map[uint64]program.NodeID{}}
	good, err := b.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	if b.program.Roots, b.program.Nodes, b.region = []program.NodeID{0}, []program.Node{{Kind: program.Loop, Len: 1}}, []uint32{0}; err == nil {
		good, err = b.encode() // a loop that is its own child
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, src []byte) {
		o, err := decodeBuilder(src)
		if err != nil {
			return
		}
		if err := (&builder{tables: newTables(worldOf(2)), first: map[uint64]program.NodeID{}}).take(o); err != nil {
			t.Fatal(err)
		}
	})
}
