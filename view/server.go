package view

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coppice-hpc/coppice/report"
)

//go:embed assets
var embedded embed.FS

// Options of a server.
type Options struct {
	Tool  string   // version of coppice
	Base  string   // path below which the server is seen, "" or "/some/path"
	Hosts []string // names accepted in Host beside localhost and loopback addresses, without port
	Token string   // what a request must show; empty: a random one
}

// Server answers the requests of browsers about one run, or a run and its prediction. It is an http.Handler, safe for
// concurrent use.
type Server struct {
	o       Options
	runs    []*run
	version string
	assets  fs.FS
	etags   map[string]string // of assets
	slots   chan struct{}     // requests that compute
	streams chan struct{}     // and those that write while they read
	waiting atomic.Int64
	active  atomic.Int64 // unix seconds of the last request with a token
	routes  map[string]endpoint
}

// endpoint computes an answer: a value for JSON, or raw.
type endpoint func(ctx context.Context, p *params) (any, error)

// maxWaiting bounds the requests that wait for their turn; more are refused.
const maxWaiting = 256

// New makes a server of one run, or of a run and the predicted one. The runs stay the caller's.
func New(runs []*report.Run, o Options) (*Server, error) {
	if o.Base = strings.TrimRight(o.Base, "/"); o.Base != "" && !strings.HasPrefix(o.Base, "/") {
		o.Base = "/" + o.Base
	}
	if o.Token == "" {
		t, err := NewToken()
		if err != nil {
			return nil, err
		}
		o.Token = t
	}
	s := &Server{o: o, slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))), streams: make(chan struct{}, 1)}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s", Schema, o.Tool)
	for _, r := range runs {
		x, err := openRun(r)
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, x)
		id := r.File.FileID()
		fmt.Fprintf(hash, " %x %d", id, r.Size)
	}
	s.version = hex.EncodeToString(hash.Sum(nil)[:8])
	var err error
	if s.assets, err = fs.Sub(embedded, "assets"); err != nil {
		return nil, err
	}
	if s.etags, err = hashAssets(s.assets); err != nil {
		return nil, err
	}
	s.routes = map[string]endpoint{
		"meta": s.meta, "locations": s.locations, "tile": s.tile, "stats": s.stats, "at": s.at, "next": s.next,
		"messages": s.messages, "waits": s.waits, "critical": s.critical, "matrix": s.matrix, "profile": s.profile, "counter": s.counter,
		"intervals": s.intervals, "interval": s.interval, "executions": s.executionsOf, "classes": s.classesOf, "search": s.search,
		"compare": s.compare, "arrow": s.arrow,
	}
	s.touch()
	return s, nil
}

// Token is what a request must show.
func (s *Server) Token() string { return s.o.Token }

// Base is the path of the page, without the slash at its end.
func (s *Server) Base() string { return s.o.Base }

// Idle is how long nobody asked anything.
func (s *Server) Idle() time.Duration { return time.Since(time.Unix(s.active.Load(), 0)) }

func (s *Server) touch() { s.active.Store(time.Now().Unix()) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	defer func() {
		if x := recover(); x != nil {
			if x == http.ErrAbortHandler {
				panic(x)
			}
			fail(w, r, &problem{http.StatusInternalServerError, Failure{
				What: "internal error", Where: r.URL.Path, Why: fmt.Sprint(x), Do: "Please report it with the file's coppice info",
			}})
		}
	}()
	path, err := s.admit(w, r)
	if err != nil {
		fail(w, r, err)
		return
	}
	s.touch()
	switch {
	case path == "/":
		s.serveAsset(w, r, "index.html")
	case strings.HasPrefix(path, "/assets/"):
		s.serveAsset(w, r, strings.TrimPrefix(path, "/assets/"))
	case strings.HasPrefix(path, "/api/"):
		s.serveAPI(w, r, strings.TrimPrefix(path, "/api/"))
	default:
		fail(w, r, missing(path))
	}
}

// serveAPI answers api/NAME or api/NAME/REST.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, path string) {
	name, rest, _ := strings.Cut(path, "/")
	e := s.routes[name]
	if e == nil {
		fail(w, r, missing("api/"+name))
		return
	}
	p, err := s.params(r, rest)
	if err == nil {
		err = p.checkVersion()
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("ETag", `"`+s.version+`"`)
	w.Header().Set("Vary", "Accept-Encoding, Cookie, Authorization")
	w.Header().Set("Cache-Control", p.caching())
	if r.Header.Get("If-None-Match") == `"`+s.version+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	began := time.Now()
	v, err := s.compute(r.Context(), e, p)
	if err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Server-Timing", fmt.Sprintf("total;dur=%.3f", float64(time.Since(began).Microseconds())/1000))
	if x, ok := v.(stream); ok {
		s.sendStream(w, r, x)
		return
	}
	send(w, r, v)
}

// compute runs an endpoint when its turn comes.
func (s *Server) compute(ctx context.Context, e endpoint, p *params) (any, error) {
	if s.waiting.Add(1) > maxWaiting {
		s.waiting.Add(-1)
		return nil, &problem{http.StatusServiceUnavailable, Failure{
			What: "too many requests at a time", Where: p.path, Why: fmt.Sprintf("%d wait already", maxWaiting), Do: "Ask again in a second",
		}}
	}
	defer s.waiting.Add(-1)
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.slots }()
	v, err := e(ctx, p)
	if err == nil {
		err = p.rest()
	}
	return v, err
}
