package predict

import (
	"fmt"
	"math"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet"
)

// Words of the file, by their number in the program.
var (
	linkNames       = []string{"self", "node", "net"}
	policyNames     = []string{"dma", "copy", "arrival"}
	contentionNames = []string{"none", "nic", "links"}
	collNames       = []string{"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan"}
)

// LinkName is the word for a class of links in platform files and reports.
func LinkName(c simnet.LinkClass) string { return linkNames[c] }

// ContentionName and PolicyName are the words for them.
func ContentionName(c simnet.Contention) string { return contentionNames[c] }

// PolicyName is the word for a way to receive.
func PolicyName(p simnet.Policy) string { return policyNames[p] }

const (
	aTime  = "a time of 0 to 10^12 ns"
	aRate  = "a time of 0 to 4000000 ns a byte"
	aBand  = "a whole number of 1000 to 10^15 bytes/s"
	aCount = "a whole number of 1 to 16777216"

	aSize = "{ max_bytes = N, G_ns_per_byte = X }"
)

// Keys of each table, in the order in which they are written. What is always written says so.
var (
	platformRoot = []tomltree.Key[Platform]{
		tomltree.SchemaKey[Platform](platformSchema),
		tomltree.TextKey("name", "a string of at most 200 bytes without control characters", printable(0, 200), func(p *Platform) *string { return &p.Name }),
		tomltree.WordKey("receive_policy", policyNames, func(p *Platform) *simnet.Policy { return &p.Policy }),
		tomltree.WordKey("contention", contentionNames, func(p *Platform) *simnet.Contention { return &p.Contention }),
		tomltree.SwitchKey("rendezvous", tomltree.String, "latency", "nolatency", func(p *Platform) *bool { return &p.NoRendezvousLatency }),
	}
	nodesKeys = []tomltree.Key[Platform]{
		tomltree.WholeKey("count", aCount, 1, maxNodes, 0, func(p *Platform) *uint32 { return &p.Nodes }),
		tomltree.WholeKey("ranks_per_node", aCount, 1, maxNodes, 0, func(p *Platform) *uint32 { return &p.RanksPerNode }),
		tomltree.WholeKey("nics", "a whole number of 1 to 1024", 1, 1024, 0, func(p *Platform) *uint32 { return &p.NICs }),
		tomltree.TextKey("mapping", `"block", "cyclic" or the path of a table`, printable(1, 4096), func(p *Platform) *string { return &p.Mapping }),
	}
	computeKeys = []tomltree.Key[Platform]{{
		Name: "scale", Allowed: "a number above 0 and up to 1000000, with at most nine decimals",
		Read: func(p *Platform, v *tomltree.Value) (ok bool) {
			if _, ok = numberOf(v); ok {
				p.Scale, ok = ParseScale(v.Text)
			}
			return ok
		},
		Write: func(p *Platform) string { return p.Scale.String() },
	}}
	linkKeys = []tomltree.Key[simnet.Link]{
		timeKey("L_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.Latency }),
		timeKey("hop_ns", "a time of 0 to 1000000 ns", maxHopNS, false, func(l *simnet.Link) *int64 { return &l.Hop }),
		timeKey("o_send_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.SendOver }),
		timeKey("o_recv_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.RecvOver }),
		timeKey("g_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.Gap }),
		rateKey("G_ns_per_byte", true, func(l *simnet.Link) *simnet.Rate { return &l.PerByte }),
		rateKey("O_ns_per_byte", false, func(l *simnet.Link) *simnet.Rate { return &l.OverByte }),
		tomltree.WholeKey("eager_bytes", "a whole number of 0 to 2^62 bytes", 0, maxBytes, maxBytes, func(l *simnet.Link) *uint64 { return &l.Eager }),
	}
	sizeKeys = []tomltree.Key[simnet.SizeRate]{
		tomltree.WholeKey("max_bytes", "a whole number of 1 to 2^62 bytes", 1, maxBytes, 0, func(s *simnet.SizeRate) *uint64 { return &s.Max }),
		rateKey("G_ns_per_byte", true, func(s *simnet.SizeRate) *simnet.Rate { return &s.PerByte }),
	}
	topologyKeys = []tomltree.Key[TopologySpec]{
		tomltree.WordKey("kind", topologyNames, func(t *TopologySpec) *TopologyKind { return &t.Kind }),
		listKey("down", func(t *TopologySpec) *[]uint32 { return &t.Down }),
		listKey("up", func(t *TopologySpec) *[]uint32 { return &t.Up }),
		listKey("dims", func(t *TopologySpec) *[]uint32 { return &t.Dims }),
		tomltree.WholeKey("groups", aCount, 1, maxNodes, 0, func(t *TopologySpec) *uint32 { return &t.Groups }),
		tomltree.WholeKey("routers", aCount, 1, maxNodes, 0, func(t *TopologySpec) *uint32 { return &t.Routers }),
		tomltree.WholeKey("ports", aCount, 1, maxNodes, 0, func(t *TopologySpec) *uint32 { return &t.Ports }),
		rateKey("G_ns_per_byte", false, func(t *TopologySpec) *simnet.Rate { return &t.LinkRate }),
	}
	filesKeys = []tomltree.Key[FileSystem]{
		timeKey("open_ns", aTime, maxTimeNS, true, func(f *FileSystem) *int64 { return &f.Open }),
		tomltree.WholeKey("client_bytes_per_s", aBand, minBand, maxBand, 0, func(f *FileSystem) *uint64 { return &f.Client }),
		tomltree.WholeKey("total_bytes_per_s", aBand, minBand, maxBand, 0, func(f *FileSystem) *uint64 { return &f.Total }),
	}
	collectivesKeys = []tomltree.Key[Platform]{
		rateKey("gamma_ns_per_byte", true, func(p *Platform) *simnet.Rate { return &p.Gamma }),
		tomltree.SwitchKey("model", tomltree.Bool, "false", "true", func(p *Platform) *bool { return &p.ModelCollectives }),
	}
	algorithmKeys = []tomltree.Key[simnet.Algorithm]{
		tomltree.WholeKey("max_bytes", "a whole number of 0 to 2^62 bytes", 0, maxBytes, math.MaxUint64, func(a *simnet.Algorithm) *uint64 { return &a.Max }),
		tomltree.TextKey("algorithm", "the name of an algorithm", printable(0, maxPlatform), func(a *simnet.Algorithm) *string { return &a.Name }),
	}
)

// timeKey is a number of ns, kept in ps.
func timeKey[T any](name, allowed string, mostNS uint64, always bool, at func(*T) *int64) tomltree.Key[T] {
	return tomltree.Key[T]{Name: name, Allowed: allowed, Read: func(to *T, v *tomltree.Value) bool {
		x, _ := numberOf(v)
		ps, ok := scaled(x, 1000, mostNS*1000)
		*at(to) = int64(ps)
		return ok
	}, Write: func(from *T) string {
		if ps := *at(from); ps != 0 || always {
			return nsOf(ps)
		}
		return ""
	}}
}

// rateKey is a number of ns a byte.
func rateKey[T any](name string, always bool, at func(*T) *simnet.Rate) tomltree.Key[T] {
	return tomltree.Key[T]{Name: name, Allowed: aRate, Read: func(to *T, v *tomltree.Value) (ok bool) {
		x, ok := numberOf(v)
		if ok {
			*at(to), ok = rateOf(x)
		}
		return ok
	}, Write: func(from *T) string {
		if r := *at(from); r != 0 || always {
			return rateNS(r)
		}
		return ""
	}}
}

// listKey is a list of counts.
func listKey[T any](name string, at func(*T) *[]uint32) tomltree.Key[T] {
	return tomltree.Key[T]{Name: name, Allowed: "an array of one to 16 whole numbers of 1 to 16777216", Read: func(to *T, v *tomltree.Value) bool {
		for _, x := range v.Items {
			if x.Kind != tomltree.Integer || x.Whole < 1 || x.Whole > maxNodes {
				return false
			}
			*at(to) = append(*at(to), uint32(x.Whole))
		}
		return v.Kind == tomltree.List && len(v.Items) >= 1 && len(v.Items) <= 16
	}, Write: func(from *T) string {
		if *at(from) == nil {
			return ""
		}
		return strings.ReplaceAll(fmt.Sprint(*at(from)), " ", ", ")
	}}
}

// numberOf is a number with all of its digits.
func numberOf(v *tomltree.Value) (exact.Number, bool) {
	if v.Kind != tomltree.Integer && v.Kind != tomltree.Float {
		return exact.Number{}, false
	}
	return decimal(v.Text)
}

// printable tells whether a string of some bytes can be printed.
func printable(least, most int) func(s string) bool {
	return func(s string) bool { return len(s) >= least && plainText(s, most) }
}

// plainText tells whether a string is short and can be printed.
func plainText(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
