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

	"github.com/coppice-hpc/coppice/report/results"
)

//go:embed assets
var embedded embed.FS

// Options of a server.
type Options struct {
	Tool  string   // version of coppice
	Base  string   // path below which the server is seen, "" or "/some/path"
	Hosts []string // names accepted in Host next to localhost and loopback addresses, without port
	Token string   // what a request must show; empty: a random one

	SendBytes int64 // bound of answers that wait for their readers; 0: 64 MiB
}

// Server answers the requests of browsers about one run, or a run and its prediction. It is an http.Handler, safe for
// concurrent use.
type Server struct {
	o       Options
	runs    []*run
	version string
	assets  fs.FS
	etags   map[string]string // of assets
	turns   *turns
	active  atomic.Int64 // unix seconds of the last request with a token
	routes  map[string]endpoint
}

// endpoint computes an answer: a value for JSON, or raw.
type endpoint func(ctx context.Context, p *params) (any, error)

// New makes a server of one run, or of a run and the predicted one. The runs stay the caller's.
func New(runs []*results.Run, o Options) (*Server, error) {
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
	s := &Server{o: o, turns: newTurns(max(2, runtime.GOMAXPROCS(0)), o.SendBytes)}
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
			s.fail(w, r, &problem{http.StatusInternalServerError, Failure{
				What: "internal error", Where: r.URL.Path, Why: fmt.Sprint(x), Do: "Please report it with the file's coppice info",
			}})
		}
	}()
	path, err := s.admit(w, r)
	if err != nil {
		s.fail(w, r, err)
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
		s.fail(w, r, missing(path))
	}
}

// serveAPI answers api/NAME or api/NAME/REST.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, path string) {
	name, rest, _ := strings.Cut(path, "/")
	e := s.routes[name]
	if e == nil {
		s.fail(w, r, missing("api/"+name))
		return
	}
	p, err := s.params(r, rest)
	if err == nil {
		err = p.checkVersion()
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", `"`+s.version+`"`)
	w.Header().Set("Vary", "Accept-Encoding, Cookie, Authorization")
	w.Header().Set("Cache-Control", p.caching())
	if r.Header.Get("If-None-Match") == `"`+s.version+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.produce(w, r, func() (any, error) { return compute(r.Context(), e, p) })
}

// compute runs an endpoint.
func compute(ctx context.Context, e endpoint, p *params) (any, error) {
	v, err := e(ctx, p)
	if err == nil {
		err = p.rest()
	}
	return v, err
}

// produce makes an answer in its turn, and sends it.
func (s *Server) produce(w http.ResponseWriter, r *http.Request, make func() (any, error)) {
	t, err := s.turns.take(w, r)
	if err == nil {
		defer t.end()
		began := time.Now()
		var v any
		if v, err = make(); err == nil {
			w.Header().Set("Server-Timing", fmt.Sprintf("total;dur=%.3f", float64(time.Since(began).Microseconds())/1000))
			err = t.answer(r, v)
		}
		t.end()
	}
	if err != nil {
		s.fail(w, r, err)
	}
}
