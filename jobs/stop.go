package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStopped is the error of a job that was asked to stop and can continue with Resume.
var ErrStopped = errors.New("stopped")

// Stop asks a job to save its finished parts and to end. It is enough to ask one rank. Any goroutine may use it.
type Stop struct {
	// Grace is how long a stage after the load may still take to reach its end, at which its result can be saved; 0 is 10 s.
	Grace time.Duration

	why  atomic.Pointer[string]
	at   atomic.Int64 // Unix ns of the first request
	once sync.Once
	ctx  context.Context // see Context
	end  context.CancelFunc
}

// Ask asks the job to stop. why is for the message. Later calls do nothing.
func (s *Stop) Ask(why string) {
	s.at.CompareAndSwap(0, time.Now().UnixNano())
	if s.why.CompareAndSwap(nil, &why) {
		s.Context()
		s.end()
	}
}

// Context returns a context that is canceled when the job is asked to stop.
func (s *Stop) Context() context.Context {
	s.once.Do(func() { s.ctx, s.end = context.WithCancel(context.Background()) })
	return s.ctx
}

// Asked returns whether the job was asked to stop, and why.
func (s *Stop) Asked() (why string, ok bool) {
	if p := s.why.Load(); p != nil {
		return *p, true
	}
	return "", false
}

// Since returns when the job was asked first.
func (s *Stop) Since() time.Time { return time.Unix(0, s.at.Load()) }
