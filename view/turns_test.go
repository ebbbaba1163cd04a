package view

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections without any buffer: who does not read stops the writer at the first byte.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// piped is a connection of an address.
type piped struct {
	net.Conn
	remote net.Addr
}

func (p piped) RemoteAddr() net.Addr { return p.remote }

// dial connects from an address.
func (p *pipes) dial(from string) net.Conn {
	mine, theirs := net.Pipe()
	p.accept <- piped{theirs, &net.TCPAddr{IP: net.ParseIP(from), Port: 1}}
	return mine
}

// request asks for a path and does not read the answer.
func request(t testing.TB, c net.Conn, path string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, testToken)
	if err != nil {
		t.Fatal(err)
	}
}

// served asks until the answer, which must be whole, is another one than that the server is busy. It returns how often.
func served(t testing.TB, dial func() net.Conn, path string) (tries, status int) {
	t.Helper()
	for tries = 1; ; tries++ {
		c := dial()
		request(t, c, path)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		c.Close()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if r.StatusCode != http.StatusServiceUnavailable || tries > 9 {
			return tries, r.StatusCode
		}
		if r.Header.Get("Retry-After") != "1" {
			t.Fatalf("%s: come again in %q", path, r.Header.Get("Retry-After"))
		}
	}
}

// until waits for what must come.
func until(t testing.TB, what func() bool) {
	t.Helper()
	for range 20_000 {
		if what() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it does not come")
}

// idle reports whether nothing is left of requests.
func (s *turns) idle(free int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free == free && len(s.queue)+len(s.sending) == 0
}

// over reports whether so many turns were given and nobody has one.
func (s *turns) over(given uint64, free int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given >= given && s.free == free
}

// openFiles counts the open files of the process, 0 where the system does not tell.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// TestStalledReaders: whoever does not take an answer, of whatever endpoint and however many they are, others get theirs:
// at once while there is room for one more that stalls, else in place of one that stalls. Nothing is left of them. No clock
// decides here.
func TestStalledReaders(t *testing.T) {
	s := serving(t, generated(t, generatedSpecs[0]))
	for _, e := range examples {
		ask(s, e) // reads what is kept
	}
	free, files, routines := s.turns.free, openFiles(), runtime.NumGoroutine()
	s.turns.stall, s.turns.pressed = time.Hour, 0
	for _, path := range []string{
		"/api/arrow", "/api/arrow?table=messages", "/api/meta", "/api/tile/0/0/0-0", "/api/messages", "/api/profile", "/api/intervals",
		"/assets/app.js", "/api/nothing",
	} {
		for _, n := range []int{1, 100} {
			t.Run(fmt.Sprintf("%d%s", n, strings.ReplaceAll(path, "/", " ")), func(t *testing.T) {
				routines := max(routines, runtime.NumGoroutine())
				l, stop := listening(t, s)
				given, wants := s.turns.given, uint64(n)
				if path == "/api/nothing" {
					wants = 0
				}
				var stalled []net.Conn
				for range n {
					c := l.dial("127.0.0.1")
					request(t, c, path)
					stalled = append(stalled, c)
				}
				until(t, func() bool { return s.turns.over(given+wants, free) })
				for _, e := range append([]string{"arrow", "arrow?table=messages"}, examples...) {
					for _, from := range []string{"127.0.0.1", "10.0.0.2"} {
						tries, status := served(t, func() net.Conn { return l.dial(from) }, "/api/"+e)
						if want := max(200, map[string]int{"compare": 422, "meta?v=1": 409}[e]); status != want || tries > 2 || n == 1 && tries > 1 {
							t.Errorf("%s from %s: status %d at request %d", e, from, status, tries)
						}
					}
				}
				for _, c := range stalled {
					c.Close()
				}
				stop()
				until(t, func() bool { return s.turns.idle(free) && runtime.NumGoroutine() <= routines && openFiles() <= files })
			})
		}
	}
}

// listening serves through pipes until stop.
func listening(t testing.TB, s *Server) (l *pipes, stop func()) {
	l = &pipes{make(chan net.Conn), make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, &Place{Listeners: []net.Listener{l}}, 0) }()
	return l, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestStalledEnd: a reader that takes nothing for the time that it has loses its answer, which breaks; one that takes it
// slowly gets all.
func TestStalledEnd(t *testing.T) {
	s := serving(t, generated(t, generatedSpecs[0]))
	free := s.turns.free
	s.turns.stall = 20 * time.Millisecond
	l, stop := listening(t, s)
	for _, path := range []string{"/api/arrow", "/api/tile/0/0/0-0", "/assets/app.js", "/api/classes"} {
		var stalled []net.Conn
		for range 20 {
			c := l.dial("127.0.0.1")
			request(t, c, path)
			stalled = append(stalled, c)
		}
		for _, c := range stalled {
			until(t, func() bool { _, err := c.Write(make([]byte, 1)); return err != nil }) // the server has closed it
			if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
				t.Errorf("%s: who stalls gets %d bytes, %v", path, len(b), err)
			}
			c.Close()
		}
	}
	until(t, func() bool { return s.turns.idle(free) })
	s.turns.stall = time.Hour
	c := l.dial("127.0.0.1")
	request(t, c, "/api/arrow")
	r, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for err == nil {
		var k int64
		k, err = io.CopyN(io.Discard, r.Body, 1<<16)
		n += k
		if tries, status := served(t, func() net.Conn { return l.dial("127.0.0.1") }, "/api/arrow?max=1000000&ranks=0"); tries > 1 || status != 200 {
			t.Errorf("after %d bytes: status %d at request %d", n, status, tries)
		}
	}
	if whole := ask(s, "arrow").Body.Len(); err != io.EOF || n != int64(whole) || n < 1<<19 {
		t.Errorf("%d of %d bytes, %v", n, whole, err)
	}
	c.Close()
	stop()
}

