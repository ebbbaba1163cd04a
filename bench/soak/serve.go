package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// endpoints with what they may be asked; N is a number, S a span, L a location, R ranks.
var endpoints = []string{
	"meta", "locations?from=N", "tile/N/N/N-N", "stats?t=S&ranks=R", "stats?t=S&exact=1", "at?loc=L&t=N", "at?loc=L&n=N", "next?loc=L&t=N&kind=K&step=1",
	"next?loc=L&n=N&kind=K&step=-1", "messages?t=S&ranks=R&max=N", "waits?t=S&pattern=all", "critical?t=S", "matrix?cells=N", "profile?t=S&columns=N",
	"counter?t=S&loc=L&metric=N&bins=N", "intervals", "intervals?t=S", "interval?node=N", "interval?node=N&t=S", "executions?node=N", "classes", "search?q=MPI",
	"compare", "arrow?table=calls&t=S", "arrow?table=messages&ranks=R",
}

// statuses are the documented ones.
var statuses = []int{200, 304, 400, 401, 403, 404, 405, 409, 422, 503}

// cost is what an answer took: pages found in memory the second time.
var cost = regexp.MustCompile(`"cost":\{[^}]*\}`)

// stepServe asks a server everything, also what it should refuse: documented statuses, errors with four parts, twice the same
// answer; it ends when told, and takes its socket along.
func stepServe(r *round, x *rand.Rand) {
	cmd := r.prepare(command{args: []string{"serve", r.run, "--mem", []string{"64M", "512M"}[x.IntN(2)]}})
	if x.IntN(2) == 0 {
		cmd.Args = append(cmd.Args, "--listen", "127.0.0.1:0")
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.fail("serve: %v", err)
		return
	}
	r.commands++
	lines := bufio.NewScanner(out)
	var c *client
	for c == nil && lines.Scan() {
		c = r.client(lines.Text(), x)
	}
	if c == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		r.fail("serve: no address\n%s", errs.String())
		return
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	c.talk(25+x.IntN(30), true)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	over := time.AfterFunc(patience(aMoment), func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	_ = cmd.Wait()
	o := outcome{command: command{args: cmd.Args[1:]}, code: cmd.ProcessState.ExitCode(), errs: errs.String()}
	r.note(o)
	if !over.Stop() {
		r.fail("serve: does not end")
	}
	if o.code != 0 {
		r.fail("%s: exit code %d after SIGTERM", o, o.code)
	}
	r.judge(o)
	if left := leftIn(r.path("run")); len(left) > 0 {
		r.fail("%s: left behind: %v", o, left)
	}
}

// client asks one server.
type client struct {
	*round
	x           *rand.Rand
	host, token string
	http        http.Client
}

// client finds the address and the token in what a server says of itself; nil: it is not there.
func (r *round) client(announced string, x *rand.Rand) *client {
	for line := range strings.Lines(announced) {
		at := strings.Index(line, "http://127.0.0.1")
		if u, err := url.Parse(strings.TrimSpace(line[max(at, 0):])); at >= 0 && strings.HasPrefix(line, "on this machine") && err == nil {
			c := &client{round: r, x: x, host: u.Host, token: u.Query().Get("k")}
			c.http.Timeout = patience(aMoment)
			return c
		}
	}
	return nil
}

// talk asks so many proper and odd questions, and with all hostile ones and some at the same time.
func (c *client) talk(questions int, all bool) {
	status, body := c.ask("GET", "/api/meta", true, nil)
	if status != 200 {
		if c.mutants > 0 {
			c.judgeAnswer("/api/meta", status, body)
			return
		}
		c.fail("serve: api/meta: status %d: %s", status, clip(string(body)))
		return
	}
	var meta struct {
		Version string
		Runs    []struct {
			First, Last uint64
			Locations   int
		}
	}
	if err := json.Unmarshal(body, &meta); err != nil || len(meta.Runs) == 0 {
		c.fail("serve: api/meta: %v", err)
		return
	}
	run := meta.Runs[0]
	for range questions {
		path := c.fill("/api/"+endpoints[c.x.IntN(len(endpoints))], run.First, run.Last, run.Locations)
		if c.x.IntN(8) == 0 {
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			path += sep + []string{"v=" + meta.Version, "v=0", "run=1", "nothing=1", "t=1..2&t=3..4", "%zz", "max=0"}[c.x.IntN(7)]
		}
		status, body := c.ask("GET", path, true, nil)
		c.judgeAnswer(path, status, body)
		if c.x.IntN(4) == 0 {
			again, other := c.ask("GET", path, true, nil)
			if again != status || !bytes.Equal(cost.ReplaceAll(body, nil), cost.ReplaceAll(other, nil)) {
				c.fail("serve: %s: twice the same, other answer", path)
			}
		}
	}
	if !all {
		return
	}
	c.refused()
	c.garbage()
	c.atOnce(run.First, run.Last, run.Locations)
}

// refused asks what the server must not answer, and what it must next to that.
func (c *client) refused() {
	for _, h := range []struct {
		path   string
		token  bool
		header map[string]string
		method string
		want   []int
	}{
		{"/api/meta", false, nil, "GET", []int{401}},
		{"/api/meta", false, map[string]string{"Authorization": "Bearer x"}, "GET", []int{401}},
		{"/api/meta", true, map[string]string{"Origin": "http://evil.example"}, "GET", []int{403}},
		{"/api/meta", true, map[string]string{"Host": "evil.example"}, "GET", []int{403}},
		{"/api/meta", true, nil, "POST", []int{405}},
		{"/api/meta", true, nil, "HEAD", []int{200}},
		{"/assets/../api.go", true, nil, "GET", []int{301, 404}},
		{"/assets/%2e%2e/%2e%2e/etc/passwd", true, nil, "GET", []int{404}},
		{"/api/tile/" + strings.Repeat("9", 5000), true, nil, "GET", []int{400, 404, 422}},
		{"/api/search?q=" + strings.Repeat("a", 10_000), true, nil, "GET", []int{400, 422}},
		{"/", true, nil, "GET", []int{200}},
	} {
		if status, body := c.ask(h.method, h.path, h.token, h.header); !slices.Contains(h.want, status) {
			c.fail("serve: %s %.80s %v: status %d, want %v: %s", h.method, h.path, h.header, status, h.want, clip(string(body)))
		}
	}
}

// fill puts random values into a question.
func (c *client) fill(path string, first, last uint64, locations int) string {
	var b strings.Builder
	odd := c.x.IntN(6) == 0
	for _, s := range path {
		switch s {
		case 'N':
			n := logUniform(c.x, 64)
			if strings.Contains(path, "at?") || strings.Contains(path, "next?") {
				n = first + c.x.Uint64N(last-first+1)
			}
			if odd {
				n = logUniform(c.x, 1<<64-1)
			}
			fmt.Fprint(&b, n)
		case 'S':
			a, z := first+c.x.Uint64N(max(1, last-first+1)), first+c.x.Uint64N(max(1, last-first+1))
			if !odd {
				a, z = min(a, z), max(a, z)
			} else {
				z = logUniform(c.x, 1<<64-1)
			}
			fmt.Fprintf(&b, "%d..%d", a, z)
		case 'L':
			fmt.Fprint(&b, c.x.IntN(locations+1))
		case 'R':
			b.WriteString([]string{"0", "0-1", "comm:MPI_COMM_WORLD", "node:0", "all", "9999", "a-b"}[c.x.IntN(7)])
		case 'K':
			b.WriteString([]string{"call", "sibling", "mpi", "message", "collective", "wait", "marker", "interval", "critical", "nothing"}[c.x.IntN(10)])
		default:
			b.WriteRune(s)
		}
	}
	return b.String()
}

// ask sends a request.
func (c *client) ask(method, path string, token bool, header map[string]string) (int, []byte) {
	q, err := http.NewRequest(method, "http://"+c.host+path, nil)
	if err != nil { // what the client itself refuses
		return 400, []byte(`{"error":{"what":"x","where":"x","why":"x","do":"x"}}`)
	}
	if token {
		q.Header.Set("Authorization", "Bearer "+c.token)
	}
	for k, v := range header {
		q.Header.Set(k, v)
	}
	if h := header["Host"]; h != "" {
		q.Host = h
	}
	a, err := c.http.Do(q)
	if err != nil {
		c.fail("serve: %s: %v", clip(path), err)
		return 0, nil
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		c.fail("serve: %s: %v", clip(path), err)
	}
	return a.StatusCode, body
}

// judgeAnswer asks for a documented status and an error that says all.
func (c *client) judgeAnswer(path string, status int, body []byte) {
	fmt.Fprintf(&c.log, "GET %s: %d, %d bytes\n", path, status, len(body))
	damaged := status == 500 && c.mutants > 0 && bytes.Contains(body, []byte(`"damaged file"`))
	if !slices.Contains(statuses, status) && !damaged {
		c.fail("serve: %s: status %d: %s", path, status, clip(string(body)))
		return
	}
	if status < 400 {
		return
	}
	var e struct {
		Error struct{ What, Where, Why, Do string }
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Error.What == "" || e.Error.Where == "" || e.Error.Why == "" || e.Error.Do == "" {
		c.fail("serve: %s: status %d without the four parts: %s", path, status, clip(string(body)))
	}
}

// garbage sends what is not HTTP.
func (c *client) garbage() {
	for _, text := range []string{"\x00\x01\x02\r\n\r\n", "GET / HTTP/1.1\r\nHost: " + c.host + "\r\nContent-Length: -1\r\n\r\n", "GET " + strings.Repeat("/", 100_000) + " HTTP/1.1\r\n\r\n"} {
		conn, err := net.Dial("tcp", c.host)
		if err != nil {
			c.fail("serve: %v", err)
			return
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// atOnce asks many questions at the same time, and gives some of them up.
func (c *client) atOnce(first, last uint64, locations int) {
	done := make(chan string)
	const n = 12
	for i := range n {
		path := c.fill("/api/"+endpoints[c.x.IntN(len(endpoints))], first, last, locations)
		go func() {
			client := http.Client{Timeout: patience(aMoment)}
			if i%4 == 0 {
				client.Timeout = time.Millisecond
			}
			q, err := http.NewRequest("GET", "http://"+c.host+path, nil)
			if err == nil {
				q.Header.Set("Authorization", "Bearer "+c.token)
				var a *http.Response
				if a, err = client.Do(q); err == nil {
					_, _ = io.Copy(io.Discard, a.Body)
					a.Body.Close()
					if !slices.Contains(statuses, a.StatusCode) {
						err = fmt.Errorf("status %d", a.StatusCode)
					}
				} else if i%4 == 0 {
					err = nil
				}
			}
			if err != nil {
				done <- fmt.Sprintf("serve: %s: %v", path, err)
				return
			}
			done <- ""
		}()
	}
	for range n {
		if text := <-done; text != "" {
			c.fail("%s", text)
		}
	}
}
