package predict

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/predict/simnet"
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
	fmt.Fprintf(&b, "schema = %q\n", platformSchema)
	if p.Name != "" {
		fmt.Fprintf(&b, "name = %s\n", quoted(p.Name))
	}
	fmt.Fprintf(&b, "receive_policy = %q\ncontention = %q\n", policyNames[p.Policy], contentionNames[p.Contention])
	if p.NoRendezvousLatency {
		fmt.Fprintf(&b, "rendezvous = %q\n", handshakeNames[1])
	}
	p.writeNodes(&b)
	fmt.Fprintf(&b, "\n[compute]\nscale = %s\n", p.Scale)
	for c, l := range p.Links {
		if l != nil {
			writeLink(&b, linkNames[c], l)
		}
	}
	p.Topology.write(&b)
	p.writeFiles(&b)
	p.writeCollectives(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// quoted writes a string of TOML.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func (p *Platform) writeNodes(b *strings.Builder) {
	b.WriteString("\n[nodes]\n")
	if p.Nodes != 0 {
		fmt.Fprintf(b, "count = %d\n", p.Nodes)
	}
	if p.RanksPerNode != 0 {
		fmt.Fprintf(b, "ranks_per_node = %d\n", p.RanksPerNode)
	}
	fmt.Fprintf(b, "nics = %d\nmapping = %s\n", p.NICs, quoted(p.Mapping))
}

// writeLink leaves out what is as without the key.
func writeLink(b *strings.Builder, class string, l *simnet.Link) {
	fmt.Fprintf(b, "\n[links.%s]\nL_ns = %s\n", class, nsOf(l.Latency))
	if l.Hop != 0 {
		fmt.Fprintf(b, "hop_ns = %s\n", nsOf(l.Hop))
	}
	fmt.Fprintf(b, "o_send_ns = %s\no_recv_ns = %s\ng_ns = %s\nG_ns_per_byte = %s\n", nsOf(l.SendOver), nsOf(l.RecvOver), nsOf(l.Gap), rateNS(l.PerByte))
	if l.OverByte != 0 {
		fmt.Fprintf(b, "O_ns_per_byte = %s\n", rateNS(l.OverByte))
	}
	if l.Eager != maxBytes {
		fmt.Fprintf(b, "eager_bytes = %d\n", l.Eager)
	}
	for _, s := range l.Sizes {
		fmt.Fprintf(b, "\n[[links.%s.sizes]]\nmax_bytes = %d\nG_ns_per_byte = %s\n", class, s.Max, rateNS(s.PerByte))
	}
}

func (t *TopologySpec) write(b *strings.Builder) {
	if t.Kind == Flat && t.LinkRate == 0 {
		return
	}
	fmt.Fprintf(b, "\n[topology]\nkind = %q\n", topologyNames[t.Kind])
	for _, f := range []struct {
		name   string
		values []uint32
	}{{"down", t.Down}, {"up", t.Up}, {"dims", t.Dims}} {
		if f.values != nil {
			fmt.Fprintf(b, "%s = %s\n", f.name, strings.ReplaceAll(fmt.Sprint(f.values), " ", ", "))
		}
	}
	for _, f := range []struct {
		name  string
		value uint32
	}{{"groups", t.Groups}, {"routers", t.Routers}, {"ports", t.Ports}} {
		if f.value != 0 {
			fmt.Fprintf(b, "%s = %d\n", f.name, f.value)
		}
	}
	if t.LinkRate != 0 {
		fmt.Fprintf(b, "G_ns_per_byte = %s\n", rateNS(t.LinkRate))
	}
}

func (p *Platform) writeFiles(b *strings.Builder) {
	if p.Files == (FileSystem{}) {
		return
	}
	fmt.Fprintf(b, "\n[filesystem]\nopen_ns = %s\n", nsOf(p.Files.Open))
	if p.Files.Client != 0 {
		fmt.Fprintf(b, "client_bytes_per_s = %d\n", p.Files.Client)
	}
	if p.Files.Total != 0 {
		fmt.Fprintf(b, "total_bytes_per_s = %d\n", p.Files.Total)
	}
}

func (p *Platform) writeCollectives(b *strings.Builder) {
	fmt.Fprintf(b, "\n[collectives]\ngamma_ns_per_byte = %s\n", rateNS(p.Gamma))
	if p.ModelCollectives {
		b.WriteString("model = true\n")
	}
	for k, list := range p.Collectives {
		if list == nil {
			continue
		}
		fmt.Fprintf(b, "%s = [", collNames[k])
		for i, a := range list {
			if i > 0 {
				b.WriteString(", ")
			}
			limit := ""
			if a.Max != math.MaxUint64 {
				limit = "max_bytes = " + strconv.FormatUint(a.Max, 10) + ", "
			}
			fmt.Fprintf(b, "{ %salgorithm = %s }", limit, quoted(a.Name))
		}
		b.WriteString("]\n")
	}
}
