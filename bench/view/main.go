// Command view measures coppice serve as a browser would use it: it starts the server, asks for the first picture, pans and
// zooms over tiles, and asks for statistics of windows. It prints wall times, processor time of the server and its memory.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	tool := flag.String("coppice", "coppice", "the program to measure")
	run := flag.String("run", "run.xtf", "file to serve")
	mem := flag.String("mem", "512M", "--mem of the server")
	tiles := flag.Int("tiles", 400, "tiles of each kind")
	flag.Parse()
	b, err := start(*tool, *run, *mem)
	if err == nil {
		err = b.measure(*tiles)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// bench is a server under measurement.
type bench struct {
	cmd     *exec.Cmd
	url     string
	token   string
	started time.Time
	meta    struct {
		Version string
		Runs    []struct {
			First, Last          uint64
			Scale                int
			Locations, Processes int
			Groups               []int
			Rows                 bool
			Events               uint64
		}
	}
}

// start starts the server and reads the address that it prints.
func start(tool, run, mem string) (*bench, error) {
	b := &bench{cmd: exec.Command(tool, "serve", run, "--mem", mem, "--listen", "127.0.0.1:0"), started: time.Now()}
	b.cmd.Stderr = os.Stderr
	out, err := b.cmd.StdoutPipe()
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s serve: %w", tool, err)
	}
	address := line[strings.Index(line, "http"):]
	b.url, b.token, _ = strings.Cut(strings.TrimSpace(address), "/?k=")
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return b, nil
}

// get asks for a path and returns how long the answer took, to its last byte.
func (b *bench) get(path string) (time.Duration, []byte, error) {
	r, err := http.NewRequest(http.MethodGet, b.url+"/api/"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	if path != "meta" { // which is read here
		r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	}
	began := time.Now()
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, a.Status, body)
	}
	return time.Since(began), body, err
}

// measure runs all measurements.
func (b *bench) measure(tiles int) error {
	defer func() {
		_ = b.cmd.Process.Signal(syscall.SIGTERM)
		_ = b.cmd.Wait()
	}()
	if err := b.firstPicture(); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, k := range []struct {
		name string
		path func() string
	}{
		{"tiles of groups, zoomed out", func() string { return b.tile(rng, 0, 3, 1+rng.IntN(len(b.meta.Runs[0].Groups)-1)) }},
		{"tiles of processes, zoomed out", func() string { return b.tile(rng, 0, 4, 0) }},
		{"tiles of processes, in between", func() string { return b.tile(rng, 4, 9, 0) }},
		{"tiles of processes, zoomed in", func() string { return b.tile(rng, 9, b.meta.Runs[0].Scale, 0) }},
		{"statistics of a window, 1 000 ranks", func() string { return "stats?exact=0&ranks=" + b.ranks(rng, 1000) + "&t=" + b.span(rng) }},
		{"statistics of a window, all ranks", func() string { return "stats?exact=0&t=" + b.span(rng) }},
		{"exact statistics, 64 ranks", func() string { return "stats?exact=1&ranks=" + b.ranks(rng, 64) + "&t=" + b.span(rng) }},
		{"point", func() string { return fmt.Sprintf("at?loc=%d&t=%d", rng.IntN(b.meta.Runs[0].Locations), b.time(rng)) }},
		{"waits of a window, 1 000 ranks", func() string { return "waits?ranks=" + b.ranks(rng, 1000) + "&t=" + b.span(rng) }},
		{"messages of a window, 64 ranks", func() string { return "messages?ranks=" + b.ranks(rng, 64) + "&t=" + b.span(rng) }},
		{"profile of all ranks", func() string { return "profile?t=" + b.span(rng) }},
	} {
		n := tiles
		if !strings.HasPrefix(k.name, "tile") {
			n = tiles / 10
		}
		paths := make([]string, n)
		for i := range paths {
			paths[i] = k.path()
		}
		if err := b.rounds(k.name, paths); err != nil {
			return err
		}
	}
	if err := b.crowd(rng, tiles); err != nil {
		return err
	}
	now, peak := b.memory()
	fmt.Printf("memory of the server: %d MiB now, %d MiB at most; %.1f s of processor time in all\n", now>>10, peak>>10, b.cpu())
	return nil
}

