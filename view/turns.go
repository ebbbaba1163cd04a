package view

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Bounds of what is in progress. All that answers takes its turn from turns; nothing else does.
const (
	maxWaiting  = 256              // requests that wait for their turn; more are refused
	chunkBytes  = 64 << 10         // of an answer, written at a time
	leastHeld   = 256 << 10        // what an answer counts for at least: its connection and goroutine
	streamHeld  = 16 << 20         // and one that is written while it is read: export.GroupRows rows, twice
	sendBytes   = 64 << 20         // Options.SendBytes where it is 0
	stallTime   = 30 * time.Second // a reader that does not take a chunk within it loses its answer
	pressedTime = time.Second      // the same where other answers find no room
)

// share is what one remote address may have of a bound, so that others find the rest.
func share[T int | int64](n T) T { return n / 4 * 3 }

// turns says who computes and who is sent to. As many requests compute as there are turns. They go around among the
// addresses that ask, at each to the request that waits longest. Nobody holds a turn while a reader is waited for. What waits for its
// reader is bounded in bytes: where an answer finds no room, the one goes whose reader did not take anything for longest,
// and pressedTime at least. Without one like that, the new answer is status 503.
type turns struct {
	stall, pressed time.Duration
	bytes          int64 // bound of sending

	mu      sync.Mutex
	free    int
	queue   []*turn           // oldest first
	last    map[string]uint64 // number of the turn that an address got last; lost where too many asked
	given   uint64
	sending map[*turn]struct{}
}

// turn is a request on its way through turns; mu of turns guards it.
type turn struct {
	of      *turns
	address string
	w       http.ResponseWriter
	ready   chan struct{} // gets one value with each turn
	has     bool          // it is its turn
	held    int64         // bytes, in sending
	since   time.Time     // when the chunk was written that the reader has not taken; zero: there is none
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

// busy is the error of requests that had better come again.
func busy(where, why string) error {
	return &problem{http.StatusServiceUnavailable, Failure{What: "too many requests at a time", Where: where, Why: why, Do: "Ask again in a second"}}
}

// take waits for the turn of a request. end gives it back.
func (s *turns) take(w http.ResponseWriter, r *http.Request) (*turn, error) {
	t := &turn{of: s, address: r.RemoteAddr, w: w, ready: make(chan struct{}, 1)}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		t.address = host
	}
	return t, t.wait(r.Context(), maxWaiting)
}

// wait waits for a turn after at most so many others.
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

// give hands out free turns.
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

// put gives the turn back, if t has it.
func (t *turn) put() {
	if !t.has {
		return
	}
	t.has = false
	t.of.free++
	t.of.give()
}

// end gives back all that t has.
func (t *turn) end() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.put()
	delete(t.of.sending, t)
}

// hold finds room for an answer that is sent. It leaves as much free, for smaller ones.
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
			_ = http.NewResponseController(oldest.w).SetWriteDeadline(time.Unix(1, 0)) // its write ends now
		}
	}
	t.held = bytes
	s.sending[t] = struct{}{}
	return nil
}

// send writes b while others have their turns. The reader has stallTime for each chunk.
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

// deadline bounds the next writes of an answer; a writer without connection needs none.
func deadline(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d))
}
