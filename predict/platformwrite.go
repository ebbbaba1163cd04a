package predict

import (
	"fmt"
	"io"
	"strings"
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
	table("", written(platformRoot, p))
	table("[nodes]", written(nodesKeys, p))
	table("[compute]", written(computeKeys, p))
	for c, l := range p.Links {
		if l == nil {
			continue
		}
		table("[links."+linkNames[c]+"]", written(linkKeys, l))
		for i := range l.Sizes {
			table("[[links."+linkNames[c]+".sizes]]", written(sizeKeys, &l.Sizes[i]))
		}
	}
	if t := &p.Topology; t.Kind != Flat || t.LinkRate != 0 {
		table("[topology]", written(topologyKeys, t))
	}
	if p.Files != (FileSystem{}) {
		table("[filesystem]", written(filesKeys, &p.Files))
	}
	lines := written(collectivesKeys, p)
	for k, list := range p.Collectives {
		if list == nil {
			continue
		}
		var parts []string
		for i := range list {
			parts = append(parts, "{ "+strings.Join(written(algorithmKeys, &list[i]), ", ")+" }")
		}
		lines = append(lines, collNames[k]+" = ["+strings.Join(parts, ", ")+"]")
	}
	table("[collectives]", lines)
	_, err := io.WriteString(w, b.String())
	return err
}

// written are the keys of a table with their values; what is as without the key is left out.
func written[T any](keys []platformKey[T], from *T) (lines []string) {
	for _, k := range keys {
		if text := k.write(from); text != "" {
			lines = append(lines, k.name+" = "+text)
		}
	}
	return lines
}
