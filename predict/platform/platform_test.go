package platform

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
	"github.com/coppice-hpc/coppice/predict/simnet/program"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const wholePlatform = `schema = "coppice.platform/1"
name = "cluster-a"
receive_policy = "dma"            # dma | copy | arrival
contention = "nic"
[nodes]
count = 256
ranks_per_node = 32
nics = 1
mapping = "block"
[compute]
scale = 0.7
[links]
node = { L_ns = 300, o_send_ns = 150, o_recv_ns = 150, g_ns = 100, G_ns_per_byte = 0.05, O_ns_per_byte = 0.0, eager_bytes = 16384 }
[links.net]
L_ns = 1200
hop_ns = 80
o_send_ns = 400.5
o_recv_ns = 4e2
g_ns = 250
G_ns_per_byte = 0.08
eager_bytes = 16_384
[[links.net.sizes]]
max_bytes = 1024
G_ns_per_byte = 0.12
[[links.net.sizes]]
max_bytes = 0x1000
G_ns_per_byte = 1
[topology]
kind = "flat"
[filesystem]
open_ns = 200000
client_bytes_per_s = 2000000000
total_bytes_per_s = 20000000000
[collectives]
gamma_ns_per_byte = 0.1
allreduce = [ { max_bytes = 2048, algorithm = "recursive-doubling" }, { algorithm = "rabenseifner" } ]
`

