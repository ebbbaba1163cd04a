package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStopped says that a job ended because it was asked to, and that it can go on with Resume.
var ErrStopped = errors.New("stopped")

// Stop asks a job to save what is finished and to end. One rank that is asked suffices. It may be used by any goroutine.
type Stop struct {
	// Grace is how long a stage after the load may go on to its end, where its result can be kept; 0 is 10 s.
	Grace time.Duration

	why  atomic.Pointer[string]
	at   atomic.Int64 // Unix ns of the first request
	once sync.Once
	ctx  context.Context // see Context
	end  context.CancelFunc
}

// Ask asks the job to stop; why is for the message. Later calls change nothing.
func (s *Stop) Ask(why string) {
	s.at.CompareAndSwap(0, time.Now().UnixNano())
	if s.why.CompareAndSwap(nil, &why) {
		s.Context()
		s.end()
	}
}

// Context ends when the job is asked to stop.
func (s *Stop) Context() context.Context {
	s.once.Do(func() { s.ctx, s.end = context.WithCancel(context.Background()) })
	return s.ctx
}

// Asked says whether and why the job is to stop.
func (s *Stop) Asked() (why string, ok bool) {
	if p := s.why.Load(); p != nil {
		return *p, true
	}
	return "", false
}

// Since is when it was asked first.
func (s *Stop) Since() time.Time { return time.Unix(0, s.at.Load()) }
