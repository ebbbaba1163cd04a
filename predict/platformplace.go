package predict

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// place puts the processes on the nodes of n. Block mapping needs no table.
func (p *Platform) place(n *simnet.Network, processes, need uint32) error {
	switch p.Mapping {
	case "block":
		return nil
	case "cyclic":
		// Round by round over all nodes; where the file gives no count, over those that are needed.
		over := need
		if p.Nodes != 0 {
			over = p.Nodes
		}
		n.Node = make([]uint32, processes)
		for i := range n.Node {
			n.Node[i] = uint32(i) % max(over, 1)
		}
		return nil
	}
	path := p.Mapping
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.folder, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: nodes.mapping: %w. Allowed are block, cyclic and the path of a table", ErrPlatform, err)
	}
	defer f.Close()
	n.Node, err = readMapping(f, path, processes, p.Nodes)
	if err != nil {
		return err
	}
	for _, node := range n.Node {
		n.Nodes = max(n.Nodes, node+1)
	}
	return nil
}

// maxNodes bounds the number of a node in a table.
const maxNodes = 1 << 24

// readMapping reads lines "rank node", one for each process, in any order; nodes below count, where that is not 0. What
// follows a # is a comment.
func readMapping(r io.Reader, path string, processes, count uint32) ([]uint32, error) {
	node := make([]uint32, processes)
	seen := make([]bool, processes)
	limit := uint64(maxNodes)
	if count != 0 {
		limit = uint64(count)
	}
	fail := func(line int, format string, args ...any) error {
		return &tomltree.Error{Base: ErrPlatform, File: path, Line: line, Text: fmt.Sprintf(format, args...)}
	}
	left := processes
	s := bufio.NewScanner(r)
	line := 0
	for s.Scan() {
		line++
		text, _, _ := strings.Cut(s.Text(), "#")
		f := strings.Fields(text)
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 {
			return nil, fail(line, "%d words: each line is a rank and its node, as in 17 2", len(f))
		}
		rank, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil || rank >= uint64(processes) {
			return nil, fail(line, "rank %q: allowed are 0 to %d", tomltree.Clip(f[0]), int64(processes)-1)
		}
		at, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil || at >= limit {
			return nil, fail(line, "node %q: allowed are 0 to %d", tomltree.Clip(f[1]), limit-1)
		}
		if seen[rank] {
			return nil, fail(line, "rank %d has a node already", rank)
		}
		seen[rank], node[rank] = true, uint32(at)
		left--
	}
	if err := s.Err(); err != nil {
		return nil, fail(line+1, "%v", err)
	}
	if left != 0 {
		for rank, ok := range seen {
			if !ok {
				return nil, fail(line, "rank %d has no node: each of the %d processes needs a line", rank, processes)
			}
		}
	}
	return node, nil
}
