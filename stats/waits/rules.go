package waits

// The rules of waits for messages, on the instants of one operation. Ticks; an
// empty span has to <= from.

// Receive is the instants of a receive.
type Receive struct {
	Ready uint64 // its process can block: enter of the call that completes it, or of the blocking probe before it
	Leave uint64 // of the call that completes it
	Sent  uint64 // enter of the call that begins the send
}

// LateSender is the time in which the message is not sent yet.
func (r *Receive) LateSender() (from, to uint64) { return r.Ready, min(r.Sent, r.Leave) }

// Send is the instants of a send. A call that sends and receives in one, one that
// tests, and one outside of MPI make no waits of a sender.
type Send struct {
	Enter uint64 // of the call that completes it: of a blocking send the call itself
	Leave uint64 // of the same call
	Post  uint64 // enter of the call that posts the receive; where that is before the send began, its begin
	Out   uint64 // from here on the receiver is out of calls in which it makes progress, ο of the package comment
	Ready uint64 // enter of the first such call after Post and Out, β
}

// LateReceiver is the time in which the receive is not posted yet. That the call
// leaves later is the evidence that the send waited for it.
func (s *Send) LateReceiver() (from, to uint64) {
	if s.Leave <= s.Post {
		return s.Enter, s.Enter
	}
	return s.Enter, s.Post
}

// LateProgress is the time in which the receive is posted, and the receiver in no
// call that would move the message. That the call leaves after the receiver came
// back is the evidence that the send waited for it.
func (s *Send) LateProgress() (from, to uint64) {
	from = max(s.Enter, s.Post, s.Out)
	if s.Leave <= s.Ready {
		return from, from
	}
	return from, s.Ready
}

// couldSwap reports whether a call that waits for a late sender could have taken
// another message first: one that completes several receives waits for all of
// them, in whatever order they come.
func couldSwap(receives int) bool { return receives == 1 }
