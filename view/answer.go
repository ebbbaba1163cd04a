package view

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"mime"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/report/export"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Schema names the form of the answers.
const Schema = "coppice.view/1"

// raw is an answer that is not JSON, asset one whose type is set already.
type (
	raw   []byte
	asset []byte
)

// problem is an error with an HTTP status.
type problem struct {
	status  int
	failure Failure
}

func (p *problem) Error() string {
	f := &p.failure
	return fmt.Sprintf("%s: %s: %s. %s", f.What, f.Where, f.Why, f.Do)
}

// errAnswered says that the response has been written.
var errAnswered = errors.New("answered")

// bad returns an error about a parameter.
func bad(where, why, do string) error {
	return &problem{http.StatusBadRequest, Failure{What: "wrong parameter", Where: where, Why: why, Do: do}}
}

// missing returns an error about something that does not exist.
func missing(where string) error {
	return &problem{http.StatusNotFound, Failure{What: "not found", Where: clip(where), Why: "there is no such thing", Do: "See docs/viewer.md for what there is"}}
}

// problemOf returns an error of lower packages with a status and an explanation.
func problemOf(err error, where string) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, results.ErrNoResult), errors.Is(err, xtf.ErrNoSection):
		return &problem{http.StatusUnprocessableEntity, Failure{"not in the file", where, err.Error(), "Analyze the archive again with the options that keep it"}}
	case errors.Is(err, results.ErrRanks), errors.Is(err, lookup.ErrSpan), errors.Is(err, results.ErrInterval):
		return &problem{http.StatusBadRequest, Failure{"wrong parameter", where, err.Error(), "Choose what the run has"}}
	case errors.Is(err, xtf.ErrCorrupt), errors.Is(err, graph.ErrCorrupt), errors.Is(err, graph.ErrVersion):
		return &problem{http.StatusInternalServerError, Failure{
			"damaged file", where, err.Error(), "It changed after it was written: copy it again or analyze the archive again; coppice check lists what is sound",
		}}
	}
	return &problem{http.StatusInternalServerError, Failure{"cannot be read", where, err.Error(), "See the server's terminal"}}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errAnswered) || errors.Is(err, context.Canceled) {
		return // already answered, or the client has closed the connection
	}
	p := problemOf(err, clip(r.URL.Path))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("ETag")
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	b, err := marshal(Error{p.failure})
	if err != nil {
		b = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	deadline(w, s.turns.stall)
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // the client may have closed the connection
	}
}

// marshal encodes JSON. In texts it replaces control characters, and those that change the direction of text, by U+FFFD: names in traces
// may have both.
func marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	const replaced = "\uFFFD"
	var out []byte
	done := 0
	for i, n := 0, 0; i < len(b); i += n {
		bad := false
		switch {
		case b[i] == '\\' && b[i+1] == 'u': // control characters, and <, > and &
			n = len(`\u0000`)
			c, err := strconv.ParseUint(string(b[i+2:i+n]), 16, 32)
			bad = err == nil && unicode.IsControl(rune(c))
		case b[i] == '\\':
			n = 2
			bad = b[i+1] == 'b' || b[i+1] == 'f'
		case b[i] < utf8.RuneSelf:
			n = 1
			bad = b[i] == 0x7f
		default:
			var c rune
			c, n = utf8.DecodeRune(b[i:])
			bad = unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)
		}
		if bad {
			out, done = append(append(out, b[done:i]...), replaced...), i+n
		}
	}
	if done == 0 {
		return b, nil
	}
	return append(out, b[done:]...), nil
}

// answer sends what an endpoint returned, compressed if the client accepts that. It does not send errors.
func (t *turn) answer(r *http.Request, v any) error {
	h := t.w.Header()
	var b []byte
	switch v := v.(type) {
	case stream:
		return t.stream(r, v)
	case asset:
		b = v
	case raw:
		h.Set("Content-Type", "application/octet-stream")
		b = v
	default:
		var err error
		if b, err = marshal(v); err != nil {
			return err
		}
		h.Set("Content-Type", "application/json; charset=utf-8")
	}
	b, encoding := compress(r.Header.Get("Accept-Encoding"), b)
	if err := t.hold(int64(len(b))); err != nil {
		return err
	}
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	if r.Method != http.MethodHead {
		_, _ = t.send(b) // the client may have closed the connection
	}
	return nil
}

// leastCompressed is the size in bytes from which answers are compressed.
const leastCompressed = 1024

// compressors are gzip writers for reuse.
var compressors = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// fast returns the zstd encoder, which is safe for concurrent use. It takes half the time of gzip for tiles.
var fast = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// compress returns b in an encoding that the client accepts, and the name of the encoding, "" for none.
func compress(accept string, b []byte) ([]byte, string) {
	switch {
	case len(b) < leastCompressed:
	case accepts(accept, "zstd"):
		return fast().EncodeAll(b, make([]byte, 0, len(b)/4)), "zstd"
	case accepts(accept, "gzip"):
		z := compressors.Get().(*gzip.Writer)
		defer compressors.Put(z)
		out := bytes.NewBuffer(make([]byte, 0, len(b)/4))
		z.Reset(out)
		if _, err := z.Write(b); err == nil && z.Close() == nil {
			return out.Bytes(), "gzip"
		}
	}
	return b, ""
}