func read(t *testing.T, text string) *Platform {
	t.Helper()
	p, err := Read(strings.NewReader(text), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlatformFile(t *testing.T) {
	t.Parallel()
	p := read(t, wholePlatform)
	want := &Platform{
		Name: "cluster-a", Contention: network.NICContention, Nodes: 256, RanksPerNode: 32, NICs: 1, Mapping: "block", Scale: Scale{7, 10},
		Links: [network.NumLinkClasses]*network.Link{
			network.LinkNode: {Latency: 300e3, SendOver: 150e3, RecvOver: 150e3, Gap: 100e3, PerByte: 50 << 32, Eager: 16384},
			network.LinkNet: {
				Latency: 1200e3, Hop: 80e3, SendOver: 400500, RecvOver: 400e3, Gap: 250e3, PerByte: 80 << 32, Eager: 16384,
				Sizes: []network.SizeRate{{Max: 1024, PerByte: 120 << 32}, {Max: 4096, PerByte: 1000 << 32}},
			},
		},
		Files: FileSystem{Open: 200e6, Client: 2e9, Total: 20e9},
		Gamma: 100 << 32,
	}
	want.Collectives[program.Allreduce] = []network.Algorithm{{Max: 2048, Scheme: network.Schemes(program.Allreduce)[0]}, {Max: math.MaxUint64, Scheme: network.AllreduceRabenseifner}}
	if d := cmp.Diff(want, p, cmpopts.IgnoreUnexported(Platform{})); d != "" {
		t.Error(d)
	}
	n, err := p.Network(64)
	if err != nil {
		t.Fatal(err)
	}
	if n.Nodes != 256 || n.Class(0, 31) != network.LinkNode || n.Class(31, 32) != network.LinkNet || n.Links[network.LinkSelf].Latency != 300e3 {
		t.Errorf("network: %+v", n)
	}
	if got := n.Files.Client.Of(2e9); got != 1e12 {
		t.Errorf("2 GB at 2 GB/s take %d ps", got)
	}
	if _, err := p.Network(256*32 + 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("too many processes: %v", err)
	}
}

// TestPlatformErrors: each names the line, the key and what is allowed.
func TestPlatformErrors(t *testing.T) {
	t.Parallel()
	const head = "schema = \"coppice.platform/1\"\n"
	const link = "[links.net]\nL_ns = 1\n"
	for _, c := range []struct{ name, text, want string }{
		{"no schema", link, `p.toml: schema: missing; allowed is "coppice.platform/1"`},
		{"other schema", "schema = \"coppice.platform/2\"\n", `p.toml:1: schema: "coppice.platform/2"; allowed is "coppice.platform/1"`},
		{"no links", head, "p.toml: links: neither links.node nor links.net is there; allowed is one of them or both"},
		{"not TOML", head + "a = \n", "p.toml:2: not TOML: unexpected character"},
		{"twice", head + link + "L_ns = 2\n", "p.toml:4: "},
		{"unknown", head + "[links.net]\nl_ns = 2\n", "p.toml:3: links.net.l_ns: unknown key; allowed is G_ns_per_byte, L_ns, O_ns_per_byte, eager_bytes, g_ns, hop_ns, o_recv_ns, o_send_ns, sizes"},
		{"unknown table", head + "[lynx]\n", "p.toml:2: lynx: unknown key; allowed is collectives, compute, contention,"},
		{"unknown class", head + "[links.nett]\n", "p.toml:2: links.nett: unknown key; allowed is net, node, self"},
		{"unknown collective", head + link + "[collectives]\nfoo = []\n", "p.toml:5: collectives.foo: unknown key; allowed is allgather, allreduce,"},
		{"quoted key", head + "\"links.net\" = 3\n", `p.toml:2: "links.net": unknown key`},
		{"wrong type", head + "[links.net]\nL_ns = \"1\"\n", `p.toml:3: links.net.L_ns: "1"; allowed is a time of 0 to 10^12 ns`},
		{"negative", head + "[links.net]\nL_ns = -0.5\n", "p.toml:3: links.net.L_ns: -0.5; allowed is a time of 0 to 10^12 ns"},
		{"too long", head + "[links]\nnet = {g_ns = 1000000000001}\n", "p.toml:3: links.net.g_ns: 1000000000001; allowed"},
		{"huge exponent", head + "[links.net]\nL_ns = 1e9999999\n", `p.toml:3: "1e9999999" is not a number of 64 bits`},
		{"exponent", head + "[links.net]\nL_ns = 1e300\n", "p.toml:3: links.net.L_ns: 1e300; allowed"},
		{"nan", head + "[links.net]\nL_ns = nan\n", "p.toml:3: links.net.L_ns: nan; allowed"},
		{"date", head + "[links.net]\nL_ns = 2026-01-01\n", "p.toml:3: links.net.L_ns: 2026-01-01; allowed"},
		{"rate", head + "[links.net]\nG_ns_per_byte = 4000001\n", "allowed is a time of 0 to 4000000 ns a byte"},
		{"fraction of bytes", head + "[links.net]\neager_bytes = 1.0\n", "p.toml:3: links.net.eager_bytes: 1.0; allowed is a whole number"},
		{"value for a table", head + "links = 1\n", "p.toml:2: links: a value; allowed is tables links.self"},
		{"table for a value", head + "[name]\n", "p.toml:2: name: a table; allowed is a string"},
		{"table for tables", head + "[links.net.sizes]\n", "p.toml:2: links.net.sizes: a table; allowed is an array of tables, each { max_bytes"},
		{"value for tables", head + "[links.net]\nsizes = 3\n", "p.toml:3: links.net.sizes: a value; allowed is an array of tables"},
		{"elements", head + "[links.net]\nsizes = [{max_bytes = 3, G_ns_per_byte = 1}, 4]\n", "p.toml:3: links.net.sizes: a value; allowed is an array"},
		{"size without rate", head + link + "[[links.net.sizes]]\nmax_bytes = 3\n", "p.toml:4: links.net.sizes[0]: G_ns_per_byte is missing"},
		{"sizes fall", head + link + "[[links.net.sizes]]\nmax_bytes = 3\nG_ns_per_byte=1\n[[links.net.sizes]]\nmax_bytes = 3\nG_ns_per_byte=1\n", "p.toml:8: links.net.sizes[1].max_bytes: 3; allowed is more than the 3 before it"},
		{"policy", head + "receive_policy = \"DMA\"\n", `p.toml:2: receive_policy: "DMA"; allowed is dma, copy, arrival`},
		{"contention of arrivals", head + "contention = \"nic\"\nreceive_policy = \"arrival\"\n" + link, `p.toml:2: contention: "nic"; allowed is none, where receive_policy is arrival`},
		{"scale", head + "[compute]\nscale = 0\n", "p.toml:3: compute.scale: 0; allowed is a number above 0"},
		{"nodes", head + "[nodes]\ncount = 0\n", "p.toml:3: nodes.count: 0; allowed is a whole number of 1 to"},
		{"algorithm", head + link + "[collectives]\nbcast = [{algorithm = \"magic\"}]\n", `p.toml:5: collectives.bcast[0].algorithm: "magic"; allowed is binomial`},
		{"no algorithm", head + link + "[collectives]\nbcast = [{max_bytes = 1}]\n", "p.toml:5: collectives.bcast[0]: algorithm is missing; allowed is binomial"},
		{"no last algorithm", head + link + "[collectives]\nbcast = [{max_bytes = 1, algorithm = \"binomial\"}]\n", "a last algorithm without max_bytes"},
		{"two last algorithms", head + link + "[collectives]\nbcast = [{algorithm = \"binomial\"}, {algorithm = \"binomial\"}]\n", "collectives.bcast[0]: max_bytes is missing"},
		{"topology", head + link + "[topology]\nkind = \"ring\"\n", `p.toml:5: topology.kind: "ring"; allowed is flat, fat-tree, torus, dragonfly`},
		{"torus without dims", head + link + "[topology]\nkind = \"torus\"\n", "p.toml:5: topology.kind: torus needs dims"},
		{"dims of a tree", head + link + "[topology]\nkind = \"fat-tree\"\ndims = [2]\n", "p.toml:6: topology.dims: not for fat-tree; allowed is down, up"},
		{"far hops", head + "[links.net]\nhop_ns = 1000001\n", "p.toml:3: links.net.hop_ns: 1000001; allowed is a time of 0 to 1000000 ns"},
		{"huge torus", head + link + "[topology]\nkind = \"torus\"\ndims = [" + strings.Repeat("16777216,", 15) + "2]\n", "p.toml:5: topology.kind: "},
		{"huge tree", head + link + "[topology]\nkind = \"fat-tree\"\ndown = [" + strings.Repeat("16777216,", 15) + "2]\nup = [" + strings.Repeat("16777216,", 15) + "2]\n", "p.toml:5: topology.kind: "},
		{"huge dragonfly", head + link + "[topology]\nkind = \"dragonfly\"\ngroups = 16777216\nrouters = 16777216\nports = 16777216\n", "p.toml:5: topology.kind: "},
		{"levels", head + link + "[topology]\nkind = \"fat-tree\"\ndown = [2, 2]\nup = [2]\n", "p.toml:7: topology.up: 1 levels; allowed is as many as down has, 2"},
		{"no dims", head + link + "[topology]\nkind = \"torus\"\ndims = []\n", "p.toml:6: topology.dims: []; allowed is an array of one to 16"},
		{"too deep", head + "a = " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n", "p.toml:2: nested deeper than 100"},
		{"many parts", head + "a" + strings.Repeat(".a", 20) + " = 1\n", "p.toml:2: a.a.a.a.a.a.a.a: a key of more than 8 parts"},
		{"many tables", head + strings.Repeat("[[a]]\n", maxEntries), "p.toml:4096: more than 4096 values and tables"},
		{"too large", head + strings.Repeat("#\n", maxPlatform/2), "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), "p.toml")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%v is not ErrInvalid", err)
			}
		})
	}
}

