package view

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAdmission: only requests that read, name this server, come from its own page and show the token see anything.
func TestAdmission(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	s.o.Hosts = []string{"hub.example.org"}
	header := func(pairs ...string) map[string]string {
		h := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = pairs[i+1]
		}
		return h
	}
	bearer, cookie := "Bearer "+testToken, "coppice-8411="+testToken
	for _, c := range []struct {
		name, method, host, path string
		header                   map[string]string
		want                     int
	}{
		{"page with token", "GET", "localhost:8411", "/?k=right", nil, 200},
		{"page with cookie", "GET", "localhost:8411", "/", header("Cookie", cookie), 200},
		{"answer with cookie", "GET", "127.0.0.1:8411", "/api/meta", header("Cookie", cookie), 200},
		{"answer with header", "GET", "[::1]:8411", "/api/meta", header("Authorization", bearer), 200},
		{"head", "HEAD", "localhost:8411", "/api/meta", header("Cookie", cookie), 200},
		{"own origin", "GET", "localhost:8411", "/api/meta", header("Cookie", cookie, "Origin", "http://localhost:8411"), 200},
		{"own page", "GET", "localhost:8411", "/api/meta", header("Cookie", cookie, "Sec-Fetch-Site", "same-origin"), 200},
		{"other name", "GET", "hub.example.org", "/api/meta", header("Cookie", "coppice="+testToken), 200},
		{"forwarded to another port", "GET", "localhost:9000", "/api/meta", header("Cookie", "coppice-9000="+testToken), 200},
		{"opened from another page", "GET", "localhost:8411", "/?k=right", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), 200},

		{"no token", "GET", "localhost:8411", "/", nil, 401},
		{"no token for answers", "GET", "localhost:8411", "/api/meta", nil, 401},
		{"no token for assets", "GET", "localhost:8411", "/assets/index.html", nil, 401},
		{"wrong token", "GET", "localhost:8411", "/?k=wrong", nil, 401},
		{"beginning of the token", "GET", "localhost:8411", "/?k=righ", nil, 401},
		{"empty token", "GET", "localhost:8411", "/?k=", nil, 401},
		{"wrong cookie", "GET", "localhost:8411", "/api/meta", header("Cookie", "coppice-8411=wrong"), 401},
		{"cookie of another port", "GET", "localhost:8411", "/api/meta", header("Cookie", "coppice-8412="+testToken), 401},
		{"wrong header", "GET", "localhost:8411", "/api/meta", header("Authorization", "Bearer wrong"), 401},
		{"token in the address of an answer", "GET", "localhost:8411", "/api/meta?k=right", nil, 401},

		{"wrong host", "GET", "evil.example", "/?k=right", nil, 403},
		{"wrong host with port", "GET", "evil.example:8411", "/api/meta", header("Authorization", bearer), 403},
		{"name that ends like ours", "GET", "evil-localhost:8411", "/api/meta", header("Authorization", bearer), 403},
		{"name that begins like ours", "GET", "localhost.evil.example:8411", "/api/meta", header("Authorization", bearer), 403},
		{"address of the network", "GET", "192.168.1.4:8411", "/api/meta", header("Authorization", bearer), 403},
		{"no host", "GET", "", "/api/meta", header("Authorization", bearer), 403},

		{"foreign origin", "GET", "localhost:8411", "/api/meta", header("Cookie", cookie, "Origin", "http://evil.example"), 403},
		{"origin of another port", "GET", "localhost:8411", "/api/meta", header("Cookie", cookie, "Origin", "http://localhost:9999"), 403},
		{"null origin", "GET", "localhost:8411", "/api/meta", header("Cookie", cookie, "Origin", "null"), 403},
		{"foreign page", "GET", "localhost:8411", "/api/meta", header("Cookie", cookie, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"), 403},
		{"page of another port", "GET", "localhost:8411", "/api/meta", header("Cookie", cookie, "Sec-Fetch-Site", "same-site"), 403},

		{"post", "POST", "localhost:8411", "/api/meta", header("Authorization", bearer), 405},
		{"put", "PUT", "localhost:8411", "/api/meta", header("Authorization", bearer), 405},
		{"delete", "DELETE", "localhost:8411", "/", header("Authorization", bearer), 405},
		{"options", "OPTIONS", "localhost:8411", "/api/meta", header("Authorization", bearer, "Origin", "http://evil.example"), 405},
		{"trace", "TRACE", "localhost:8411", "/", header("Authorization", bearer), 405},

		{"no such answer", "GET", "localhost:8411", "/api/secret", header("Authorization", bearer), 404},
		{"no such file", "GET", "localhost:8411", "/assets/../server.go", header("Authorization", bearer), 404},
		{"no such path", "GET", "localhost:8411", "/etc/passwd", header("Authorization", bearer), 404},
	} {
		r := httptest.NewRequest(c.method, "http://localhost:8411"+c.path, nil)
		r.Host = c.host
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, w.Code, c.want, w.Body)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: shared with other origins", c.name)
		}
		for k, v := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if w.Header().Get(k) != v {
				t.Errorf("%s: %s is %q", c.name, k, w.Header().Get(k))
			}
		}
		if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'self'") || !strings.Contains(p, "frame-ancestors 'none'") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: policy %q", c.name, p)
		}
		if c.want >= 400 && (strings.Contains(w.Body.String(), testToken) || w.Header().Get("Set-Cookie") != "") {
			t.Errorf("%s: tells the token: %s", c.name, w.Body)
		}
	}
}