// firstPicture asks for what the page asks for before it draws the whole run.
func (b *bench) firstPicture() error {
	if _, _, err := b.get("meta"); err != nil {
		return err
	}
	up := time.Since(b.started)
	_, body, err := b.get("meta")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &b.meta); err != nil {
		return err
	}
	r := &b.meta.Runs[0]
	began := time.Now()
	for _, f := range []int{len(r.Groups) - 1, max(len(r.Groups)-2, 0)} {
		if _, _, err := b.get(fmt.Sprintf("tile/0/0/%d-0", f)); err != nil {
			return err
		}
	}
	fmt.Printf("%d processes, %d events\nfirst picture: %d ms from the start of the program to api/meta, then %d ms to the tiles of the whole run; %.2f s of processor time\n",
		r.Processes, r.Events, up.Milliseconds(), time.Since(began).Milliseconds(), b.cpu())
	return nil
}

// rounds asks for each path twice, and prints both: cold, when its pages are seldom in the cache, and warm, when they are
// unless others needed the room.
func (b *bench) rounds(name string, paths []string) error {
	var times [2][]time.Duration
	var used [2]float64
	bytes := 0
	for _, p := range paths {
		for k := range times {
			before := b.cpu()
			t, body, err := b.get(p)
			if err != nil {
				return err
			}
			times[k] = append(times[k], t)
			used[k] += b.cpu() - before
			bytes += len(body)
		}
	}
	for k, round := range []string{"cold", "warm"} {
		list := times[k]
		slices.Sort(list)
		at := func(q float64) float64 { return float64(list[int(q*float64(len(list)-1))].Microseconds()) / 1000 }
		fmt.Printf("%-36s %s  median %7.2f ms, p95 %7.2f ms, most %7.2f ms; %6.2f ms of processor time, %5.1f kB each\n",
			name, round, at(0.5), at(0.95), at(1), used[k]*1000/float64(len(paths)), float64(bytes)/float64(2*len(paths))/1000)
	}
	return nil
}

// crowd asks for tiles over six connections at a time, as a browser does.
func (b *bench) crowd(rng *rand.Rand, n int) error {
	paths := make([]string, n)
	for i := range paths {
		paths[i] = b.tile(rng, 0, b.meta.Runs[0].Scale, 0)
	}
	began := time.Now()
	failed := make([]error, 6)
	var wait sync.WaitGroup
	for w := range failed {
		wait.Go(func() {
			for i := w; i < len(paths) && failed[w] == nil; i += len(failed) {
				_, _, failed[w] = b.get(paths[i])
			}
		})
	}
	wait.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	fmt.Printf("six at a time: %.0f tiles a second\n", float64(n)/time.Since(began).Seconds())
	return nil
}

// tile chooses a tile between two zooms.
func (b *bench) tile(rng *rand.Rand, low, high, group int) string {
	r := &b.meta.Runs[0]
	z := min(low+rng.IntN(max(1, high-low)), r.Scale)
	rows := (r.Locations + r.Groups[group] - 1) / r.Groups[group]
	return fmt.Sprintf("tile/%d/%d/%d-%d", z, b.time(rng)>>(r.Scale-z)>>9, group, rng.IntN((rows+63)/64))
}

func (b *bench) time(rng *rand.Rand) uint64 {
	r := &b.meta.Runs[0]
	return r.First + rng.Uint64N(r.Last-r.First+1)
}

func (b *bench) span(rng *rand.Rand) string {
	t1, t2 := b.time(rng), b.time(rng)
	return fmt.Sprintf("%d..%d", min(t1, t2), max(t1, t2))
}

func (b *bench) ranks(rng *rand.Rand, n int) string {
	most := b.meta.Runs[0].Processes
	first := rng.IntN(max(1, most-n))
	return fmt.Sprintf("%d-%d", first, min(first+n, most)-1)
}

// memory reads what the server occupies now and did at most, in KiB.
func (b *bench) memory() (now, peak int) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "status"))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "VmRSS:":
			now = n
		case "VmHWM:":
			peak = n
		}
	}
	return now, peak
}

// cpu is the processor time of the server in seconds; its clock counts hundredths.
func (b *bench) cpu() float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(b.cmd.Process.Pid), "stat"))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}
