package platform

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/exact"
	"github.com/coppice-hpc/coppice/internal/tomltree"
	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
)

// ErrInvalid is wrapped by every error about a platform.
var ErrInvalid = errors.New("platform")

// platformSchema is the schema of platform files that this package reads and writes.
const platformSchema = "coppice.platform/1"

// Limits of a platform file: of its bytes, and of its keys and tables.
const (
	maxPlatform = 256 << 10
	maxEntries  = 4096
)

// Open reads a platform file. An error names the file, the line, the key, and what is allowed.
func Open(path string) (*Platform, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer f.Close()
	p, err := Read(f, path)
	if err != nil {
		return nil, err
	}
	p.folder = filepath.Dir(path)
	return p, nil
}

// Read reads a platform file. name is used in errors.
func Read(r io.Reader, name string) (*Platform, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPlatform+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	tables, root, err := tomltree.Open(name, ErrInvalid, data, maxPlatform, maxEntries)
	if err != nil {
		return nil, err
	}
	in := platformReader{tables, New()}
	if err := in.root(root); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return in.p, nil
}

// platformReader reads a file into a platform.
type platformReader struct {
	*tomltree.Reader
	p *Platform
}

// root reads the top level of the file.
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

// keysTable describes a table that has only keys.
func keysTable[T any](in *platformReader, name string, keys []tomltree.Key[T], to *T) tomltree.Part {
	return tomltree.Part{Name: name, Allowed: "a table [" + name + "]", Read: func(v *tomltree.Value, path string) error {
		return tomltree.ReadTable(in.Reader, v, path, keys, to)
	}}
}

