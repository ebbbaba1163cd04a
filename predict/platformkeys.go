package predict

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

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

// platformTables are the tables of a file: what each is.
var platformTables = map[string]string{
	"nodes":           "a table [nodes]",
	"compute":         "a table [compute]",
	"links":           "tables links.self, links.node, links.net",
	"links.*":         "a table of L_ns, o_send_ns and so on",
	"links.*.sizes[]": "{ max_bytes = N, G_ns_per_byte = X }",
	"topology":        "a table [topology]",
	"filesystem":      "a table [filesystem]",
	"collectives":     "a table [collectives]",
	"collectives.*[]": "{ max_bytes = N, algorithm = NAME }",
}

// platformKey is what a key may hold.
type platformKey struct {
	allowed string
	set     func(in *platformReader) bool // false: not allowed
}

const (
	aTime  = "a time of 0 to 10^12 ns"
	aRate  = "a time of 0 to 4000000 ns a byte"
	aBand  = "a whole number of 1000 to 10^15 bytes/s"
	aCount = "a whole number of 1 to 16777216"

	someCounts = "an array of one to 16 whole numbers of 1 to 16777216"
)

// platformKeys are the keys of a file.
var platformKeys = map[string]platformKey{
	"schema":         {`"` + platformSchema + `"`, func(in *platformReader) bool { return in.e.kind == unstable.String && in.e.text == platformSchema }},
	"name":           {"a string of at most 200 bytes without control characters", (*platformReader).name},
	"receive_policy": {allowedWords(policyNames), func(in *platformReader) bool { return word(in, policyNames, &in.p.Policy) }},
	"contention":     {allowedWords(contentionNames), func(in *platformReader) bool { return word(in, contentionNames, &in.p.Contention) }},
	"rendezvous": {allowedWords(handshakeNames), func(in *platformReader) bool {
		var i int
		ok := in.oneOf(handshakeNames, &i)
		in.p.NoRendezvousLatency = i == 1
		return ok
	}},

	"nodes.count":          {aCount, func(in *platformReader) bool { return in.count(1, maxNodes, &in.p.Nodes) }},
	"nodes.ranks_per_node": {aCount, func(in *platformReader) bool { return in.count(1, maxNodes, &in.p.RanksPerNode) }},
	"nodes.nics":           {"a whole number of 1 to 1024", func(in *platformReader) bool { return in.count(1, 1024, &in.p.NICs) }},
	"nodes.mapping": {`"block", "cyclic" or the path of a table`, func(in *platformReader) bool {
		in.p.Mapping = in.e.text
		return in.e.kind == unstable.String && in.e.text != "" && plainText(in.e.text, 4096)
	}},
	"compute.scale": {"a number above 0 and up to 1000000, with at most nine decimals", func(in *platformReader) bool {
		var ok bool
		if _, ok = in.number(); ok {
			in.p.Scale, ok = ParseScale(in.e.text)
		}
		return ok
	}},

	"links.*.L_ns": {aTime, func(in *platformReader) bool { return in.time(&in.link().Latency) }},
	"links.*.hop_ns": {"a time of 0 to 1000000 ns", func(in *platformReader) bool {
		return in.time(&in.link().Hop) && in.link().Hop <= maxHopNS*1000
	}},
	"links.*.o_send_ns":             {aTime, func(in *platformReader) bool { return in.time(&in.link().SendOver) }},
	"links.*.o_recv_ns":             {aTime, func(in *platformReader) bool { return in.time(&in.link().RecvOver) }},
	"links.*.g_ns":                  {aTime, func(in *platformReader) bool { return in.time(&in.link().Gap) }},
	"links.*.G_ns_per_byte":         {aRate, func(in *platformReader) bool { return in.rate(&in.link().PerByte) }},
	"links.*.O_ns_per_byte":         {aRate, func(in *platformReader) bool { return in.rate(&in.link().OverByte) }},
	"links.*.eager_bytes":           {"a whole number of 0 to 2^62 bytes", func(in *platformReader) bool { return in.integer(0, maxBytes, &in.link().Eager) }},
	"links.*.sizes[].max_bytes":     {"a whole number of 1 to 2^62 bytes", func(in *platformReader) bool { return in.integer(1, maxBytes, &last(in.link().Sizes).Max) }},
	"links.*.sizes[].G_ns_per_byte": {aRate, func(in *platformReader) bool { return in.rate(&last(in.link().Sizes).PerByte) }},

	"topology.kind":          {allowedWords(topologyNames), func(in *platformReader) bool { return word(in, topologyNames, &in.p.Topology.Kind) }},
	"topology.down":          {someCounts, func(in *platformReader) bool { return in.counts(maxNodes, &in.p.Topology.Down) }},
	"topology.up":            {someCounts, func(in *platformReader) bool { return in.counts(maxNodes, &in.p.Topology.Up) }},
	"topology.dims":          {someCounts, func(in *platformReader) bool { return in.counts(maxNodes, &in.p.Topology.Dims) }},
	"topology.groups":        {aCount, func(in *platformReader) bool { return in.count(1, maxNodes, &in.p.Topology.Groups) }},
	"topology.routers":       {aCount, func(in *platformReader) bool { return in.count(1, maxNodes, &in.p.Topology.Routers) }},
	"topology.ports":         {aCount, func(in *platformReader) bool { return in.count(1, maxNodes, &in.p.Topology.Ports) }},
	"topology.G_ns_per_byte": {aRate, func(in *platformReader) bool { return in.rate(&in.p.Topology.LinkRate) }},

	"filesystem.open_ns":            {aTime, func(in *platformReader) bool { return in.time(&in.p.Files.Open) }},
	"filesystem.client_bytes_per_s": {aBand, func(in *platformReader) bool { return in.integer(minBand, maxBand, &in.p.Files.Client) }},
	"filesystem.total_bytes_per_s":  {aBand, func(in *platformReader) bool { return in.integer(minBand, maxBand, &in.p.Files.Total) }},

	"collectives.gamma_ns_per_byte": {aRate, func(in *platformReader) bool { return in.rate(&in.p.Gamma) }},
	"collectives.model": {"true or false", func(in *platformReader) bool {
		in.p.ModelCollectives = in.e.text == "true"
		return in.e.kind == unstable.Bool
	}},
	"collectives.*[].max_bytes": {"a whole number of 0 to 2^62 bytes", func(in *platformReader) bool {
		return in.integer(0, maxBytes, &last(in.p.Collectives[in.coll]).Max)
	}},
	"collectives.*[].algorithm": {"the name of an algorithm", func(in *platformReader) bool {
		last(in.p.Collectives[in.coll]).Name = in.e.text
		return in.e.kind == unstable.String
	}},
}

