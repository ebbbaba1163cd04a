package ccg

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/trace"
)

const (
	sharedMagic   = "CCGs"
	localMagic    = "CCGl"
	formatVersion = 2
	modeLossless  = 0
	modeLossy     = 1
)

// Shared is the structure that all locations share. It is read-only.
type Shared struct {
	defs     *trace.Definitions
	opt      Options
	encoding *Encodings
	codebook *Codebook // of a lossy graph, where locations are to be distributed
	graph    graph
	classes  *classes // of a lossy graph; nil: all nodes are in column mode
	indexed  sync.Once
}

// Nodes returns the number of nodes.
func (s *Shared) Nodes() int { return s.graph.nodes.len() }

// Options returns the options that the graph was built with.
func (s *Shared) Options() Options { return s.opt }

// Encode returns the shared section of the package comment.
func (s *Shared) Encode() []byte {
	dst := append([]byte(sharedMagic), formatVersion, s.opt.Deviation.mode())
	dst = s.opt.append(dst)
	dst = s.encoding.append(dst)
	dst = binary.AppendUvarint(dst, uint64(s.graph.tuples.len()))
	dst = binary.AppendUvarint(dst, uint64(s.graph.nodes.len()))
	dst = appendParts(dst, &s.graph, true)
	if s.opt.Deviation.Lossless() {
		return dst
	}
	return appendClasses(dst, &s.graph, s.classes, s.opt.Fan)
}

// appendParts appends all tuples and nodes of a graph.
func appendParts(dst []byte, g *graph, squeezed bool) []byte {
	for part := range eachPart(g, squeezed) {
		dst = append(dst, part...)
	}
	return dst
}

// memoryLimit is how many bytes of memory n bytes of parts may take: a hundred bytes
// that somebody made up can be 32 MiB of nodes. Calls that differ in a counter alone
// take 330 times their bytes.
func memoryLimit(n int) uint64 { return max(1<<30, uint64(n)<<14) }

// readParts reads what appendParts wrote, unless it takes more than limit bytes of
// memory; it returns the bytes after it.
func readParts(src []byte, nTuples, nNodes uint64, fan int, limit uint64) (graph, []byte, error) {
	g := newGraph()
	dec := newPartDecoder()
	defer dec.close()
	for uint64(g.tuples.len()) < nTuples || uint64(g.nodes.len()) < nNodes {
		var k byte
		var err error
		if k, src, err = dec.read(src); err != nil {
			return g, nil, err
		}
		before := g.tuples.len() + g.nodes.len()
		if k == partTuples {
			err = dec.eachTuple(func(w []uint64) error {
				n := g.tuples.len()
				if m, err := g.addTuple(w); err != nil || int(m) != n {
					return fmt.Errorf("tuple %d: damaged or there twice: %w", n, ErrCorrupt)
				}
				return nil
			})
		} else {
			err = dec.eachNode(uint32(g.nodes.len()+1), func(id, meta uint32, words []uint32) error {
				if err := g.checkNode(id, meta, words, fan); err != nil {
					return err
				}
				_, err := g.nodes.append(meta, words)
				return err
			})
		}
		if err != nil {
			return g, nil, err
		}
		if g.tuples.len()+g.nodes.len() == before {
			return g, nil, fmt.Errorf("empty part: %w", ErrCorrupt)
		}
		if n := g.memory(); n > limit {
			return g, nil, fmt.Errorf("%d nodes and %d tuples of %d take %d bytes: %w", g.nodes.len(), g.tuples.len(), nTuples, n, ErrLimit)
		}
	}
	if uint64(g.tuples.len()) != nTuples || uint64(g.nodes.len()) != nNodes {
		return g, nil, fmt.Errorf("%d tuples and %d nodes, announced %d and %d: %w",
			g.tuples.len(), g.nodes.len(), nTuples, nNodes, ErrCorrupt)
	}
	return g, src, nil
}

// OpenShared reads and validates what Encode wrote.
func OpenShared(defs *trace.Definitions, src []byte) (_ *Shared, err error) {
	defer wrap(&err, "call graph: shared section")
	r := reader{varint.Read(src)}
	lossy, err := r.magic(sharedMagic)
	if err != nil {
		return nil, err
	}
	s := &Shared{defs: defs, opt: r.options(lossy)}
	s.encoding = r.encodings()
	nTuples, nNodes := r.Next(), r.Next()
	if r.Failed() {
		return nil, fmt.Errorf("header: %w", ErrCorrupt)
	}
	var rest []byte
	if s.graph, rest, err = readParts(r.Rest(), nTuples, nNodes, s.opt.Fan, memoryLimit(len(src))); err != nil {
		return nil, err
	}
	if lossy {
		if s.classes, rest, err = readClasses(rest, &s.graph, s.opt.Fan, memoryLimit(len(src))); err != nil {
			return nil, err
		}
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%d bytes after it: %w", len(rest), ErrCorrupt)
	}
	return s, nil
}

// magic takes the four letters, version and mode.
func (r *reader) magic(want string) (lossy bool, err error) {
	if got := r.Bytes(uint64(len(want))); string(got) != want {
		return false, fmt.Errorf("not a call graph: %w", ErrCorrupt)
	}
	version, mode := r.Byte(), r.Byte()
	if version != formatVersion || mode > modeLossy || r.Failed() {
		return false, fmt.Errorf("version %d, mode %d are not known here: %w", version, mode, ErrVersion)
	}
	return mode == modeLossy, nil
}

// append appends fan, fold and the bounds of a lossy graph.
func (o Options) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(o.Fan))
	dst = binary.AppendUvarint(dst, uint64(max(o.Fold, 0)))
	return o.Deviation.append(dst)
}

// options takes what append appended.
func (r *reader) options(lossy bool) Options {
	fan, fold := r.Next(), r.Next()
	d := r.deviation(lossy)
	if fan < 2 || fan > maxFan || fold > maxFold {
		r.Fail()
		return Options{Fan: DefaultFan, Fold: DefaultFold}
	}
	if fold == 0 {
		return Options{Fan: int(fan), Fold: -1, Deviation: d}
	}
	return Options{Fan: int(fan), Fold: int(fold), Deviation: d}
}
