package graph

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/coppice-hpc/coppice/trace"
)

const (
	sharedMagic   = "CCGs"
	LocalMagic    = "CCGl"
	FormatVersion = 2
	modeLossless  = 0
	ModeLossy     = 1
)

// Shared is the structure that all locations share. It is read-only.
type Shared struct {
	Defs     *trace.Definitions
	Opt      Options
	Encoding *Encodings
	Graph    Graph
	Classes  *Classes // of a lossy graph; nil: all nodes are in column mode
	indexed  sync.Once
}

// Nodes returns the number of nodes.
func (s *Shared) Nodes() int { return s.Graph.Nodes.Len() }

// Options returns the options that the graph was built with.
func (s *Shared) Options() Options { return s.Opt }

// Encode returns the shared section, see docs/format/ccg.md.
func (s *Shared) Encode() []byte {
	dst := append([]byte(sharedMagic), FormatVersion, s.Opt.Deviation.Mode())
	dst = s.Opt.Append(dst)
	dst = s.Encoding.append(dst)
	dst = binary.AppendUvarint(dst, uint64(s.Graph.Tuples.Len()))
	dst = binary.AppendUvarint(dst, uint64(s.Graph.Nodes.Len()))
	dst = AppendParts(dst, &s.Graph, true)
	if s.Opt.Deviation.Lossless() {
		return dst
	}
	return AppendClasses(dst, &s.Graph, s.Classes, s.Opt.Fan)
}

// AppendParts appends all tuples and nodes of a graph.
func AppendParts(dst []byte, g *Graph, squeezed bool) []byte {
	for part := range EachPart(g, squeezed) {
		dst = append(dst, part...)
	}
	return dst
}

// MemoryLimit returns how many bytes of memory n bytes of parts may take: a hundred invented bytes could decode to 32 MiB of nodes. Calls
// that differ only in a counter take 330 times their bytes.
func MemoryLimit(n int) uint64 { return max(1<<30, uint64(n)<<14) }

// ReadParts reads what AppendParts wrote, and returns the bytes after it. It fails if that needs more than limit bytes of memory.
func ReadParts(src []byte, nTuples, nNodes uint64, fan int, limit uint64) (Graph, []byte, error) {
	g := NewGraph()
	dec := NewPartDecoder()
	defer dec.Close()
	for uint64(g.Tuples.Len()) < nTuples || uint64(g.Nodes.Len()) < nNodes {
		var k byte
		var err error
		if k, src, err = dec.Read(src); err != nil {
			return g, nil, err
		}
		before := g.Tuples.Len() + g.Nodes.Len()
		if k == PartTuples {
			err = dec.EachTuple(func(w []uint64) error {
				n := g.Tuples.Len()
				if m, err := g.AddTuple(w); err != nil || int(m) != n {
					return fmt.Errorf("tuple %d: damaged or there twice: %w", n, ErrCorrupt)
				}
				return nil
			})
		} else {
			err = dec.EachNode(uint32(g.Nodes.Len()+1), func(id, meta uint32, words []uint32) error {
				if err := g.CheckNode(id, meta, words, fan); err != nil {
					return err
				}
				_, err := g.Nodes.append(meta, words)
				return err
			})
		}
		if err != nil {
			return g, nil, err
		}
		if g.Tuples.Len()+g.Nodes.Len() == before {
			return g, nil, fmt.Errorf("empty part: %w", ErrCorrupt)
		}
		if n := g.Memory(); n > limit {
			return g, nil, fmt.Errorf("%d nodes and %d tuples of %d take %d bytes: %w", g.Nodes.Len(), g.Tuples.Len(), nTuples, n, ErrLimit)
		}
	}
	if uint64(g.Tuples.Len()) != nTuples || uint64(g.Nodes.Len()) != nNodes {
		return g, nil, fmt.Errorf("%d tuples and %d nodes, announced %d and %d: %w",
			g.Tuples.Len(), g.Nodes.Len(), nTuples, nNodes, ErrCorrupt)
	}
	return g, src, nil
}

// OpenShared reads and validates what Encode wrote.
func OpenShared(defs *trace.Definitions, src []byte) (_ *Shared, err error) {
	defer Wrap(&err, "call graph: shared section")
	r := Read(src)
	lossy, err := r.Magic(sharedMagic)
	if err != nil {
		return nil, err
	}
	s := &Shared{Defs: defs, Opt: r.Options(lossy)}
	s.Encoding = r.encodings()
	nTuples, nNodes := r.Next(), r.Next()
	if r.Failed() {
		return nil, fmt.Errorf("header: %w", ErrCorrupt)
	}
	var rest []byte
	if s.Graph, rest, err = ReadParts(r.Rest(), nTuples, nNodes, s.Opt.Fan, MemoryLimit(len(src))); err != nil {
		return nil, err
	}
	if lossy {
		if s.Classes, rest, err = ReadClasses(rest, &s.Graph, s.Opt.Fan, MemoryLimit(len(src))); err != nil {
			return nil, err
		}
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%d bytes after it: %w", len(rest), ErrCorrupt)
	}
	return s, nil
}

// Magic reads the four letters, version and mode.
func (r *Reader) Magic(want string) (lossy bool, err error) {
	if got := r.Bytes(uint64(len(want))); string(got) != want {
		return false, fmt.Errorf("not a call graph: %w", ErrCorrupt)
	}
	version, mode := r.Byte(), r.Byte()
	if version != FormatVersion || mode > ModeLossy || r.Failed() {
		return false, fmt.Errorf("version %d, mode %d are not known here: %w", version, mode, ErrVersion)
	}
	return mode == ModeLossy, nil
}

// BuildIndex makes the indexes for looking up nodes and classes.
func (s *Shared) BuildIndex() {
	s.indexed.Do(func() {
		if s.Graph.Nodes.Len() > 0 && s.Graph.Nodes.index.used == 0 {
			s.Graph.Nodes.reindex()
		}
		if s.Classes != nil && s.Classes.index.used == 0 {
			s.Classes.Reindex()
		}
	})
}
