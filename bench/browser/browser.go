// Package browser drives a headless Chromium: for the tests of the viewer and for pictures in documents. It is not a part of
// the tool.
//
// A Session is one browser with one page. It collects what must not happen: messages of errors on the console, among them
// those of the content security policy, exceptions, dialogs of scripts, other windows, and requests to any other place than
// the page's own. Methods wait for the page, never for a time; Limit ends a wait that
// does not end. A Session belongs to one goroutine.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Limit ends a step of a session that hangs: other tests may have the processors.
const Limit = 5 * time.Minute

// Ready is true when a page of the viewer has drawn all it asked for.
const Ready = "document.documentElement.dataset.state === 'ready'"

// ErrAbsent is of a machine without Chromium.
var ErrAbsent = errors.New("no Chromium here: install the package chromium, as scripts/setup --test does")

// Find is the path of a Chromium or Chrome, or ErrAbsent.
func Find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrAbsent
}

// Session is a browser with a page.
type Session struct {
	ctx    context.Context
	cancel []context.CancelFunc
	origin string

	mu       sync.Mutex
	problems []string
	requests int
}

// Start starts a browser whose page is width times height CSS pixels.
func Start(width, height int) (*Session, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.WindowSize(width, height), chromedp.WSURLReadTimeout(Limit),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-extensions", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("lang", "en-US"), chromedp.Env("LANGUAGE=en", "LANG=en_US.UTF-8"),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses its sandbox to root
	}
	s := &Session{}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, quit := chromedp.NewContext(alloc, chromedp.WithListener(s.event))
	s.ctx, s.cancel = ctx, []context.CancelFunc{quit, stop}
	// The first action starts the browser, whose life must not end with the limit of a step.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(int64(width), int64(height))); err != nil {
		s.Close()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		s.Close()
		return nil, err
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the browser.
func (s *Session) Close() {
	for _, f := range s.cancel {
		f()
	}
}

func (s *Session) event(ev any) {
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		s.request(ev.Request.URL)
	case *runtime.EventConsoleAPICalled:
		switch ev.Type {
		case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeWarning, runtime.ConsoleAPICalledTypeAssert:
			var b strings.Builder
			for _, a := range ev.Args {
				fmt.Fprintf(&b, " %s%s", a.Value, a.Description)
			}
			s.problem("console %s:%s", ev.Type, b.String())
		}
	case *runtime.EventExceptionThrown:
		d := ev.ExceptionDetails
		text := d.Text
		if d.Exception != nil {
			text += " " + d.Exception.Description
		}
		s.problem("exception: %s (%s:%d)", text, d.URL, d.LineNumber+1)
	case *page.EventJavascriptDialogOpening:
		s.problem("dialog: %s %q", ev.Type, ev.Message)
		// The page stands still until somebody answers; an event cannot wait for that.
		go func() { _, _ = chromedp.Call(s.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
	case *page.EventWindowOpen:
		s.problem("another window: %s", ev.URL)
	case *cdplog.EventEntryAdded:
		if ev.Entry.Level == cdplog.EntryLevelError {
			s.problem("log: %s %s", ev.Entry.Text, ev.Entry.URL)
		}
	}
}

// request notes a request; data: and blob: stay in the page.
func (s *Session) request(address string) {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "data" || u.Scheme == "blob" || u.Scheme == "about") {
		return
	}
	s.mu.Lock()
	s.requests++
	foreign := s.origin == "" || !strings.HasPrefix(address, s.origin)
	s.mu.Unlock()
	if foreign {
		s.problem("request to another place: %s", address)
	}
}

func (s *Session) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// Problems returns what must not happen and did, and forgets it.
func (s *Session) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.problems
	s.problems = nil
	return p
}

// Requests counts requests so far, of any origin.
func (s *Session) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *Session) run(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(s.ctx, Limit)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// Open goes to an address; its origin, or the one file, is the only place the page may ask.
func (s *Session) Open(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.origin = u.Scheme + "://" + u.Host + "/"
	if u.Scheme == "file" {
		s.origin, _, _ = strings.Cut(address, "#")
	}
	s.mu.Unlock()
	if err := s.run(chromedp.Navigate(address)); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

// Do runs statements in the page, which may await promises.
func (s *Session) Do(script string) error {
	_, err := Eval[bool](s, "(async () => { "+script+"; return true })()")
	return err
}

// Eval evaluates an expression in the page; of a promise it awaits the value.
func Eval[T any](s *Session, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(s.ctx, Limit)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return v, fmt.Errorf("%s: %w", expression, err)
	}
	return v, nil
}

// Wait waits until an expression is true. The page may be on its way to another meanwhile.
func (s *Session) Wait(expression string) error {
	for end := time.Now().Add(Limit); ; time.Sleep(10 * time.Millisecond) {
		ok, err := Eval[bool](s, "Boolean("+expression+")")
		switch {
		case ok:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("waiting for %s: %w", expression, errors.Join(err, context.DeadlineExceeded))
		}
	}
}

// Keys types keys into what has the focus: letters, or names of package kb of chromedp.
func (s *Session) Keys(keys string, options ...chromedp.KeyOption) error {
	return s.run(chromedp.KeyEvent(keys, options...))
}

// Click presses and releases the left button at a point of the page.
func (s *Session) Click(x, y float64) error { return s.run(chromedp.MouseClickXY(x, y)) }

// Hover moves the pointer to a point of the page.
func (s *Session) Hover(x, y float64) error {
	return s.run(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
}

// Drag presses the left button at one point and releases it at another one.
func (s *Session) Drag(x0, y0, x1, y1 float64) error {
	return s.run(chromedp.DragAndDropXY(x0, y0, x1, y1))
}

// Media sets features of the medium, such as prefers-color-scheme to dark: name, value, name, value.
func (s *Session) Media(features ...string) error {
	var list []*emulation.MediaFeature
	for i := 0; i+1 < len(features); i += 2 {
		list = append(list, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	_, err := chromedp.Call(s.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: list})
	return err
}

// Size makes the page width times height CSS pixels.
func (s *Session) Size(width, height int) error {
	return s.run(chromedp.EmulateViewport(int64(width), int64(height)))
}

// Shot is a picture of what is visible, as PNG.
func (s *Session) Shot() ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.ctx, Limit)
	defer cancel()
	return chromedp.Run(ctx, chromedp.CaptureScreenshot())
}
