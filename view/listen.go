package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Listen tries DefaultPort first, then the following morePorts.
const (
	DefaultPort = 8411
	morePorts   = 32
)

// Place is where a server listens.
type Place struct {
	Listeners []net.Listener
	Port      int    // of TCP, 0: none
	Address   string // of TCP, without port
	Socket    string // path of the UNIX socket, "" for none
}

// Listen listens on an address: HOST:PORT or unix:PATH. For "" it listens on the loopback address and, if dir (XDG_RUNTIME_DIR) is not
// empty, on a UNIX socket there that only the user can open.
func Listen(address, dir string) (*Place, error) {
	p := &Place{}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return p, p.addSocket(path)
	}
	if address != "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w; write HOST:PORT or unix:PATH", address, err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		p.addTCP(l, host)
		return p, nil
	}
	var err error
	for port := DefaultPort; port < DefaultPort+morePorts && p.Port == 0; port++ {
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			p.addTCP(l, "127.0.0.1")
		}
	}
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(dir); dir != "" && err == nil && st.IsDir() {
		if err := p.addSocket(filepath.Join(dir, fmt.Sprintf("coppice-%d.sock", p.Port))); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

func (p *Place) addTCP(l net.Listener, host string) {
	p.Listeners, p.Address = append(p.Listeners, l), host
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		p.Port = a.Port
	}
}

// addSocket listens on a socket with mode 0600. It replaces a socket file that a killed server has left.
func (p *Place) addSocket(path string) error {
	if st, err := os.Lstat(path); err == nil {
		if st.Mode()&fs.ModeSocket == 0 {
			return fmt.Errorf("%s: %w, and it is not a socket", path, fs.ErrExist)
		}
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return fmt.Errorf("%s: %w: another server listens there", path, fs.ErrExist)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	l, err := listenPrivate(path)
	if err != nil {
		return err
	}
	p.Listeners, p.Socket = append(p.Listeners, l), path
	return nil
}

// Loopback reports whether the address is only reachable from this machine.
func (p *Place) Loopback() bool {
	ip := net.ParseIP(p.Address)
	return p.Address == "localhost" || ip != nil && ip.IsLoopback()
}

// Hosts returns the names by which browsers on other machines may address the server; none if they cannot reach it.
func (p *Place) Hosts(machine string) []string {
	if p.Port == 0 || p.Loopback() {
		return nil
	}
	return []string{p.Address, machine}
}

// Close closes the listeners and removes the socket's file.
func (p *Place) Close() error {
	var err error
	for _, l := range p.Listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Time limits of connections, and the most bytes of a request's headers: cookies of a proxy may be long.
const (
	headTimeout  = 10 * time.Second
	writeTimeout = 5 * time.Minute
	keepAlive    = 2 * time.Minute
	maxHead      = 64 << 10
	lastAnswers  = 2 * time.Second
)

// Serve answers requests until ctx ends, or until there was no request for idle; 0: for ever.
func (s *Server) Serve(ctx context.Context, p *Place, idle time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headTimeout, ReadTimeout: headTimeout, WriteTimeout: writeTimeout, IdleTimeout: keepAlive,
		MaxHeaderBytes: maxHead,
	}
	failed := make(chan error, len(p.Listeners))
	for _, l := range p.Listeners {
		go func() { failed <- h.Serve(l) }()
	}
	if idle > 0 {
		go s.watch(ctx, cancel, idle)
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	last, done := context.WithTimeout(context.Background(), lastAnswers)
	defer done()
	if e := h.Shutdown(last); e != nil {
		e = h.Close() // answers in progress take too long
		err = errors.Join(err, e)
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// watch stops the server if there was no request for idle.
func (s *Server) watch(ctx context.Context, stop func(), idle time.Duration) {
	for {
		left := idle - time.Since(time.Unix(s.active.Load(), 0)) // since the last request
		if left <= 0 {
			stop()
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// Around describes the machine for Announce.
type Around struct {
	User string
	Host string
	Jump string // login node of a batch job, "" outside of one
}

// Announce writes how to open the page: on this machine, and from another one through ssh. It returns the URL on this machine, "" without
// TCP.
func (s *Server) Announce(w io.Writer, p *Place, a Around) (here string) {
	query := s.o.Base + "/?k=" + s.o.Token
	port := cmp.Or(p.Port, DefaultPort)
	local := fmt.Sprintf("http://localhost:%d%s", port, query)
	if p.Port > 0 {
		host := p.Address
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = a.Host
		}
		here = fmt.Sprintf("http://%s%s", net.JoinHostPort(host, strconv.Itoa(p.Port)), query)
		fmt.Fprintf(w, "on this machine   %s\n", here)
	}
	to := fmt.Sprintf("127.0.0.1:%d", p.Port)
	if p.Socket != "" {
		to = p.Socket
	}
	if a.Jump != "" {
		fmt.Fprintf(w, "from your laptop  ssh -J %s@%s -L %d:%s %s@%s   then  %s\n", a.User, a.Jump, port, to, a.User, a.Host, local)
		return here
	}
	fmt.Fprintf(w, "from your laptop  ssh -L %d:%s %s@%s   then  %s\n", port, to, a.User, a.Host, local)
	return here
}
