package predict

import (
	"fmt"
	"io"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
)

// Write writes the platform in canonical form: the same platform gives the same bytes, and they read as the same platform.
// Notes are comments on top, one a line.
func (p *Platform) Write(w io.Writer, notes ...string) error {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "# %s\n", strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(n, "?")))
	}
	table := func(header string, lines []string) {
		if header != "" {
			b.WriteString("\n" + header + "\n")
		}
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	table("", tomltree.Written(platformRoot, p))
	table("[nodes]", tomltree.Written(nodesKeys, p))
	table("[compute]", tomltree.Written(computeKeys, p))
	for c, l := range p.Links {
		if l == nil {
			continue
		}
		table("[links."+linkNames[c]+"]", tomltree.Written(linkKeys, l))
		for i := range l.Sizes {
			table("[[links."+linkNames[c]+".sizes]]", tomltree.Written(sizeKeys, &l.Sizes[i]))
		}
	}
	if t := &p.Topology; t.Kind != Flat || t.LinkRate != 0 {
		table("[topology]", tomltree.Written(topologyKeys, t))
	}
	if p.Files != (FileSystem{}) {
		table("[filesystem]", tomltree.Written(filesKeys, &p.Files))
	}
	lines := tomltree.Written(collectivesKeys, p)
	for k, list := range p.Collectives {
		if list == nil {
			continue
		}
		var parts []string
		for i := range list {
			parts = append(parts, "{ "+strings.Join(tomltree.Written(algorithmKeys, &list[i]), ", ")+" }")
		}
		lines = append(lines, collNames[k]+" = ["+strings.Join(parts, ", ")+"]")
	}
	table("[collectives]", lines)
	_, err := io.WriteString(w, b.String())
	return err
}
