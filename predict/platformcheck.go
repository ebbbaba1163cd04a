package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// check verifies what more than one key says.
func (in *platformReader) check() error {
	if err := in.NeedsSchema(platformSchema); err != nil {
		return err
	}
	p := in.p
	if p.Links[simnet.LinkNode] == nil && p.Links[simnet.LinkNet] == nil {
		return in.Wrong("links", "neither links.node nor links.net is there", "one of them or both")
	}
	if p.Policy == simnet.Arrival && p.Contention != simnet.NoContention {
		return in.Wrong("contention", fmt.Sprintf("%q", contentionNames[p.Contention]), "none, where receive_policy is arrival")
	}
	for c, l := range p.Links {
		if l == nil {
			continue
		}
		if err := in.checkSizes(linkNames[c], l); err != nil {
			return err
		}
	}
	for k, list := range p.Collectives {
		if err := in.checkAlgorithms(simnet.CollKind(k), list); err != nil {
			return err
		}
	}
	return in.checkTopology()
}

// checkSizes verifies the piecewise rates of a link.
func (in *platformReader) checkSizes(class string, l *simnet.Link) error {
	for i := range l.Sizes {
		table := fmt.Sprintf("links.%s.sizes[%d]", class, i)
		for _, key := range []string{"max_bytes", "G_ns_per_byte"} {
			if _, ok := in.Lines[table+"."+key]; !ok {
				return in.Wrong(table, key+" is missing", aSize)
			}
		}
		if i > 0 && l.Sizes[i].Max <= l.Sizes[i-1].Max {
			return in.Wrong(table+".max_bytes", fmt.Sprint(l.Sizes[i].Max), fmt.Sprintf("more than the %d before it", l.Sizes[i-1].Max))
		}
	}
	return nil
}

// checkAlgorithms verifies the algorithms of a collective.
func (in *platformReader) checkAlgorithms(kind simnet.CollKind, list []simnet.Algorithm) error {
	for i := range list {
		table := fmt.Sprintf("collectives.%s[%d]", collNames[kind], i)
		names := simnet.Algorithms(kind)
		if !slices.Contains(names, list[i].Name) {
			key, text := table+".algorithm", fmt.Sprintf("%q", tomltree.Clip(list[i].Name))
			if _, ok := in.Lines[key]; !ok {
				key, text = table, "algorithm is missing"
			}
			return in.Wrong(key, text, strings.Join(names, ", "))
		}
		switch last := i == len(list)-1; {
		case !last && list[i].Max == math.MaxUint64:
			return in.Wrong(table, "max_bytes is missing", "only the last algorithm of a collective without it")
		case last && list[i].Max != math.MaxUint64:
			return in.Wrong(table+".max_bytes", fmt.Sprintf("%d: no algorithm for larger ones", list[i].Max), "a last algorithm without max_bytes")
		case i > 0 && list[i].Max <= list[i-1].Max:
			return in.Wrong(table+".max_bytes", fmt.Sprint(list[i].Max), fmt.Sprintf("more than the %d before it", list[i-1].Max))
		}
	}
	return nil
}

// checkTopology verifies that the kind has its numbers.
func (in *platformReader) checkTopology() error {
	t := &in.p.Topology
	needs, given := t.topologyFields()
	kind := topologyNames[t.Kind]
	for _, name := range given {
		if !slices.Contains(needs, name) {
			allowed := "nothing of the kind"
			if needs != nil {
				allowed = strings.Join(needs, ", ")
			}
			return in.Wrong("topology."+name, "not for "+kind, allowed)
		}
	}
	for _, name := range needs {
		if !slices.Contains(given, name) {
			return in.Wrong("topology.kind", fmt.Sprintf("%s needs %s", kind, strings.Join(needs, ", ")), "")
		}
	}
	if len(t.Down) != len(t.Up) {
		return in.Wrong("topology.up", fmt.Sprintf("%d levels", len(t.Up)), fmt.Sprintf("as many as down has, %d", len(t.Down)))
	}
	if _, _, err := t.make(); err != nil {
		return in.Wrong("topology.kind", err.Error(), "")
	}
	return nil
}
