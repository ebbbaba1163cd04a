package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report/lookup"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Schema names the form of the answers.
const Schema = "coppice.view/1"

// raw is an answer that is no JSON, asset one whose type is set.
type (
	raw   []byte
	asset []byte
)

// problem is an error with its status.
type problem struct {
	status  int
	failure Failure
}

func (p *problem) Error() string {
	f := &p.failure
	return fmt.Sprintf("%s: %s: %s. %s", f.What, f.Where, f.Why, f.Do)
}

// errAnswered says that the request has its answer.
var errAnswered = errors.New("answered")

// bad is an error about a parameter.
func bad(where, why, do string) error {
	return &problem{http.StatusBadRequest, Failure{What: "wrong parameter", Where: where, Why: why, Do: do}}
}

// missing is an error about something that does not exist.
func missing(where string) error {
	return &problem{http.StatusNotFound, Failure{What: "not found", Where: clip(where), Why: "there is no such thing", Do: "See docs/viewer.md for what there is"}}
}

// problemOf gives an error of the packages below its status and words.
func problemOf(err error, where string) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, results.ErrNoResult), errors.Is(err, xtf.ErrNoSection):
		return &problem{http.StatusUnprocessableEntity, Failure{"not in the file", where, err.Error(), "Analyze the archive again with the options that keep it"}}
	case errors.Is(err, results.ErrRanks), errors.Is(err, lookup.ErrSpan), errors.Is(err, results.ErrInterval):
		return &problem{http.StatusBadRequest, Failure{"wrong parameter", where, err.Error(), "Choose what the run has"}}
	case errors.Is(err, xtf.ErrCorrupt), errors.Is(err, ccg.ErrCorrupt):
		return &problem{http.StatusInternalServerError, Failure{
			"damaged file", where, err.Error(), "It changed after it was written: copy it again or analyze the archive again; coppice check lists what is sound",
		}}
	}
	return &problem{http.StatusInternalServerError, Failure{"cannot be read", where, err.Error(), "See the server's terminal"}}
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errAnswered) || errors.Is(err, context.Canceled) {
		return // the client has its answer, or is gone
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
		_, _ = w.Write(b) // a client that is gone needs no answer
	}
}

// marshal makes JSON whose texts can be shown: control characters, and those that turn around the text next to them, are
// U+FFFD there. Names in traces may have both.
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
		case b[i] == '\\' && b[i+1] == 'u': // of control characters, and of <, > and &
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

// answer sends what an endpoint returned, compressed where the client can read that. An error is not sent yet.
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
		_, _ = t.send(b) // a client that is gone needs no answer
	}
	return nil
}

// leastCompressed is the size in bytes from which compression pays.
const leastCompressed = 1024

// compressors are the gzip writers of the process.
var compressors = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// fast is the zstd encoder of the process, which several goroutines may use: half the time of gzip for tiles.
var fast = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// compress returns b as the client can read it, and the name of the encoding, "" for none.
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

// accepts looks for an encoding in Accept-Encoding.
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

// hashAssets returns the validators of the files of the page.
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

// assetTypes are the media types of the page's files, whatever the machine has installed.
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
	t := assetTypes[path.Ext(name)]
	if t == "" {
		t = mime.TypeByExtension(path.Ext(name))
	}
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
