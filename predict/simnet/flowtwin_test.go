package simnet

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/predict/simnet/network"
)

// twin computes the clocks of a script by the equations of the model alone: all stamps begin at 0, and all processes are
// evaluated with those of the round before until nothing changes. That is the longest path through the operations.
type twin struct {
	net    *network.Network
	stamps map[string]*[4]int64 // arrival or request, data, posted, and of which size and mode, by channel and number
	modes  map[string]twinMode
	marks  int // changes
}

type twinMode struct {
	bytes      uint64
	rendezvous bool
}

func (t *twin) at(src, dst, tag, k int) *[4]int64 {
	key := fmt.Sprint(src, dst, tag, k)
	if t.stamps[key] == nil {
		t.stamps[key] = new([4]int64)
	}
	return t.stamps[key]
}

func (t *twin) set(p *int64, v int64) {
	if *p != v {
		*p = v
		t.marks++
	}
}

// twinRequest is an operation in progress.
type twinRequest struct {
	send          bool
	src, dst, tag int
	k             int
	free          int64 // of an eager send
}

type twinProc struct {
	t               *twin
	rank            int
	cpu, tx, tb, rx int64
	requests        map[string]twinRequest
	sent, posted    map[string]int
}

// run evaluates the script until nothing changes.
func (t *twin) run(s script) []int64 {
	t.stamps, t.modes = map[string]*[4]int64{}, map[string]twinMode{}
	for {
		t.marks = 0
		var end []int64
		for rank, ops := range s {
			p := &twinProc{t: t, rank: rank, requests: map[string]twinRequest{}, sent: map[string]int{}, posted: map[string]int{}}
			for _, o := range ops {
				p.op(strings.Fields(o))
			}
			end = append(end, p.cpu)
		}
		if t.marks == 0 {
			return end
		}
	}
}

func (p *twinProc) op(f []string) {
	var n [4]int
	for i := 1; i < len(f) && i < 5; i++ {
		_, _ = fmt.Sscan(f[i], &n[i-1])
	}
	switch f[0] {
	case "calc":
		p.cpu += int64(n[0]) * ns
	case "probe":
		k := p.posted[fmt.Sprint(n[0], n[1])]
		p.cpu = max(p.cpu, p.t.at(n[0], p.rank, n[1], k)[0])
	case "wait":
		p.wait(f[1:])
	case "sendrecv":
		p.recv(n[1], n[2], "r!")
		p.send("send", n[0], n[2], n[3], "s!")
		p.wait([]string{"r!", "s!"})
	case "recv":
		p.recv(n[0], n[1], "!")
		p.wait([]string{"!"})
	case "irecv":
		p.recv(n[0], n[1], f[4])
	case "send", "ssend", "bsend":
		p.send(f[0], n[0], n[1], n[2], "!")
		p.wait([]string{"!"})
	default:
		p.send(f[0][1:], n[0], n[1], n[2], f[4])
	}
}

func (p *twinProc) link(peer int) *network.Link {
	return &p.t.net.Links[p.t.net.Class(uint32(p.rank), uint32(peer))]
}

func (p *twinProc) send(how string, peer, tag, bytes int, request string) {
	l := p.link(peer)
	wire, over := l.Wire(uint64(bytes))
	o := l.SendOver + over
	key := fmt.Sprint(peer, tag)
	k := p.sent[key]
	p.sent[key]++
	rendezvous := how == "ssend" || how == "send" && uint64(bytes) > l.Eager
	p.t.modes[fmt.Sprint(p.rank, peer, tag, k)] = twinMode{uint64(bytes), rendezvous}
	s := max(p.cpu, p.tx)
	p.cpu += o
	x := p.t.at(p.rank, peer, tag, k)
	p.t.set(&x[0], s+o+l.Latency)
	if rendezvous {
		p.tx = s + l.Gap
		u := max(p.tb, p.tx)
		p.tb = u + l.Gap + wire
		p.t.set(&x[1], u)
	} else {
		p.tx = s + l.Gap + wire
	}
	p.requests[request] = twinRequest{send: true, src: p.rank, dst: peer, tag: tag, k: k, free: s + o}
}

