package predict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
	handshakeNames  = []string{"latency", "nolatency"}
	collNames       = []string{"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan"}
)

// LinkName is the word for a class of links in platform files and reports.
func LinkName(c simnet.LinkClass) string { return linkNames[c] }

// ContentionName and PolicyName are the words for them.
func ContentionName(c simnet.Contention) string { return contentionNames[c] }

// PolicyName is the word for a way to receive.
func PolicyName(p simnet.Policy) string { return policyNames[p] }

// platformKey is a key of a table that describes a T: how it is read, and how it is written.
type platformKey[T any] struct {
	name, allowed string
	read          func(to *T, v *tomltree.Value) bool // false: not allowed
	write         func(from *T) string                // "": as it is without the key
}

const (
	aTime  = "a time of 0 to 10^12 ns"
	aRate  = "a time of 0 to 4000000 ns a byte"
	aBand  = "a whole number of 1000 to 10^15 bytes/s"
	aCount = "a whole number of 1 to 16777216"

	aSize = "{ max_bytes = N, G_ns_per_byte = X }"
)

// Keys of each table, in the order in which they are written. What is always written says so.
var (
	platformRoot = []platformKey[Platform]{
		{
			"schema", `"` + platformSchema + `"`,
			func(_ *Platform, v *tomltree.Value) bool {
				return v.Kind == tomltree.String && v.Text == platformSchema
			},
			func(*Platform) string { return tomltree.Quote(platformSchema) },
		},
		textKey("name", "a string of at most 200 bytes without control characters", 0, 200, func(p *Platform) *string { return &p.Name }),
		wordKey("receive_policy", policyNames, func(p *Platform) *simnet.Policy { return &p.Policy }),
		wordKey("contention", contentionNames, func(p *Platform) *simnet.Contention { return &p.Contention }),
		{
			"rendezvous", allowedWords(handshakeNames),
			func(p *Platform, v *tomltree.Value) bool {
				i := wordOf(handshakeNames, v)
				p.NoRendezvousLatency = i == 1
				return i >= 0
			},
			func(p *Platform) string {
				if !p.NoRendezvousLatency {
					return ""
				}
				return tomltree.Quote(handshakeNames[1])
			},
		},
	}
	nodesKeys = []platformKey[Platform]{
		numberKey("count", aCount, 1, maxNodes, 0, func(p *Platform) *uint32 { return &p.Nodes }),
		numberKey("ranks_per_node", aCount, 1, maxNodes, 0, func(p *Platform) *uint32 { return &p.RanksPerNode }),
		numberKey("nics", "a whole number of 1 to 1024", 1, 1024, 0, func(p *Platform) *uint32 { return &p.NICs }),
		textKey("mapping", `"block", "cyclic" or the path of a table`, 1, 4096, func(p *Platform) *string { return &p.Mapping }),
	}
	computeKeys = []platformKey[Platform]{{
		"scale", "a number above 0 and up to 1000000, with at most nine decimals",
		func(p *Platform, v *tomltree.Value) (ok bool) {
			if _, ok = numberOf(v); ok {
				p.Scale, ok = ParseScale(v.Text)
			}
			return ok
		},
		func(p *Platform) string { return p.Scale.String() },
	}}
	linkKeys = []platformKey[simnet.Link]{
		timeKey("L_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.Latency }),
		timeKey("hop_ns", "a time of 0 to 1000000 ns", maxHopNS, false, func(l *simnet.Link) *int64 { return &l.Hop }),
		timeKey("o_send_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.SendOver }),
		timeKey("o_recv_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.RecvOver }),
		timeKey("g_ns", aTime, maxTimeNS, true, func(l *simnet.Link) *int64 { return &l.Gap }),
		rateKey("G_ns_per_byte", true, func(l *simnet.Link) *simnet.Rate { return &l.PerByte }),
		rateKey("O_ns_per_byte", false, func(l *simnet.Link) *simnet.Rate { return &l.OverByte }),
		numberKey("eager_bytes", "a whole number of 0 to 2^62 bytes", 0, maxBytes, maxBytes, func(l *simnet.Link) *uint64 { return &l.Eager }),
	}
	sizeKeys = []platformKey[simnet.SizeRate]{
		numberKey("max_bytes", "a whole number of 1 to 2^62 bytes", 1, maxBytes, 0, func(s *simnet.SizeRate) *uint64 { return &s.Max }),
		rateKey("G_ns_per_byte", true, func(s *simnet.SizeRate) *simnet.Rate { return &s.PerByte }),
	}
	topologyKeys = []platformKey[TopologySpec]{
		wordKey("kind", topologyNames, func(t *TopologySpec) *TopologyKind { return &t.Kind }),
		listKey("down", func(t *TopologySpec) *[]uint32 { return &t.Down }),
		listKey("up", func(t *TopologySpec) *[]uint32 { return &t.Up }),
		listKey("dims", func(t *TopologySpec) *[]uint32 { return &t.Dims }),
		numberKey("groups", aCount, 1, maxNodes, 0, func(t *TopologySpec) *uint32 { return &t.Groups }),
		numberKey("routers", aCount, 1, maxNodes, 0, func(t *TopologySpec) *uint32 { return &t.Routers }),
		numberKey("ports", aCount, 1, maxNodes, 0, func(t *TopologySpec) *uint32 { return &t.Ports }),
		rateKey("G_ns_per_byte", false, func(t *TopologySpec) *simnet.Rate { return &t.LinkRate }),
	}
	filesKeys = []platformKey[FileSystem]{
		timeKey("open_ns", aTime, maxTimeNS, true, func(f *FileSystem) *int64 { return &f.Open }),
		numberKey("client_bytes_per_s", aBand, minBand, maxBand, 0, func(f *FileSystem) *uint64 { return &f.Client }),
		numberKey("total_bytes_per_s", aBand, minBand, maxBand, 0, func(f *FileSystem) *uint64 { return &f.Total }),
	}
	collectivesKeys = []platformKey[Platform]{
		rateKey("gamma_ns_per_byte", true, func(p *Platform) *simnet.Rate { return &p.Gamma }),
		{
			"model", "true or false",
			func(p *Platform, v *tomltree.Value) bool {
				p.ModelCollectives = v.Text == "true"
				return v.Kind == tomltree.Bool
			},
			func(p *Platform) string {
				if !p.ModelCollectives {
					return ""
				}
				return "true"
			},
		},
	}
	algorithmKeys = []platformKey[simnet.Algorithm]{
		numberKey("max_bytes", "a whole number of 0 to 2^62 bytes", 0, maxBytes, math.MaxUint64, func(a *simnet.Algorithm) *uint64 { return &a.Max }),
		textKey("algorithm", "the name of an algorithm", 0, maxPlatform, func(a *simnet.Algorithm) *string { return &a.Name }),
	}
)

// textKey is a string of some bytes that can be printed.
func textKey[T any](name, allowed string, least, most int, at func(*T) *string) platformKey[T] {
	return platformKey[T]{name, allowed, func(to *T, v *tomltree.Value) bool {
		*at(to) = v.Text
		return v.Kind == tomltree.String && len(v.Text) >= least && plainText(v.Text, most)
	}, func(from *T) string {
		if s := *at(from); s != "" {
			return tomltree.Quote(s)
		}
		return ""
	}}
}

// wordKey is one of some words, always written.
func wordKey[T any, W ~uint8](name string, words []string, at func(*T) *W) platformKey[T] {
	return platformKey[T]{name, allowedWords(words), func(to *T, v *tomltree.Value) bool {
		i := wordOf(words, v)
		*at(to) = W(max(i, 0))
		return i >= 0
	}, func(from *T) string { return tomltree.Quote(words[*at(from)]) }}
}

// timeKey is a number of ns, kept in ps.
func timeKey[T any](name, allowed string, mostNS uint64, always bool, at func(*T) *int64) platformKey[T] {
	return platformKey[T]{name, allowed, func(to *T, v *tomltree.Value) bool {
		x, _ := numberOf(v)
		ps, ok := scaled(x, 1000, mostNS*1000)
		*at(to) = int64(ps)
		return ok
	}, func(from *T) string {
		if ps := *at(from); ps != 0 || always {
			return nsOf(ps)
		}
		return ""
	}}
}

// rateKey is a number of ns a byte.
func rateKey[T any](name string, always bool, at func(*T) *simnet.Rate) platformKey[T] {
	return platformKey[T]{name, aRate, func(to *T, v *tomltree.Value) (ok bool) {
		x, ok := numberOf(v)
		if ok {
			*at(to), ok = rateOf(x)
		}
		return ok
	}, func(from *T) string {
		if r := *at(from); r != 0 || always {
			return rateNS(r)
		}
		return ""
	}}
}

// numberKey is an integer between least and most; without is its value where the key is missing.
func numberKey[T any, N uint32 | uint64](name, allowed string, least, most, without N, at func(*T) *N) platformKey[T] {
	return platformKey[T]{name, allowed, func(to *T, v *tomltree.Value) bool {
		*at(to) = N(v.Whole)
		return v.Kind == tomltree.Integer && v.Whole >= 0 && uint64(v.Whole) >= uint64(least) && uint64(v.Whole) <= uint64(most)
	}, func(from *T) string {
		if n := *at(from); n != without {
			return strconv.FormatUint(uint64(n), 10)
		}
		return ""
	}}
}

// listKey is a list of counts.
func listKey[T any](name string, at func(*T) *[]uint32) platformKey[T] {
	return platformKey[T]{name, "an array of one to 16 whole numbers of 1 to 16777216", func(to *T, v *tomltree.Value) bool {
		for _, x := range v.Items {
			if x.Kind != tomltree.Integer || x.Whole < 1 || x.Whole > maxNodes {
				return false
			}
			*at(to) = append(*at(to), uint32(x.Whole))
		}
		return v.Kind == tomltree.List && len(v.Items) >= 1 && len(v.Items) <= 16
	}, func(from *T) string {
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

// wordOf is the number of a word, -1 if it is none of them.
func wordOf(words []string, v *tomltree.Value) int {
	if v.Kind != tomltree.String {
		return -1
	}
	return slices.Index(words, v.Text)
}

// allowedWords lists words for a message.
func allowedWords(words []string) string { return strings.Join(words, ", ") }

// plainText tells whether a string is short and can be printed.
func plainText(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