// randomPlatform makes any platform that a file can describe.
func randomPlatform(r *rand.Rand) *Platform {
	p := New()
	p.Name = []string{"", "a", `quo"te\ é`, "x#y"}[r.IntN(4)]
	if p.Policy = network.Policy(r.IntN(3)); p.Policy != network.Arrival {
		p.Contention = network.Contention(r.IntN(3))
	}
	p.NoRendezvousLatency = r.IntN(2) == 0
	p.Nodes, p.RanksPerNode, p.NICs = uint32(r.IntN(3)), uint32(r.IntN(3)), 1+uint32(r.IntN(3))
	p.Mapping = []string{"block", "cyclic", `map\ "x"`}[r.IntN(3)]
	p.Scale, _ = ParseScale(fmt.Sprintf("%d.%09d", r.IntN(9), 1+r.IntN(999999999)))
	for c := range p.Links {
		if c == 2 || r.IntN(2) == 0 {
			p.Links[c] = &network.Link{
				Latency: r.Int64N(1e15), Hop: r.Int64N(2), SendOver: r.Int64N(1e9), RecvOver: r.Int64N(1e4), Gap: r.Int64N(1e4),
				PerByte: network.Rate(r.Uint64N(4e9 << 32)), OverByte: network.Rate(r.Uint64N(3)), Eager: []uint64{maxBytes, 0, 65536}[r.IntN(3)],
			}
			for i := range r.IntN(3) {
				p.Links[c].Sizes = append(p.Links[c].Sizes, network.SizeRate{Max: uint64(i+1) << 20, PerByte: network.Rate(r.Uint64() >> (1 + r.IntN(62)))})
			}
		}
	}
	p.Topology = []Topology{{}, {Kind: Torus, Dims: []uint32{3, 1, 4}}, {Kind: FatTree, Down: []uint32{4, 4}, Up: []uint32{1, 2}}, {Kind: Dragonfly, Groups: 3, Routers: 2, Ports: 2}}[r.IntN(4)]
	p.Topology.LinkRate = network.Rate(r.Uint64N(2) << 32)
	p.Files = FileSystem{Open: r.Int64N(3) * 1e6, Client: uint64(r.IntN(2)) * 1e9, Total: uint64(r.IntN(2)) * 5e10}
	p.Gamma = network.Rate(r.Uint64N(1 << 40))
	p.ModelCollectives = r.IntN(2) == 0
	for k := range p.Collectives {
		schemes := network.Schemes(program.CollKind(k))
		for i := range r.IntN(3) {
			p.Collectives[k] = append(p.Collectives[k], network.Algorithm{Max: uint64(i) * 1000, Scheme: schemes[r.IntN(len(schemes))]})
		}
		if p.Collectives[k] != nil {
			last(p.Collectives[k]).Max = math.MaxUint64
		}
	}
	return p
}