func (p *twinProc) recv(peer, tag int, request string) {
	key := fmt.Sprint(peer, tag)
	k := p.posted[key]
	p.posted[key]++
	p.t.set(&p.t.at(peer, p.rank, tag, k)[2], p.cpu)
	p.requests[request] = twinRequest{src: peer, dst: p.rank, tag: tag, k: k}
}

// data returns when the data of a rendezvous start, and the latency after it.
func (p *twinProc) data(x *[4]int64, l *network.Link) (int64, int64) {
	lat := l.Latency
	if p.t.net.NoRendezvousLatency {
		lat = 0
	}
	return max(max(x[2], x[0])+lat, x[1]), lat
}

func (p *twinProc) wait(names []string) {
	type arrival struct {
		time int64
		twinRequest
	}
	var list []arrival
	for _, name := range names {
		r := p.requests[name]
		if r.send {
			continue
		}
		x := p.t.at(r.src, r.dst, r.tag, r.k)
		a := x[0]
		if p.t.modes[fmt.Sprint(r.src, r.dst, r.tag, r.k)].rendezvous {
			d, lat := p.data(x, p.link(r.src))
			a = d + lat
		}
		list = append(list, arrival{a, r})
	}
	slices.SortFunc(list, func(a, b arrival) int {
		if a.time != b.time {
			return cmp.Compare(a.time, b.time)
		}
		return slices.Compare([]int{a.src, a.tag, a.k}, []int{b.src, b.tag, b.k})
	})
	for _, r := range list {
		l := p.link(r.src)
		wire, over := l.Wire(p.t.modes[fmt.Sprint(r.src, r.dst, r.tag, r.k)].bytes)
		a := max(r.time, p.rx)
		p.rx = a + l.Gap + wire
		if p.t.net.Policy == network.DMA {
			p.cpu = max(p.cpu, a+wire) + l.RecvOver + over
		} else {
			p.cpu = max(p.cpu, a) + l.RecvOver + over + wire
		}
	}
	for _, name := range names {
		r := p.requests[name]
		if !r.send {
			continue
		}
		m := p.t.modes[fmt.Sprint(r.src, r.dst, r.tag, r.k)]
		free := r.free
		if l := p.link(r.dst); m.rendezvous {
			wire, _ := l.Wire(m.bytes)
			d, lat := p.data(p.t.at(r.src, r.dst, r.tag, r.k), l)
			free = d + wire
			if lat == 0 && p.t.net.NoRendezvousLatency {
				free = d
			}
			p.tx = max(p.tx, d+l.Gap+wire)
		}
		p.cpu = max(p.cpu, free)
	}
}

// randomScript makes a program that cannot deadlock: there is an order of all operations in which each finds what it needs.
// With single, no call waits for more than one receive.
func randomScript(r *rand.Rand, single bool) script {
	n := 2 + r.IntN(11)
	g := &generator{r: r, single: single, open: make([][]string, n), s: make(script, n), tags: map[string]int{}}
	for range r.IntN(60) + 1 {
		g.message()
	}
	for p := range g.s {
		g.waitSome(p, len(g.open[p]))
	}
	return g.s
}

type generator struct {
	r      *rand.Rand
	single bool
	s      script
	open   [][]string // requests of each process; those in it can be waited for at any time
	names  int
	tags   map[string]int
}

func (g *generator) add(p int, format string, args ...any) {
	g.s[p] = append(g.s[p], fmt.Sprintf(format, args...))
}

func (g *generator) name() string {
	g.names++
	return fmt.Sprint(g.names)
}

var randomSizes = []int{0, 1, 8, 100, 1000, 8192, 60000, 65535, 65536, 100000, 300000}

