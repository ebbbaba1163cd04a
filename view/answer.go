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

	"github.com/coppice-hpc/coppice/ccg"
	"github.com/coppice-hpc/coppice/report"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Schema names the form of the answers.
const Schema = "coppice.view/1"

// raw is an answer that is no JSON.
type raw []byte

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
	case errors.Is(err, report.ErrNoResult), errors.Is(err, xtf.ErrNoSection):
		return &problem{http.StatusUnprocessableEntity, Failure{"not in the file", where, err.Error(), "Analyze the archive again with the options that keep it"}}
	case errors.Is(err, report.ErrRanks), errors.Is(err, report.ErrSpan), errors.Is(err, report.ErrInterval):
		return &problem{http.StatusBadRequest, Failure{"wrong parameter", where, err.Error(), "Choose what the run has"}}
	case errors.Is(err, xtf.ErrCorrupt), errors.Is(err, ccg.ErrCorrupt):
		return &problem{http.StatusInternalServerError, Failure{
			"damaged file", where, err.Error(), "It changed after it was written: copy it again or analyze the archive again; coppice check tells what is sound",
		}}
	}
	return &problem{http.StatusInternalServerError, Failure{"cannot be read", where, err.Error(), "See the server's terminal"}}
}

// fail answers with an error.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errAnswered) || errors.Is(err, context.Canceled) {
		return // the client has its answer, or is gone
	}
	p := problemOf(err, clip(r.URL.Path))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("ETag")
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	b, err := json.Marshal(Error{p.failure})
	if err != nil {
		b = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // a client that is gone needs no answer
	}
}

// send writes an answer, compressed where the client can read that.
func send(w http.ResponseWriter, r *http.Request, v any) {
	b, binary := v.(raw)
	if !binary {
		var err error
		if b, err = json.Marshal(v); err != nil {
			fail(w, r, err)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if binary {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	write(w, r, b)
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

func write(w http.ResponseWriter, r *http.Request, b []byte) {
	accept := r.Header.Get("Accept-Encoding")
	switch {
	case len(b) < leastCompressed:
	case accepts(accept, "zstd"):
		w.Header().Set("Content-Encoding", "zstd")
		b = fast().EncodeAll(b, make([]byte, 0, len(b)/4))
	case accepts(accept, "gzip"):
		z := compressors.Get().(*gzip.Writer)
		out := bytes.NewBuffer(make([]byte, 0, len(b)/4))
		z.Reset(out)
		if _, err := z.Write(b); err == nil && z.Close() == nil {
			w.Header().Set("Content-Encoding", "gzip")
			b = out.Bytes()
		}
		compressors.Put(z)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(b) // a client that is gone needs no answer
	}
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
		fail(w, r, missing(r.URL.Path))
		return
	}
	b, err := fs.ReadFile(s.assets, name)
	if err != nil {
		fail(w, r, err)
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
	write(w, r, b)
}