// TestPlatformRoundTrip: what is written reads as the same platform and writes the same bytes.
func TestPlatformRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		p := randomPlatform(r)
		var a, b bytes.Buffer
		if err := p.Write(&a, "a note\nof two lines"); err != nil {
			t.Fatal(err)
		}
		q, err := Read(bytes.NewReader(a.Bytes()), "p.toml")
		if err != nil {
			t.Fatalf("%v\n%s", err, a.String())
		}
		if d := cmp.Diff(p, q, cmpopts.IgnoreUnexported(Platform{})); d != "" {
			t.Fatalf("%s\n%s", d, a.String())
		}
		if err := q.Write(&b, "a note of two lines"); err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() {
			t.Fatalf("%s\n%s", a.String(), b.String())
		}
	}
}

func TestMapping(t *testing.T) {
	t.Parallel()
	const links = "schema = \"coppice.platform/1\"\nlinks.node.L_ns = 1\nlinks.net.L_ns = 2\n[nodes]\n"
	for _, c := range []struct {
		name, nodes, table string
		want               string
	}{
		{"one each", "", "", "[0 1 2 3 4] 5"},
		{"block", "ranks_per_node = 2", "", "[0 0 1 1 2] 3"},
		{"even", "count = 2", "", "[0 0 0 1 1] 2"},
		{"cyclic", "count = 2\nmapping = \"cyclic\"", "", "[0 1 0 1 0] 2"},
		{"cyclic over those needed", "ranks_per_node = 2\nmapping = \"cyclic\"", "", "[0 1 2 0 1] 3"},
		{"table", "mapping = \"map\"", "# rank node\n0 7\n4 0\n\n1 1 # x\n2 1\n3 7\n", "[7 1 1 7 0] 8"},
		{"short table", "mapping = \"map\"", "0 7\n", "map:1: rank 1 has no node: each of the 5 processes needs a line"},
		{"twice", "mapping = \"map\"", "0 7\n0 7\n", "map:2: rank 0 has a node already"},
		{"rank", "mapping = \"map\"", "5 7\n", `map:1: rank "5": allowed are 0 to 4`},
		{"node", "count = 7\nmapping = \"map\"", "4 7\n", `map:1: node "7": allowed are 0 to 6`},
		{"words", "mapping = \"map\"", "4 7 8\n", "map:1: 3 words"},
		{"no table", "mapping = \"nowhere\"", "", "nodes.mapping: open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{"p.toml": links + c.nodes, "map": c.table} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			p, err := Open(filepath.Join(folder, "p.toml"))
			if err != nil {
				t.Fatal(err)
			}
			n, err := p.Network(5)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %s", err, c.want)
				}
				return
			}
			var at []uint32
			for i := range uint32(5) {
				at = append(at, n.NodeOf(i))
			}
			if got := fmt.Sprint(at, n.Nodes); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestScale compares with big integers.
func TestScale(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		s := Scale{1 + r.Uint64()>>r.IntN(63), 1 + r.Uint64()>>r.IntN(63)}
		x := r.Int64() >> r.IntN(62)
		want := new(big.Int).Mul(big.NewInt(x), new(big.Int).SetUint64(s.Num))
		want.Quo(want, new(big.Int).SetUint64(s.Den))
		if !want.IsInt64() {
			want.SetInt64(network.Never)
		}
		if got := s.Of(x); got != want.Int64() {
			t.Fatalf("%v of %d: %d, want %d", s, x, got, want)
		}
	}
	for text, want := range map[string]string{"0.7": "0.7", "1": "1", "2.50": "2.5", "1e-3": "0.001", "0.000000001": "0.000000001", "0": "", "-1": "", "1e-10": "", "x": "", "1000000.1": "", "nan": ""} {
		s, ok := ParseScale(text)
		if ok != (want != "") || ok && s.String() != want {
			t.Errorf("%s: %v %v, want %s", text, s, ok, want)
		}
	}
}