func (in *platformReader) links(v *tomltree.Value, path string) error {
	var tables []tomltree.Part
	for c, name := range linkNames {
		tables = append(tables, tomltree.Part{Name: name, Allowed: "a table of L_ns, o_send_ns and so on", Read: func(v *tomltree.Value, path string) error {
			l := &network.Link{Eager: maxBytes}
			in.p.Links[c] = l
			return tomltree.ReadTable(in.Reader, v, path, linkKeys, l, tomltree.Part{Name: "sizes", Allowed: aSize, List: true, Read: func(v *tomltree.Value, path string) error {
				l.Sizes = append(l.Sizes, network.SizeRate{})
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
			*list = append(*list, network.Algorithm{Max: math.MaxUint64})
			return tomltree.ReadTable(in.Reader, v, path, algorithmKeys(program.CollKind(k)), last(*list))
		}})
	}
	return tomltree.ReadTable(in.Reader, v, path, collectivesKeys, in.p, tables...)
}

// last returns the last element.
func last[T any](s []T) *T { return &s[len(s)-1] }

// check checks what depends on several keys.
func (in *platformReader) check() error {
	if err := in.NeedsSchema(platformSchema); err != nil {
		return err
	}
	p := in.p
	if p.Links[network.LinkNode] == nil && p.Links[network.LinkNet] == nil {
		return in.Wrong("links", "neither links.node nor links.net is there", "one of them or both")
	}
	if p.Policy == network.Arrival && p.Contention != network.NoContention {
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
		if err := in.checkAlgorithms(program.CollKind(k), list); err != nil {
			return err
		}
	}
	return in.checkTopology()
}

// checkSizes checks the ranges of rates of a link.
func (in *platformReader) checkSizes(class string, l *network.Link) error {
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

// checkAlgorithms checks the algorithms of a collective.
func (in *platformReader) checkAlgorithms(kind program.CollKind, list []network.Algorithm) error {
	for i := range list {
		table := fmt.Sprintf("collectives.%s[%d]", collNames[kind], i)
		if _, ok := in.Lines[table+".algorithm"]; !ok {
			return in.Wrong(table, "algorithm is missing", strings.Join(algorithmNames(kind), ", "))
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

// checkTopology checks that exactly the keys that the kind needs are given.
func (in *platformReader) checkTopology() error {
	t := &in.p.Topology
	kind, needs := topologyNames[t.Kind], topologyNeeds[t.Kind]
	given := func(name string) bool { return in.Lines["topology."+name] > 0 }
	for _, name := range slices.Concat(topologyNeeds[:]...) {
		if given(name) && !slices.Contains(needs, name) {
			return in.Wrong("topology."+name, "not for "+kind, cmp.Or(strings.Join(needs, ", "), "nothing of the kind"))
		}
	}
	if slices.ContainsFunc(needs, func(name string) bool { return !given(name) }) {
		return in.Wrong("topology.kind", fmt.Sprintf("%s needs %s", kind, strings.Join(needs, ", ")), "")
	}
	if len(t.Down) != len(t.Up) {
		return in.Wrong("topology.up", fmt.Sprintf("%d levels", len(t.Up)), fmt.Sprintf("as many as down has, %d", len(t.Down)))
	}
	if _, err := t.make(); err != nil {
		return in.Wrong("topology.kind", err.Error(), "")
	}
	return nil
}

// Write writes the platform in canonical form: equal platforms give equal bytes, and reading them gives the same platform. Each note
// becomes a comment line at the top.
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
			parts = append(parts, "{ "+strings.Join(tomltree.Written(algorithmKeys(program.CollKind(k)), &list[i]), ", ")+" }")
		}
		lines = append(lines, collNames[k]+" = ["+strings.Join(parts, ", ")+"]")
	}
	table("[collectives]", lines)
	_, err := io.WriteString(w, b.String())
	return err
}

// Words of the file, by the number of the constant.
var (
	linkNames       = []string{"self", "node", "net"}
	policyNames     = []string{"dma", "copy", "arrival"}
	contentionNames = []string{"none", "nic", "links"}
	collNames       = []string{"barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan"}
)

// LinkName returns the word for a class of links in platform files and reports.
func LinkName(c network.LinkClass) string { return linkNames[c] }

// ContentionName returns the word for a kind of contention.
func ContentionName(c network.Contention) string { return contentionNames[c] }

// PolicyName returns the word for a receive policy.
func PolicyName(p network.Policy) string { return policyNames[p] }

const (
	aTime  = "a time of 0 to 10^12 ns"
	aRate  = "a time of 0 to 4000000 ns a byte"
	aBand  = "a whole number of 1000 to 10^15 bytes/s"
	aCount = "a whole number of 1 to 16777216"

	aSize = "{ max_bytes = N, G_ns_per_byte = X }"
)

// Keys of each table in the order in which they are written. An argument always says that a key is written even if it is 0.
var (
	platformRoot = []tomltree.Key[Platform]{
		tomltree.SchemaKey[Platform](platformSchema),
		tomltree.TextKey("name", "a string of at most 200 bytes without control characters", printable(0, 200), func(p *Platform) *string { return &p.Name }),
		tomltree.WordKey("receive_policy", policyNames, func(p *Platform) *network.Policy { return &p.Policy }),
		tomltree.WordKey("contention", contentionNames, func(p *Platform) *network.Contention { return &p.Contention }),
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
	linkKeys = []tomltree.Key[network.Link]{
		timeKey("L_ns", aTime, maxTimeNS, true, func(l *network.Link) *int64 { return &l.Latency }),
		timeKey("hop_ns", "a time of 0 to 1000000 ns", maxHopNS, false, func(l *network.Link) *int64 { return &l.Hop }),
		timeKey("o_send_ns", aTime, maxTimeNS, true, func(l *network.Link) *int64 { return &l.SendOver }),
		timeKey("o_recv_ns", aTime, maxTimeNS, true, func(l *network.Link) *int64 { return &l.RecvOver }),
		timeKey("g_ns", aTime, maxTimeNS, true, func(l *network.Link) *int64 { return &l.Gap }),
		rateKey("G_ns_per_byte", true, func(l *network.Link) *network.Rate { return &l.PerByte }),
		rateKey("O_ns_per_byte", false, func(l *network.Link) *network.Rate { return &l.OverByte }),
		tomltree.WholeKey("eager_bytes", "a whole number of 0 to 2^62 bytes", 0, maxBytes, maxBytes, func(l *network.Link) *uint64 { return &l.Eager }),
	}
	sizeKeys = []tomltree.Key[network.SizeRate]{
		tomltree.WholeKey("max_bytes", "a whole number of 1 to 2^62 bytes", 1, maxBytes, 0, func(s *network.SizeRate) *uint64 { return &s.Max }),
		rateKey("G_ns_per_byte", true, func(s *network.SizeRate) *network.Rate { return &s.PerByte }),
	}
	topologyKeys = []tomltree.Key[Topology]{
		tomltree.WordKey("kind", topologyNames, func(t *Topology) *TopologyKind { return &t.Kind }),
		listKey("down", func(t *Topology) *[]uint32 { return &t.Down }),
		listKey("up", func(t *Topology) *[]uint32 { return &t.Up }),
		listKey("dims", func(t *Topology) *[]uint32 { return &t.Dims }),
		tomltree.WholeKey("groups", aCount, 1, maxNodes, 0, func(t *Topology) *uint32 { return &t.Groups }),
		tomltree.WholeKey("routers", aCount, 1, maxNodes, 0, func(t *Topology) *uint32 { return &t.Routers }),
		tomltree.WholeKey("ports", aCount, 1, maxNodes, 0, func(t *Topology) *uint32 { return &t.Ports }),
		rateKey("G_ns_per_byte", false, func(t *Topology) *network.Rate { return &t.LinkRate }),
	}
	filesKeys = []tomltree.Key[FileSystem]{
		timeKey("open_ns", aTime, maxTimeNS, true, func(f *FileSystem) *int64 { return &f.Open }),
		tomltree.WholeKey("client_bytes_per_s", aBand, minBand, maxBand, 0, func(f *FileSystem) *uint64 { return &f.Client }),
		tomltree.WholeKey("total_bytes_per_s", aBand, minBand, maxBand, 0, func(f *FileSystem) *uint64 { return &f.Total }),
	}
	collectivesKeys = []tomltree.Key[Platform]{
		rateKey("gamma_ns_per_byte", true, func(p *Platform) *network.Rate { return &p.Gamma }),
		tomltree.SwitchKey("model", tomltree.Bool, "false", "true", func(p *Platform) *bool { return &p.ModelCollectives }),
	}
)

// algorithmKeys returns the keys of an algorithm of a collective operation.
func algorithmKeys(kind program.CollKind) []tomltree.Key[network.Algorithm] {
	names := algorithmNames(kind)
	return []tomltree.Key[network.Algorithm]{
		tomltree.WholeKey("max_bytes", "a whole number of 0 to 2^62 bytes", 0, maxBytes, math.MaxUint64, func(a *network.Algorithm) *uint64 { return &a.Max }),
		{Name: "algorithm", Allowed: strings.Join(names, ", "), Read: func(a *network.Algorithm, v *tomltree.Value) bool {
			i := slices.Index(names, v.Text)
			a.Scheme = network.Schemes(kind)[max(i, 0)]
			return v.Kind == tomltree.String && i >= 0
		}, Write: func(a *network.Algorithm) string { return tomltree.Quote(a.Scheme.String()) }},
	}
}

func algorithmNames(kind program.CollKind) (names []string) {
	for _, s := range network.Schemes(kind) {
		names = append(names, s.String())
	}
	return names
}

// timeKey describes a key with a time in ns, which is kept in ps.
func timeKey[T any](name, allowed string, mostNS uint64, always bool, at func(*T) *int64) tomltree.Key[T] {
	return tomltree.Key[T]{Name: name, Allowed: allowed, Read: func(to *T, v *tomltree.Value) bool {
		x, _ := numberOf(v)
		ps, ok := scaled(x, 1000, mostNS*1000)
		*at(to) = int64(ps)
		return ok
	}, Write: func(from *T) string {
		if ps := *at(from); ps != 0 || always {
			return trimmed(exact.Int(ps).Div(1000).Fixed(3))
		}
		return ""
	}}
}

// rateKey describes a key with ns per byte.
func rateKey[T any](name string, always bool, at func(*T) *network.Rate) tomltree.Key[T] {
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

// listKey describes a key with a list of counts.
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

// numberOf returns a number with all its digits.
func numberOf(v *tomltree.Value) (exact.Number, bool) {
	if v.Kind != tomltree.Integer && v.Kind != tomltree.Float {
		return exact.Number{}, false
	}
	return decimal(v.Text)
}

// printable returns a check for strings of at least least and at most most bytes that can be printed.
func printable(least, most int) func(s string) bool {
	return func(s string) bool { return len(s) >= least && plainText(s, most) }
}

// plainText returns whether a string has at most most bytes and can be printed.
func plainText(s string, most int) bool {
	return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Limits of values in a file. With them sums of times fit 2^63 ps, 106 days, for any program that is worth simulating. The engines refuse
// others.
const (
	maxTimeNS = 1e12 // 1000 s
	maxHopNS  = 1e6  // times the number of links of the largest topology, 2^30, is below 2^60 ps
	maxRateNS = 4e6  // ns per byte; 250 bytes/s
	maxBytes  = 1 << 62
	minBand   = 1000 // bytes/s
	maxBand   = 1e15
)

// decimal parses a number of TOML.
func decimal(text string) (exact.Number, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if len(text) > 1 && text[0] == '0' && strings.ContainsRune("xob", rune(text[1])) {
		n, err := strconv.ParseUint(text, 0, 64)
		return exact.Share(0, n, 1), err == nil
	}
	return exact.Parse(text)
}

// scaled returns x times factor, rounded to the nearest integer, halves up, and whether x is not negative and the result at most most.
func scaled(x exact.Number, factor, most uint64) (uint64, bool) {
	y := x.Times(factor)
	v := uint64(y.Round())
	return v, y.Known() && x.Sign() >= 0 && v <= most
}

// rateOf converts ns per byte to a rate.
func rateOf(x exact.Number) (network.Rate, bool) {
	const unit = 1000 << 32
	n := x.Floor()
	part, ok := scaled(x.Minus(exact.Int(n)), unit, unit)
	return network.Rate(uint64(n)*unit + part), ok && n >= 0 && x.Compare(exact.Int(maxRateNS)) <= 0
}

// rateNS formats a rate as ns per byte, with the fewest digits that give the same rate when they are read.
func rateNS(r network.Rate) string {
	for digits := 0; ; digits++ {
		s := exact.Share(0, uint64(r), 1000<<32).Fixed(digits)
		x, _ := exact.Parse(s)
		if back, fits := rateOf(x); fits && back == r || digits == 18 {
			return trimmed(s)
		}
	}
}

// trimmed removes trailing zeros of a decimal fraction.
func trimmed(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// ParseScale parses a factor of computing times, such as 0.7. It must be above 0 and at most a million, with at most nine decimals.
func ParseScale(text string) (Scale, bool) {
	x, ok := decimal(text)
	billionths := x.Times(1e9)
	if !ok || x.Sign() <= 0 || x.Compare(exact.Int(1e6)) > 0 || !billionths.IsInt() {
		return Scale{}, false
	}
	num, den := lowest(uint64(billionths.Floor()), 1e9)
	return Scale{num, den}, true
}

// String formats the factor as a decimal.
func (s Scale) String() string {
	return trimmed(exact.Share(0, s.Num, s.Den).Fixed(9))
}