// message adds one or two messages, computation, and completions of older ones.
func (g *generator) message() {
	r := g.r
	src, dst := r.IntN(len(g.s)), r.IntN(len(g.s))
	bytes, tag := randomSizes[r.IntN(len(randomSizes))], r.IntN(3)
	how := []string{"send", "send", "send", "ssend", "bsend"}[r.IntN(5)]
	for _, p := range []int{src, dst} {
		if r.IntN(2) == 0 {
			g.add(p, "calc %d", r.IntN(200000))
		}
		if r.IntN(3) == 0 {
			g.waitSome(p, 1+r.IntN(3))
		}
	}
	switch {
	case src == dst:
		a, b := g.name(), g.name()
		g.add(src, "irecv %d %d %d %s", src, tag, bytes, a)
		g.add(src, "i%s %d %d %d %s", how, src, tag, bytes, b)
		g.open[src] = append(g.open[src], a, b)
	case r.IntN(6) == 0: // both send, then both receive
		a, b := g.name(), g.name()
		g.add(src, "isend %d %d %d %s", dst, tag, bytes, a)
		g.add(dst, "isend %d %d %d %s", src, tag, bytes, b)
		g.add(src, "recv %d %d %d", dst, tag, bytes)
		g.add(dst, "recv %d %d %d", src, tag, bytes)
		g.open[src], g.open[dst] = append(g.open[src], a), append(g.open[dst], b)
	case r.IntN(6) == 0:
		g.add(src, "sendrecv %d %d %d %d", dst, dst, tag, bytes)
		g.add(dst, "sendrecv %d %d %d %d", src, src, tag, bytes)
	default:
		g.oneWay(src, dst, tag, bytes, how)
	}
}

func (g *generator) oneWay(src, dst, tag, bytes int, how string) {
	request := g.name()
	early := g.r.IntN(2) == 0
	if early {
		g.add(dst, "irecv %d %d %d %s", src, tag, bytes, request)
	}
	if g.r.IntN(2) == 0 {
		a := g.name()
		g.add(src, "i%s %d %d %d %s", how, dst, tag, bytes, a)
		g.open[src] = append(g.open[src], a)
	} else {
		g.add(src, "%s %d %d %d", how, dst, tag, bytes)
	}
	switch {
	case early:
		g.open[dst] = append(g.open[dst], request)
	case g.r.IntN(4) == 0:
		g.add(dst, "probe %d %d", src, tag)
		fallthrough
	default:
		g.add(dst, "recv %d %d %d", src, tag, bytes)
	}
}

// waitSome completes n requests of a process, in any order, in one call or several.
func (g *generator) waitSome(p, n int) {
	for n = min(n, len(g.open[p])); n > 0; {
		m := 1
		if !g.single {
			m += g.r.IntN(n)
		}
		n -= m
		var names []string
		for range m {
			i := g.r.IntN(len(g.open[p]))
			names = append(names, g.open[p][i])
			g.open[p] = slices.Delete(g.open[p], i, i+1)
		}
		g.add(p, "wait %s", strings.Join(names, " "))
	}
}

// randomNet has different links within and between nodes.
func randomNet(r *rand.Rand) *network.Network {
	n := &network.Network{Policy: network.Policy(r.IntN(2)), RanksPerNode: uint32(1 + r.IntN(3)), NoRendezvousLatency: r.IntN(4) == 0}
	for i := range n.Links {
		l := &n.Links[i]
		*l = network.Link{
			Latency: r.Int64N(5000) * ns, SendOver: r.Int64N(3000) * ns, RecvOver: r.Int64N(3000) * ns, Gap: r.Int64N(2000) * ns,
			PerByte: network.Rate(r.Int64N(10 * ns << 32)), Eager: uint64(r.IntN(100000)),
		}
		if r.IntN(2) == 0 {
			l.OverByte = network.Rate(r.Int64N(ns << 32))
		}
	}
	return n
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// TestTwin compares random programs with the equations.
func TestTwin(t *testing.T) {
	t.Parallel()
	count := 400
	if testing.Short() {
		count = 60
	}
	for seed := range uint64(count) {
		r := rng(seed)
		s := randomScript(r, seed%2 == 0)
		n := randomNet(r)
		want := (&twin{net: n}).run(s)
		p, v := s.build(t)
		res, err := flow(p, v, n, Options{Ring: []int{1, 2, 64}[seed%3], Workers: 1})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(slices.Concat(s...), "\n"))
		}
		for i := range want {
			if res.Times[i].Finish != want[i] {
				t.Fatalf("seed %d: process %d ends at %d, want %d\n%q", seed, i, res.Times[i].Finish, want[i], s)
			}
		}
	}
}
