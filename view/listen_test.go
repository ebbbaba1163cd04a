package view

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestListen: the loopback address and a socket of the user alone; both end with the server.
func TestListen(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "view") // short: names of sockets are
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p, err := Listen("", dir)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(p.Socket)
	if err != nil || st.Mode().Perm() != 0o600 || st.Mode()&fs.ModeSocket == 0 || !p.Loopback() {
		t.Fatalf("socket %s: %v, %v", p.Socket, st, err)
	}
	if _, err := Listen("unix:"+p.Socket, ""); err == nil {
		t.Error("two servers on one socket")
	}
	s := serving(t, generated(t, generatedSpecs[0]))
	var text bytes.Buffer
	s.Announce(&text, p, Around{User: "ann", Host: "login1"})
	address, _, _ := strings.Cut(text.String()[strings.Index(text.String(), "http"):], "\n")
	if !strings.Contains(text.String(), "ssh -L ") || !strings.Contains(text.String(), p.Socket+" ann@login1") {
		t.Errorf("printed:\n%s", &text)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, p, time.Hour) }()
	through := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", p.Socket) }}}
	for _, c := range []*http.Client{http.DefaultClient, through} {
		a, err := c.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil || a.StatusCode != 200 || !bytes.Contains(body, []byte("<html")) {
			t.Errorf("status %d, %v", a.StatusCode, err)
		}
	}
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
	if _, err := os.Stat(p.Socket); err == nil {
		t.Error("the socket stays")
	}
}

// TestSockets: what is not a socket stays, a socket without a server is replaced.
func TestSockets(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "view")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen("unix:"+file, ""); err == nil {
		t.Error("a file is taken for a socket")
	}
	left := filepath.Join(dir, "left")
	l, err := net.Listen("unix", left)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	p, err := Listen("unix:"+left, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	for _, address := range []string{"nothing", "127.0.0.1", "127.0.0.1:99999"} {
		if _, err := Listen(address, ""); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
}

// TestIdle: a server that nobody asks ends.
func TestIdle(t *testing.T) {
	p, err := Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	s := serving(t, generated(t, generatedSpecs[0]))
	s.active.Store(time.Now().Add(-9 * time.Hour).Unix())
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background(), p, 8*time.Hour) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
}

// TestAnnounce prints the way through the login node from inside a batch job.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	var b bytes.Buffer
	s.Announce(&b, &Place{Port: 8412, Address: "127.0.0.1"}, Around{User: "ann", Host: "node7", Jump: "login1"})
	want := "on this machine   http://127.0.0.1:8412/?k=right\n" +
		"from your laptop  ssh -J ann@login1 -L 8412:127.0.0.1:8412 ann@node7   then  http://localhost:8412/?k=right\n"
	if b.String() != want {
		t.Errorf("printed:\n%s", &b)
	}
}

// TestHosts: who listens for other machines answers to its own name, also where --listen names a port alone.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen string
		other  bool
	}{{"127.0.0.1:0", false}, {"localhost:0", false}, {":0", true}, {"0.0.0.0:0", true}, {"unix:" + filepath.Join(t.TempDir(), "s"), false}} {
		p, err := Listen(c.listen, "")
		if err != nil {
			t.Fatal(err)
		}
		s := &Server{o: Options{Hosts: p.Hosts("node7")}}
		if got := s.hostAllowed("node7:8411"); got != c.other || s.hostAllowed("evil.example") || s.hostAllowed("") || !s.hostAllowed("localhost:1") {
			t.Errorf("%s answers to %q: %t", c.listen, p.Hosts("node7"), got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