// TestCookie: the page's address gives a cookie that scripts and other sites do not get, for the port that the browser
// sees, below the base path.
func TestCookie(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	s.o.Base = "/user/ann/proxy"
	r := httptest.NewRequest("GET", "http://localhost:9000/user/ann/proxy/?k="+testToken, nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	cookies := w.Result().Cookies()
	if w.Code != 200 || len(cookies) != 1 {
		t.Fatalf("status %d, %d cookies", w.Code, len(cookies))
	}
	c := cookies[0]
	if c.Name != "coppice-9000" || c.Value != testToken || c.Path != "/user/ann/proxy/" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" {
		t.Errorf("cookie %+v", c)
	}
	for path, want := range map[string]int{"/user/ann/proxy/api/meta": 200, "/user/ann/proxy": 308, "/user/ann/proxyx/api/meta": 404, "/api/meta": 404} {
		r := httptest.NewRequest("GET", "http://localhost:9000"+path, nil)
		r.AddCookie(c)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}

// TestToken: tokens are random, long, and fit into a URL.
func TestToken(t *testing.T) {
	t.Parallel()
	a, err := NewToken()
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewToken()
	if err != nil || a == b || len(a) < 43 || strings.ContainsAny(a, "+/=&?# ") {
		t.Errorf("tokens %q and %q: %v", a, b, err)
	}
}

// TestCaching: what names the version is kept for ever, another version is refused, and what did not change is not sent.
func TestCaching(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	m := answer[Meta](t, s, "meta")
	if m.Schema != "coppice.view/1" { // docs/format/README.md
		t.Error(m.Schema)
	}
	v := m.Version
	w := ask(s, "tile/0/0/0-0?v="+v)
	tag := w.Header().Get("ETag")
	if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || tag == "" {
		t.Fatalf("status %d, %v", w.Code, w.Header())
	}
	if w := ask(s, "tile/0/0/0-0"); strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Error("an answer without a version is kept for ever")
	}
	if w := ask(s, "tile/0/0/0-0?v=0123"); w.Code != 409 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("another version: status %d", w.Code)
	}
	r := httptest.NewRequest("GET", "http://localhost/api/tile/0/0/0-0", nil)
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("If-None-Match", tag)
	w = httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("unchanged: status %d", w.Code)
	}
}

// TestPanic: a broken endpoint is an answer, not the end of the server.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := serving(t, generated(t, generatedSpecs[0]))
	s.routes["stats"] = func(context.Context, *params) (any, error) { panic("of a test") }
	if w := ask(s, "stats"); w.Code != 500 || !strings.Contains(w.Body.String(), "internal error") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := ask(s, "tile/0/0/0-0"); w.Code != 200 {
		t.Errorf("afterwards: status %d", w.Code)
	}
}
