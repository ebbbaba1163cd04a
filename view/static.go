package view

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// ErrStaticSize is the error of a limit that is too low even for the page and its sums.
var ErrStaticSize = errors.New("the file would be larger than allowed")

// StaticOptions are the limits of a static file.
type StaticOptions struct {
	Levels   int   // zoom levels of tiles, from the coarsest
	MaxBytes int64 // of the file
}

// Static describes a static file.
type Static struct {
	Bytes  int64 `json:"bytes"`
	Tiles  int   `json:"tiles"`
	Levels int   `json:"levels"` // levels that are complete
	Full   bool  `json:"-"`      // all levels that were asked for are complete
}

// staticData replaces the server in a static file: answers by path and parameters, and tiles by run/z/x/rows, gzip in base64.
type staticData struct {
	Name  string                     `json:"name"`
	JSON  map[string]json.RawMessage `json:"json"`
	Tiles map[string]string          `json:"tiles"`
}

// staticIntervals is the most intervals whose characteristics are in a static file.
const staticIntervals = 100

// WriteStatic writes the viewer of the first run as one file that needs neither a server nor a network: the page, the answers about the
// whole run, and tiles, coarse ones first, up to MaxBytes. It holds the file in memory.
func (s *Server) WriteStatic(ctx context.Context, w io.Writer, o StaticOptions) (*Static, error) {
	d, err := s.staticAnswers(ctx)
	if err != nil {
		return nil, err
	}
	page, err := s.staticPage()
	if err != nil {
		return nil, err
	}
	b, err := marshal(d)
	if err != nil {
		return nil, err
	}
	const seam = "\x00"
	room := o.MaxBytes - int64(len(page)+len(b))
	if room < 0 {
		return nil, fmt.Errorf("%s: %w: page and sums take %d bytes, of %d. Allow more", d.Name, ErrStaticSize, int64(len(page)+len(b)), o.MaxBytes)
	}
	st, err := s.staticTiles(ctx, d, o.Levels, room)
	if err != nil {
		return nil, err
	}
	if b, err = marshal(d); err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(page, seam)
	for _, part := range []string{before, string(b), after} {
		n, err := io.WriteString(w, part)
		if st.Bytes += int64(n); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// staticAnswers computes the answers about the whole run. It leaves out what the run's file does not have.
func (s *Server) staticAnswers(ctx context.Context) (*staticData, error) {
	d := &staticData{Name: s.runs[0].Name, JSON: map[string]json.RawMessage{}, Tiles: map[string]string{}}
	for _, x := range []struct{ key, name, query string }{
		{"meta", "meta", ""},
		{"locations?from=0&max=4096", "locations", "from=0&max=4096"},
		{"stats", "stats", "exact=1"},
		{"profile", "profile", "exact=1"},
		{"intervals", "intervals", ""},
		{"waits", "waits", "max=500"},
		{"causes", "causes", ""},
		{"critical", "critical", ""},
		{"messages", "messages", ""},
		{"files", "files", ""},
		{"matrix", "matrix", ""},
		{"classes", "classes", ""},
	} {
		if err := s.staticAnswer(ctx, d, x.key, x.name, "", x.query); err != nil {
			return nil, err
		}
	}
	for node := range min(staticIntervals, s.runs[0].meta.Intervals) {
		n := strconv.Itoa(node)
		if err := s.staticAnswer(ctx, d, "interval/"+n, "interval", n, ""); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (s *Server) staticAnswer(ctx context.Context, d *staticData, key, name, tail, query string) error {
	v, err := s.inside(ctx, name, tail, query)
	if err != nil && problemOf(err, "").status == http.StatusUnprocessableEntity {
		return nil
	}
	if err != nil {
		return err
	}
	d.JSON[key], err = marshal(v)
	return err
}

// inside computes an answer about the first run for the program itself. Errors are those of the lower packages, which decide the exit code.
func (s *Server) inside(ctx context.Context, name, tail, query string) (any, error) {
	v, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	return compute(ctx, s.routes[name], &params{s: s, run: s.runs[0], tail: tail, v: v})
}

// leastRows is the least number of rows for which a level of groups is written; with fewer, finer groups are shown.
const leastRows = 16

// staticTiles adds tiles level by level while there is room.
func (s *Server) staticTiles(ctx context.Context, d *staticData, levels int, room int64) (*Static, error) {
	st := &Static{}
	x := s.runs[0]
	if !x.meta.Rows {
		return st, nil
	}
	packer, err := gzip.NewWriterLevel(nil, gzip.DefaultCompression) // reused: it is larger than most tiles
	if err != nil {
		return nil, err
	}
	for z := range min(levels, x.scale+1) {
		for f := len(x.meta.Groups) - 1; f >= 0; f-- {
			rows := (x.meta.Locations + x.meta.Groups[f] - 1) / x.meta.Groups[f]
			if f > 0 && rows < leastRows {
				continue
			}
			for i := range (rows + tileRows - 1) / tileRows {
				for col := range 1 << z {
					name := fmt.Sprintf("%d/%d/%d-%d", z, col, f, i)
					text, err := s.staticTile(ctx, name, packer)
					if err != nil {
						return nil, err
					}
					room -= int64(len(text) + len(name) + 9)
					if room < 0 {
						return st, nil
					}
					d.Tiles["0/"+name] = text
					st.Tiles++
				}
			}
		}
		st.Levels = z + 1
	}
	st.Full = true
	return st, nil
}

func (s *Server) staticTile(ctx context.Context, name string, packer *gzip.Writer) (string, error) {
	v, err := s.inside(ctx, "tile", name, "")
	if err != nil {
		return "", err
	}
	b, ok := v.(raw)
	if !ok {
		return "", fmt.Errorf("tile %s is not a tile", name)
	}
	var out bytes.Buffer
	packer.Reset(&out)
	if _, err := packer.Write(b); err != nil {
		return "", err
	}
	if err := packer.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

// staticPage returns the page with its style and program inside; a zero byte marks the place of the data.
func (s *Server) staticPage() (string, error) {
	read := func(name string) string {
		b, err := fs.ReadFile(s.assets, name)
		if err != nil {
			panic(err) // they are embedded
		}
		return string(b)
	}
	program, err := bundle(s.assets, "main.js")
	if err != nil {
		return "", err
	}
	style := read("style.css")
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src " + hash(program) + "; style-src " + hash(style)
	icon := "data:image/svg+xml," + url.PathEscape(read("icon.svg"))
	r := strings.NewReplacer(
		`<meta charset="utf-8">`, `<meta charset="utf-8">`+"\n"+`<meta http-equiv="Content-Security-Policy" content="`+html.EscapeString(policy)+`">`,
		`href="assets/icon.svg"`, `href="`+html.EscapeString(icon)+`"`,
		`<link rel="stylesheet" href="assets/style.css">`, "<style>"+style+"</style>",
		`<script type="module" src="assets/main.js"></script>`,
		"<script type=\"application/json\" id=\"embedded\">\x00</script>\n<script type=\"module\">"+program+"</script>",
	)
	return r.Replace(read("index.html")), nil
}

// A page that is opened from disk may not import modules. So its program is one text: all modules, each after those that it imports,
// without the words import and export. Top-level names must therefore differ in all modules, and imports have one form: a list of names
// from one file, not renamed. A test checks that.

var (
	importLine = regexp.MustCompile(`(?m)^import \{[^}]*\} from '\./([a-z0-9]+\.js)';\n`)
	exportWord = regexp.MustCompile(`(?m)^export (const|let|class|function|async function) `)
)

// bundle joins a module and all that it imports, each after its own imports.
func bundle(files fs.FS, main string) (string, error) {
	var b strings.Builder
	known := map[string]bool{} // false: its imports are in progress
	var add func(name string) error
	add = func(name string) error {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		known[name] = false
		for _, m := range importLine.FindAllSubmatch(text, -1) {
			next := string(m[1])
			done, begun := known[next]
			if begun && !done {
				return fmt.Errorf("%s and %s import each other", name, next)
			}
			if !begun {
				if err := add(next); err != nil {
					return err
				}
			}
		}
		known[name] = true
		b.Write(exportWord.ReplaceAll(importLine.ReplaceAll(text, nil), []byte("$1 ")))
		return nil
	}
	if err := add(main); err != nil {
		return "", err
	}
	if strings.Contains(strings.ToLower(b.String()), "</script") {
		return "", fmt.Errorf("%s: the program of the page must not end its own element", main)
	}
	return b.String(), nil
}