// accepts reports whether Accept-Encoding has an encoding.
func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			q = strings.ReplaceAll(q, " ", "")
			return q != "q=0" && q != "q=0.0"
		}
	}
	return false
}

// hashAssets returns the ETags of the files of the page.
func hashAssets(files fs.FS) (map[string]string, error) {
	tags := map[string]string{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, name)
		sum := sha256.Sum256(b)
		tags[name] = `"` + hex.EncodeToString(sum[:8]) + `"`
		return err
	})
	return tags, err
}

// assetTypes are the media types of the page's files, independent of the machine's configuration.
var assetTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".mjs": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png",
}

// serveAsset answers with a file of the page.
func (s *Server) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	tag, ok := s.etags[name]
	if !ok {
		s.fail(w, r, missing(r.URL.Path))
		return
	}
	t := cmp.Or(assetTypes[path.Ext(name)], mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Content-Type", t)
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.produce(w, r, func() (any, error) {
		b, err := fs.ReadFile(s.assets, name)
		return asset(b), err
	})
}

// mostArrow is the most rows of a stream.
const mostArrow = 1_000_000

// stream is an answer that is written while it is computed.
type stream struct {
	mediaType string
	write     func(w io.Writer) error
}

// getArrow answers api/arrow. It counts the rows; the stream that it returns reads them.
func getArrow(ctx context.Context, p *params) (any, error) {
	table, o, most := p.choice("table", export.Tables()...), p.window(), p.limit(mostArrow, mostArrow)
	if p.err != nil {
		return nil, p.err
	}
	labels, err := results.NodeLabels(p.run.Run)
	if err != nil {
		return nil, err
	}
	of := o.ranks.Locations(p.run.Defs)
	src := &export.Source{
		Run: p.run.Run, Nodes: labels, Window: results.Span{Begin: o.begin, End: o.end},
		Selected: func(l trace.P) bool { return ctx.Err() == nil && of(l) },
	}
	n, err := src.Rows(table, uint64(most))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if n > uint64(most) {
		return nil, bad("t", fmt.Sprintf("more than %d rows of %s overlap the window", most, table),
			"Choose fewer ranks or a shorter window, or use coppice export --to arrow")
	}
	return stream{"application/vnd.apache.arrow.stream", func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		_, err := src.Events(table, func(schema *export.Schema) (export.TableWriter, error) { return export.NewTable(b, "arrow", schema) })
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		return b.Flush()
	}}, nil
}

// stream sends a stream. After an error it closes the connection, so that the client does not take a part for the whole.
func (t *turn) stream(r *http.Request, x stream) error {
	if r.Method == http.MethodHead {
		t.w.Header().Set("Content-Type", x.mediaType)
		return nil
	}
	if err := t.hold(streamHeld); err != nil {
		return err
	}
	t.w.Header().Set("Cache-Control", "no-store")
	out := &begun{t: t, ctx: r.Context(), mediaType: x.mediaType}
	err := x.write(out)
	if err != nil && out.n > 0 {
		panic(http.ErrAbortHandler)
	}
	return err
}

// begun writes an answer in chunks and counts its bytes. While the client reads a chunk, other requests have their turns.
type begun struct {
	t         *turn
	ctx       context.Context
	mediaType string
	n         int
}

func (b *begun) Write(p []byte) (int, error) {
	if b.n == 0 {
		b.t.w.Header().Set("Content-Type", b.mediaType)
	}
	n, err := b.t.send(p)
	b.n += max(1, n)
	if err == nil {
		err = b.t.wait(b.ctx, math.MaxInt)
	}
	return n, err
}

// Limits of requests in progress.
const (
	maxWaiting  = 256              // requests that wait for a turn; further ones are refused
	chunkBytes  = 64 << 10         // bytes of an answer that are written at a time
	leastHeld   = 256 << 10        // least bytes that an answer counts: its connection and goroutine
	streamHeld  = 16 << 20         // bytes that a stream counts: twice export.GroupRows rows
	sendBytes   = 64 << 20         // default of Options.SendBytes
	stallTime   = 30 * time.Second // a client that does not take a chunk for so long loses its answer
	pressedTime = time.Second      // the same if other answers need the room
)

// share is the part of a limit that one remote address may use, so that others have the rest.
func share[T int | int64](n T) T { return n / 4 * 3 }

// turns schedules requests. As many compute at a time as there are turns. The addresses that ask get turns in rotation, each for its
// request that has waited longest. A request does not hold its turn while its client reads.
//
// The bytes of answers that clients are reading are limited. If there is no room for a new answer, the answer whose client has taken
// nothing for longest is dropped, if that is at least pressedTime. Otherwise the new answer is status 503.
type turns struct {
	stall, pressed time.Duration
	bytes          int64 // most bytes of sending

	mu      sync.Mutex
	free    int
	queue   []*turn           // oldest first
	last    map[string]uint64 // number of the last turn of each address; forgotten if there are too many addresses
	given   uint64
	sending map[*turn]struct{}
}

