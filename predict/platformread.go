package predict

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// ErrPlatform is what every error about a platform is.
var ErrPlatform = errors.New("platform")

// platformSchema is the format of platform files that this package reads and writes.
const platformSchema = "coppice.platform/1"

// Limits of a platform file: bytes, keys and tables.
const (
	maxPlatform = 256 << 10
	maxEntries  = 4096
)

// OpenPlatform reads a platform file. Errors in it name file, line, key and what is allowed.
func OpenPlatform(path string) (*Platform, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlatform, err)
	}
	defer f.Close()
	p, err := ReadPlatform(f, path)
	if err != nil {
		return nil, err
	}
	p.folder = filepath.Dir(path)
	return p, nil
}

// ReadPlatform reads a platform file; name is for errors.
func ReadPlatform(r io.Reader, name string) (*Platform, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPlatform+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPlatform, name, err)
	}
	tables, root, err := tomltree.Open(name, ErrPlatform, data, maxPlatform, maxEntries)
	if err != nil {
		return nil, err
	}
	in := platformReader{tables, NewPlatform()}
	if err := in.root(root); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return in.p, nil
}

// platformReader fills a platform.
type platformReader struct {
	*tomltree.Reader
	p *Platform
}

// root reads the whole file.
func (in *platformReader) root(v *tomltree.Value) error {
	p := in.p
	return tomltree.ReadTable(in.Reader, v, "", platformRoot, p,
		keysTable(in, "nodes", nodesKeys, p),
		keysTable(in, "compute", computeKeys, p),
		tomltree.Part{Name: "links", Allowed: "tables links.self, links.node, links.net", Read: in.links},
		keysTable(in, "topology", topologyKeys, &p.Topology),
		keysTable(in, "filesystem", filesKeys, &p.Files),
		tomltree.Part{Name: "collectives", Allowed: "a table [collectives]", Read: in.collectives},
	)
}

// keysTable is a table that has keys alone.
func keysTable[T any](in *platformReader, name string, keys []tomltree.Key[T], to *T) tomltree.Part {
	return tomltree.Part{Name: name, Allowed: "a table [" + name + "]", Read: func(v *tomltree.Value, path string) error {
		return tomltree.ReadTable(in.Reader, v, path, keys, to)
	}}
}

func (in *platformReader) links(v *tomltree.Value, path string) error {
	var tables []tomltree.Part
	for c, name := range linkNames {
		tables = append(tables, tomltree.Part{Name: name, Allowed: "a table of L_ns, o_send_ns and so on", Read: func(v *tomltree.Value, path string) error {
			l := &simnet.Link{Eager: maxBytes}
			in.p.Links[c] = l
			return tomltree.ReadTable(in.Reader, v, path, linkKeys, l, tomltree.Part{Name: "sizes", Allowed: aSize, List: true, Read: func(v *tomltree.Value, path string) error {
				l.Sizes = append(l.Sizes, simnet.SizeRate{})
				return tomltree.ReadTable(in.Reader, v, path, sizeKeys, last(l.Sizes))
			}})
		}})
	}
	return tomltree.ReadTable(in.Reader, v, path, nil, in.p, tables...)
}

func (in *platformReader) collectives(v *tomltree.Value, path string) error {
	var tables []tomltree.Part
	for k, name := range collNames {
		tables = append(tables, tomltree.Part{Name: name, Allowed: "{ max_bytes = N, algorithm = NAME }", List: true, Read: func(v *tomltree.Value, path string) error {
			list := &in.p.Collectives[k]
			*list = append(*list, simnet.Algorithm{Max: math.MaxUint64})
			return tomltree.ReadTable(in.Reader, v, path, algorithmKeys, last(*list))
		}})
	}
	return tomltree.ReadTable(in.Reader, v, path, collectivesKeys, in.p, tables...)
}

// last is the element in progress.
func last[T any](s []T) *T { return &s[len(s)-1] }
