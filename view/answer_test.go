package view

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// TestCompression: an answer is the same in every encoding that a client may ask for.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	plain := ask(s, "tile/0/0/0-0").Body.Bytes()
	for _, c := range []struct {
		accept, want string
		open         func(io.Reader) (io.Reader, error)
	}{
		{"gzip, deflate, br, zstd", "zstd", func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) }},
		{"gzip;q=1.0, zstd; q=0", "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"GZIP", "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{"br, identity", "", func(r io.Reader) (io.Reader, error) { return r, nil }},
	} {
		r := httptest.NewRequest("GET", "http://localhost/api/tile/0/0/0-0", nil)
		r.Header.Set("Authorization", "Bearer "+testToken)
		r.Header.Set("Accept-Encoding", c.accept)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		in, err := c.open(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if got := w.Header().Get("Content-Encoding"); err != nil || got != c.want || !bytes.Equal(b, plain) {
			t.Errorf("%q: encoding %q, %d bytes of %d, %v", c.accept, got, len(b), len(plain), err)
		}
	}
}

// TestMarshal: texts have nothing in them that controls or turns around; all else is as it was.
func TestMarshal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"main \"<b>\" & \\u0000 \\ \t\n é 日本 \u200d": "main \"<b>\" & \\u0000 \\ \t\n é 日本 \u200d",
		"a\x00b\x1b[31m\b\f\x7f\u0085":               "a\ufffdb\ufffd[31m\ufffd\ufffd\ufffd\ufffd",
		"gnp.\u202eexe\u2066\u200f":                  "gnp.\ufffdexe\ufffd\ufffd",
		"\xff\xfe(":                                  "\ufffd\ufffd(",
		"\\\u202e\\\x00":                             "\\\ufffd\\\ufffd",
	} {
		b, err := marshal(map[string]any{"text": text, "n": 17})
		var got struct {
			Text string
			N    int
		}
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if err != nil || got.Text != want || got.N != 17 {
			t.Errorf("%q becomes %q, %v", text, got.Text, err)
		}
	}
}

// BenchmarkTile paints tiles of a small run.
func BenchmarkTile(b *testing.B) {
	s := serving(b, generated(b, generatedSpecs[0]))
	for _, encoding := range []string{"", "gzip", "zstd"} {
		b.Run("encoding="+encoding, func(b *testing.B) {
			r := httptest.NewRequest("GET", "http://localhost/api/tile/0/0/0-0", nil)
			r.Header.Set("Authorization", "Bearer "+testToken)
			r.Header.Set("Accept-Encoding", encoding)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if s.ServeHTTP(w, r); w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