// TestTurnsByAddress: an address that asks much does not keep others waiting, nor takes all places to wait at.
func TestTurnsByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(2, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var order []string
		var refused atomic.Int64
		ask := func(address string) {
			x := &turn{of: s, address: address, ready: make(chan struct{}, 1)}
			go func() {
				switch err := x.wait(ctx, maxWaiting); {
				case err == nil:
					time.Sleep(time.Second) // computes
					s.mu.Lock()
					order = append(order, address)
					s.mu.Unlock()
				case ctx.Err() == nil:
					if p := problemOf(err, ""); p.status != http.StatusServiceUnavailable {
						t.Error(err)
					}
					refused.Add(1)
				}
				x.end()
			}()
			synctest.Wait()
		}
		for range 2 + share(maxWaiting) + 7 {
			ask("10.0.0.1")
		}
		if n := refused.Load(); n != 7 {
			t.Errorf("%d requests are refused", n)
		}
		ask("10.0.0.2")
		ask("10.0.0.3")
		time.Sleep(2*time.Second + time.Millisecond)
		synctest.Wait()
		slices.Sort(order) // two end at a time
		if got := strings.Join(order, " "); got != "10.0.0.1 10.0.0.1 10.0.0.2 10.0.0.3" {
			t.Errorf("turns of %s", got)
		}
		cancel() // all that wait go
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		if !s.idle(2) {
			t.Errorf("left: %+v", s)
		}
	})
}

// unread is a response whose reader takes nothing, until its deadline.
type unread struct {
	http.ResponseWriter
	ended chan struct{}
	timer *time.Timer
}

func (u *unread) SetWriteDeadline(at time.Time) error {
	if u.timer != nil {
		u.timer.Stop()
	}
	u.timer = time.AfterFunc(time.Until(at), func() { u.ended <- struct{}{} })
	return nil
}

func (u *unread) Write([]byte) (int, error) { <-u.ended; return 0, os.ErrDeadlineExceeded }

// TestRoom: what waits for its readers is bounded. Who needs room gets that of the reader that stalls for longest, a second
// at least; nobody is ended before it, and without need only after stallTime.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTurns(2, 8*leastHeld)
		var ended []string
		began := time.Now()
		hold := func(name, address string) error {
			x := &turn{of: s, address: address, w: &unread{ended: make(chan struct{}, 9)}, ready: make(chan struct{}, 1)}
			if err := x.wait(t.Context(), maxWaiting); err != nil {
				t.Error(err)
			}
			if err := x.hold(1); err != nil {
				x.end()
				return err
			}
			go func() {
				_, _ = x.send([]byte{1})
				s.mu.Lock()
				ended = append(ended, fmt.Sprintf("%s %v", name, time.Since(began).Round(time.Millisecond)))
				s.mu.Unlock()
				x.end()
			}()
			time.Sleep(time.Millisecond)
			synctest.Wait()
			return nil
		}
		for i := range 5 {
			if err := hold(fmt.Sprint("a", i), "a"); err != nil {
				t.Error(err)
			}
		}
		if hold("a5", "a") == nil || hold("a6", "a") == nil {
			t.Error("one address takes all the room")
		}
		for i := range 2 {
			if err := hold(fmt.Sprint("b", i), "b"); err != nil {
				t.Error(err)
			}
		}
		if hold("c0", "c") == nil {
			t.Error("there is no end of room")
		}
		time.Sleep(pressedTime)
		for i, address := range []string{"a", "c"} {
			if err := hold(fmt.Sprint(address, 7+i), address); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		want := "a0 1.007s, a1 1.008s, a2 30.002s, a3 30.003s, a4 30.004s, b0 30.005s, b1 30.006s, a7 31.007s, c8 31.008s"
		if got := strings.Join(ended, ", "); got != want || !s.idle(2) {
			t.Errorf("ended %s", got)
		}
	})
}

// narrow makes connections whose writer has little buffer.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		err = tcp.SetWriteBuffer(64 << 10)
	}
	return c, err
}

// TestStalledSockets: the same on sockets of the system: who stalls is ended, others are served, nothing is left open.
func TestStalledSockets(t *testing.T) {
	s := serving(t, generated(t, generatedSpecs[0]))
	s.turns.stall, s.turns.pressed = time.Second, 0
	ask(s, "arrow")
	free, given, files, routines := s.turns.free, s.turns.given, openFiles(), runtime.NumGoroutine()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, &Place{Listeners: []net.Listener{narrow{tcp}}}, 0) }()
	var stalled []net.Conn
	for range 100 {
		c := dial()
		if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		request(t, c, "/api/arrow")
		stalled = append(stalled, c)
	}
	until(t, func() bool { return s.turns.over(given+100, free) })
	for _, e := range []string{"meta", "tile/0/0/0-0", "stats?t=10..200&ranks=0-3", "messages?max=3"} {
		if tries, status := served(t, dial, "/api/"+e); status != http.StatusOK || tries > 2 {
			t.Errorf("%s: status %d at request %d", e, status, tries)
		}
	}
	until(t, func() bool { return s.turns.idle(free) })
	for i, c := range stalled {
		if i%25 > 0 { // what lies in the system's buffers trickles out
			c.Close()
			continue
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err == nil && r.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("who stalled gets a whole answer of status %d", r.StatusCode)
		}
		c.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	until(t, func() bool { return runtime.NumGoroutine() <= routines && openFiles() <= files })
}