// last is the element in progress.
func last[T any](s []T) *T { return &s[len(s)-1] }

// name reads the platform's name.
func (in *platformReader) name() bool {
	in.p.Name = in.e.text
	return in.e.kind == unstable.String && plainText(in.e.text, 200)
}

// plainText tells whether a string is short and can be printed.
func plainText(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// word reads one of some words as its number.
func word[T ~uint8](in *platformReader, words []string, to *T) bool {
	var i int
	ok := in.oneOf(words, &i)
	*to = T(i)
	return ok
}

// allowedWords lists words for a message.
func allowedWords(words []string) string { return strings.Join(words, ", ") }

// platformNames lists the keys and tables right under a prefix, in order.
func platformNames(prefix string) []string {
	var names []string
	add := func(rule string) {
		rest, ok := strings.CutPrefix(rule, prefix)
		if !ok || rest == "" {
			return
		}
		rest, _, _ = strings.Cut(rest, ".")
		switch rest = strings.TrimSuffix(rest, "[]"); {
		case rest != "*":
			names = append(names, rest)
		case prefix == "links.":
			names = append(names, linkNames...)
		default:
			names = append(names, collNames...)
		}
	}
	for rule := range platformKeys {
		add(rule)
	}
	for rule := range platformTables {
		add(rule)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
