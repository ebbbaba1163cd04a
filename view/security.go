package view

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// tokenBytes is the length of a random token: 256 bits.
const tokenBytes = 32

// NewToken returns a random token that can be in a URL.
func NewToken() (string, error) {
	b := make([]byte, tokenBytes)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("random token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// harden sets the headers of every answer: nothing from elsewhere is loaded, run or allowed to frame the page.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// admit lets a request pass that only reads, is meant for this server, comes from its own page or none, and shows the
// token. It returns the path below the base.
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

// hostAllowed says whether Host names this server. Any port will do: ssh may forward another one. Names that an
// attacker's name server could point here (DNS rebinding) are none of these.
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

// foreign says which header tells that another site made the request, "" if none does. The page itself may be opened
// from anywhere: the cookie does not come along then, and nothing is shown without the token.
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

// cookieName is the name of the cookie as the browser sees this server: cookies do not part by port.
func cookieName(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return "coppice-" + port
	}
	return "coppice"
}

// authenticate wants the token: in the cookie, in the Authorization header, or, on the page, in its address.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, path string) error {
	if path == "" { // relative addresses of the page need the slash
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

// right compares in constant time.
func (s *Server) right(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.o.Token)) == 1
}

// clip shortens what a message repeats of a request.
func clip(text string) string {
	if len(text) > 100 {
		text = text[:100]
	}
	return strings.ToValidUTF8(text, "?")
}
