package view

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
)

//go:embed assets
var embedded embed.FS

// Options of a server.
type Options struct {
	Tool  string   // version of coppice
	Base  string   // path of the server in URLs, "" or "/some/path"
	Hosts []string // names accepted in Host in addition to localhost and loopback addresses, without port
	Token string   // what requests must have; "": New makes a random one

	SendBytes int64 // most bytes of answers that wait for their clients; 0: 64 MiB
}

// Server answers requests about one run, or about two to compare. It is an http.Handler, safe for concurrent use.
type Server struct {
	o       Options
	runs    []*run
	version string
	assets  fs.FS
	etags   map[string]string // of assets
	turns   *turns
	active  atomic.Int64 // Unix seconds of the last request with a token
	routes  map[string]endpoint
}

// endpoint computes an answer: a value for JSON, raw, or a stream.
type endpoint func(ctx context.Context, p *params) (any, error)

// New makes a server of one run, or of two to compare. The caller closes the runs.
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
		"meta": getMeta, "locations": getLocations, "tile": getTile, "stats": getStats, "at": getAt, "next": getNext,
		"messages": getMessages, "waits": getWaits, "causes": getCauses, "critical": getCritical, "matrix": getMatrix, "profile": getProfile, "counter": getCounter,
		"intervals": getIntervals, "interval": getInterval, "executions": getExecutions, "classes": getClasses, "search": getSearch, "calltree": getCallTree, "files": getFiles,
		"compare": getCompare, "arrow": getArrow,
	}
	s.touch()
	return s, nil
}

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
	keep := "private, no-cache"
	if err == nil {
		v := p.text("v", 64)
		if v != "" && v != s.version {
			p.wrong(&problem{http.StatusConflict, Failure{"another version", "v=" + clip(v), "the server shows another file now, or is another program", "Load the page again"}})
		} else if v != "" { // for ever: the URL has the version
			keep = "private, max-age=31536000, immutable"
		}
		err = p.err
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("ETag", `"`+s.version+`"`)
	w.Header().Set("Vary", "Accept-Encoding, Cookie, Authorization")
	w.Header().Set("Cache-Control", keep)
	if r.Header.Get("If-None-Match") == `"`+s.version+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.produce(w, r, func() (any, error) { return compute(r.Context(), e, p) })
}

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

// params reads the parameters of a request, each once. err is the first error; parameters read after it have their defaults.
type params struct {
	s    *Server
	run  *run
	tail string // path after the endpoint's name
	v    url.Values
	used []string
	err  error
}

// params parses the query of a request. The limit of headers limits it.
func (s *Server) params(r *http.Request, tail string) (*params, error) {
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, bad("query", clip(err.Error()), "Escape the parameters")
	}
	p := &params{s: s, tail: tail, v: v}
	p.run = s.runs[p.number("run", 0, 0, uint64(len(s.runs)-1))]
	return p, p.err
}

// wrong sets the error, unless there is one already.
func (p *params) wrong(err error) {
	if p.err == nil {
		p.err = err
	}
}

// rest returns an error for parameters that the endpoint has not read.
func (p *params) rest() error {
	for _, name := range slices.Sorted(maps.Keys(p.v)) {
		if !slices.Contains(p.used, name) {
			return bad(clip(name), "the endpoint has no such parameter", "Leave it out")
		}
	}
	return nil
}

// text reads a parameter of at most this many bytes.
func (p *params) text(name string, most int) string {
	p.used = append(p.used, name)
	switch list := p.v[name]; {
	case len(list) == 0:
	case len(list) > 1:
		p.wrong(bad(name, "it is given several times", "Give it once"))
	case len(list[0]) > most:
		p.wrong(bad(name, fmt.Sprintf("it has %d bytes", len(list[0])), fmt.Sprintf("Give at most %d", most)))
	default:
		return list[0]
	}
	return ""
}

// number reads a decimal number from least to most; def if there is no such parameter.
func (p *params) number(name string, def, least, most uint64) uint64 {
	text := p.text(name, 24)
	if p.err != nil || text == "" && !p.v.Has(name) {
		return def
	}
	n, err := parseDecimal(text)
	if err != nil || n < least || n > most {
		p.wrong(bad(name+"="+clip(text), "not a number in range", fmt.Sprintf("Give one from %d to %d", least, most)))
		return def
	}
	return n
}

// parseDecimal accepts only digits.
func parseDecimal(text string) (uint64, error) {
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 10, 64)
}

// span reads t=A..B, of which either side may be missing; by default it is the whole run. end >= begin.
func (p *params) span() (begin, end uint64) {
	begin, end = p.run.first, p.run.end()
	text := p.text("t", 64)
	if text == "" {
		return begin, end
	}
	a, b, ok := strings.Cut(text, "..")
	var err error
	if ok && a != "" {
		begin, err = parseDecimal(a)
	}
	if ok && b != "" && err == nil {
		end, err = parseDecimal(b)
	}
	if !ok || err != nil || begin > end {
		p.wrong(bad("t="+clip(text), "not a span of time", "Give A..B in ticks, A not above B"))
	}
	return begin, end
}

// ranks reads ranks=SET.
func (p *params) ranks() results.Ranks {
	text := p.text("ranks", 8192)
	if text == "" || text == "all" {
		return results.Ranks{}
	}
	r, err := results.ParseRanks(text, p.run.Defs)
	if err != nil {
		p.wrong(bad("ranks="+clip(text), err.Error(), "Give a set such as 0-3,8 or comm:NAME"))
	}
	return r
}