// turn is a request that turns schedules. It is guarded by mu of turns.
type turn struct {
	of      *turns
	address string
	w       http.ResponseWriter
	ready   chan struct{} // gets a value with each turn
	has     bool          // it holds a turn
	held    int64         // its bytes in sending
	since   time.Time     // when the chunk that the client has not taken yet was written; zero: there is none
}

func newTurns(n int, bytes int64) *turns {
	if bytes <= 0 {
		bytes = sendBytes
	}
	return &turns{
		stall: stallTime, pressed: pressedTime, bytes: max(bytes, 4*leastHeld), free: n,
		last: map[string]uint64{}, sending: map[*turn]struct{}{},
	}
}

// busy returns the error of a request that the client should repeat later.
func busy(where, why string) error {
	return &problem{http.StatusServiceUnavailable, Failure{What: "too many requests at a time", Where: where, Why: why, Do: "Ask again in a second"}}
}

// take waits until the request gets a turn. end returns it.
func (s *turns) take(w http.ResponseWriter, r *http.Request) (*turn, error) {
	t := &turn{of: s, address: r.RemoteAddr, w: w, ready: make(chan struct{}, 1)}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		t.address = host
	}
	return t, t.wait(r.Context(), maxWaiting)
}

// wait waits for a turn, unless most others wait already.
func (t *turn) wait(ctx context.Context, most int) error {
	s := t.of
	s.mu.Lock()
	if t.has {
		s.mu.Unlock()
		return nil
	}
	n, same := len(s.queue), 0
	for _, x := range s.queue {
		if x.address == t.address {
			same++
		}
	}
	if n >= most || same >= share(most) {
		s.mu.Unlock()
		return busy(t.address, fmt.Sprintf("%d wait already, %d of them from this address", n, same))
	}
	s.queue = append(s.queue, t)
	s.give()
	s.mu.Unlock()
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, t); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
	}
	t.put()
	return ctx.Err()
}

// give gives out free turns.
func (s *turns) give() {
	for s.free > 0 && len(s.queue) > 0 {
		k := 0
		for i, t := range s.queue {
			if s.last[t.address] < s.last[s.queue[k].address] {
				k = i
			}
		}
		t := s.queue[k]
		s.queue = slices.Delete(s.queue, k, k+1)
		s.free--
		if s.given++; len(s.last) > maxWaiting {
			clear(s.last)
		}
		s.last[t.address] = s.given
		t.has = true
		t.ready <- struct{}{}
	}
}

// put returns the turn, if t has it.
func (t *turn) put() {
	if !t.has {
		return
	}
	t.has = false
	t.of.free++
	t.of.give()
}

// end returns the turn and the bytes of t.
func (t *turn) end() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.put()
	delete(t.of.sending, t)
}

// hold reserves room for an answer. As much again must stay free, for smaller answers.
func (t *turn) hold(bytes int64) error {
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes = min(max(bytes, leastHeld), share(s.bytes)/2)
	for _, bound := range []struct {
		most int64
		of   func(x *turn) bool
	}{
		{share(s.bytes), func(x *turn) bool { return x.address == t.address }},
		{s.bytes, func(*turn) bool { return true }},
	} {
		for {
			var held int64
			var oldest *turn
			for x := range s.sending {
				if !bound.of(x) {
					continue
				}
				held += x.held
				if !x.since.IsZero() && (oldest == nil || x.since.Before(oldest.since)) {
					oldest = x
				}
			}
			if held+2*bytes <= bound.most {
				break
			}
			if oldest == nil || time.Since(oldest.since) < s.pressed {
				return busy(t.address, fmt.Sprintf("answers of %d bytes wait for their readers", held))
			}
			delete(s.sending, oldest)
			_ = http.NewResponseController(oldest.w).SetWriteDeadline(time.Unix(1, 0)) // ends its write now
		}
	}
	t.held = bytes
	s.sending[t] = struct{}{}
	return nil
}

// send writes b. Other requests have their turns meanwhile. The client has stallTime for each chunk.
func (t *turn) send(b []byte) (n int, err error) {
	s := t.of
	for len(b) > 0 && err == nil {
		s.mu.Lock()
		t.put()
		_, ok := s.sending[t]
		if ok {
			t.since = time.Now()
			deadline(t.w, s.stall)
		}
		s.mu.Unlock()
		if !ok {
			return n, fmt.Errorf("answer to %s: %w", t.address, context.DeadlineExceeded)
		}
		var k int
		k, err = t.w.Write(b[:min(len(b), chunkBytes)])
		s.mu.Lock()
		t.since = time.Time{}
		s.mu.Unlock()
		n, b = n+k, b[k:]
	}
	return n, err
}

// deadline sets the time limit of the next write. Writers without a connection do not have one.
func deadline(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d))
}