func FuzzPlatform(f *testing.F) {
	f.Add([]byte(wholePlatform))
	f.Add([]byte("schema = \"coppice.platform/1\"\nlinks.net.sizes = [{max_bytes = 1, G_ns_per_byte = 0}]\n[[collectives.bcast]]\nalgorithm = \"binomial\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data), "p.toml")
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		var a, b bytes.Buffer
		if err := p.Write(&a); err != nil {
			t.Fatal(err)
		}
		q, err := Read(bytes.NewReader(a.Bytes()), "p.toml")
		if err != nil {
			t.Fatalf("%v\n%s", err, a.String())
		}
		if err := q.Write(&b); err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() {
			t.Fatalf("%s\n%s", a.String(), b.String())
		}
	})
}

// FuzzMapping: a table is refused, or gives every process a node that there is.
func FuzzMapping(f *testing.F) {
	f.Add("0 1\n1 0 # x\n\n2 1\n")
	f.Add("0 18446744073709551616\n")
	f.Fuzz(func(t *testing.T, text string) {
		const processes, count = 3, 5
		nodes, err := readMapping(strings.NewReader(text), "map", processes, count)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		for _, n := range nodes {
			if n >= count || len(nodes) != processes {
				t.Fatal(nodes)
			}
		}
	})
}