// needRows sets an error if the file does not have events.
func (p *params) needRows() { p.wrong(p.run.needRows()) }

// window reads t and ranks. It needs events.
func (p *params) window() *windowOptions {
	p.needRows()
	o := &windowOptions{}
	o.begin, o.end = p.span()
	o.ranks = p.ranks()
	return o
}

// mostExact is the most locations that are read exactly by default: it takes some pages at both borders of each.
const mostExact = 256

// summed reads a window and exact=0 or 1. Without exact, windows of few locations are exact, because bounds of a short window may be as
// wide as the window.
func (p *params) summed() *windowOptions {
	o := p.window()
	if p.v.Has("exact") {
		o.exact = p.number("exact", 0, 0, 1) == 1
		return o
	}
	of, n := o.ranks.Locations(p.run.Defs), 0
	for l := trace.P(0); int(l) < p.run.meta.Locations && n <= mostExact; l++ {
		if of(l) {
			n++
		}
	}
	o.exact = n <= mostExact
	return o
}

// loc reads loc=L, which is required.
func (p *params) loc() trace.P {
	n := uint64(p.run.meta.Locations)
	switch {
	case !p.v.Has("loc"):
		p.wrong(bad("loc", "it is not given", "Give the number of a location"))
		return 0
	case n == 0:
		p.wrong(missing("locations"))
		return 0
	}
	return trace.P(p.number("loc", 0, 0, n-1))
}

// limit reads max=M.
func (p *params) limit(def, most int) int {
	return int(p.number("max", uint64(def), 1, uint64(most)))
}

// choice reads one of some words; the first one is the default.
func (p *params) choice(name string, words ...string) string {
	text := p.text(name, 64)
	switch {
	case text == "":
		return words[0]
	case !slices.Contains(words, text):
		p.wrong(bad(name+"="+clip(text), "no such choice", "Choose one of "+strings.Join(words, ", ")))
	}
	return text
}

// tokenBytes is the length of a random token: 256 bits.
const tokenBytes = 32

// NewToken returns a random token for URLs.
func NewToken() (string, error) {
	b := make([]byte, tokenBytes)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("random token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// harden sets security headers: a page may not load anything from elsewhere, nor be framed.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// admit checks that a request only reads, is meant for this server, comes from its own page or from none, and has the token. It returns the
// path below the base.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (string, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return "", &problem{http.StatusMethodNotAllowed, Failure{
			What: "method not allowed", Where: r.Method, Why: "the server only shows a run", Do: "Use GET or HEAD",
		}}
	}
	if !s.hostAllowed(r.Host) {
		return "", &problem{http.StatusForbidden, Failure{
			What: "wrong host", Where: "Host: " + clip(r.Host), Why: "the request is meant for another server",
			Do: "Use the printed address; --host NAME allows another name, for example that of a proxy",
		}}
	}
	if why := foreign(r); why != "" {
		return "", &problem{http.StatusForbidden, Failure{
			What: "foreign origin", Where: clip(why), Why: "another page made this request", Do: "Open the printed address itself",
		}}
	}
	path, ok := strings.CutPrefix(r.URL.Path, s.o.Base)
	if !ok || path != "" && path[0] != '/' {
		return "", missing(r.URL.Path)
	}
	return path, s.authenticate(w, r, path)
}

// hostAllowed reports whether Host names this server, with any port, because ssh may forward another one. It excludes names that an
// attacker's name server could resolve to this machine (DNS rebinding).
func (s *Server) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return name != "" && slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(strings.Trim(h, "[]"), name) })
}

// foreign returns the header that shows that another site made the request, "" if none does. The page itself may be opened from anywhere:
// the browser does not send the cookie then, and without the token nothing is shown.
func foreign(r *http.Request) string {
	if o := r.Header.Get("Origin"); o != "" {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return "Origin: " + o
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return "Sec-Fetch-Site: " + site
	}
	return ""
}

// cookieName includes the port of this server, because browsers do not separate cookies by port.
func cookieName(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return "coppice-" + port
	}
	return "coppice"
}

// authenticate checks the token: in the cookie, in the Authorization header, or, for the page, in its URL.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, path string) error {
	if path == "" { // relative URLs of the page need the slash
		http.Redirect(w, r, s.o.Base+"/?"+r.URL.RawQuery, http.StatusPermanentRedirect)
		return errAnswered
	}
	if k := r.URL.Query().Get("k"); path == "/" && s.right(k) {
		http.SetCookie(w, &http.Cookie{
			Name: cookieName(r.Host), Value: s.o.Token, Path: s.o.Base + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
		return nil
	}
	if c, err := r.Cookie(cookieName(r.Host)); err == nil && s.right(c.Value) {
		return nil
	}
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && s.right(t) {
		return nil
	}
	return &problem{http.StatusUnauthorized, Failure{
		What: "no token", Where: r.URL.Path, Why: "only who started the server may look", Do: "Open the address with ?k=... that coppice serve printed",
	}}
}

// right compares a token in constant time.
func (s *Server) right(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.o.Token)) == 1
}

// clip shortens a part of a request for a message.
func clip(text string) string {
	if len(text) > 100 {
		text = text[:100]
	}
	return strings.ToValidUTF8(text, "?")
}
