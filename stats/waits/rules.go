package waits

// The rules of waits for messages, on the instants of one operation, in ticks. Greek letters are those of the package comment. An empty
// span has to <= from.

// Receive is the instants of a receive.
type Receive struct {
	Ready uint64 // ρ, when the process can block: enter of the call that completes it, or of the blocking probe before it
	Leave uint64 // L of the call that completes it
	Sent  uint64 // σ, enter of the call that begins the send
}

// LateSender returns the span in which the message is not sent yet.
func (r *Receive) LateSender() (from, to uint64) { return r.Ready, min(r.Sent, r.Leave) }

// Send is the instants of a send.
type Send struct {
	Enter uint64 // ε of the call that completes it, for a blocking send the call itself
	Leave uint64 // λ of the same call
	Post  uint64 // π, enter of the call that posts the receive; the begin of the send if that is later
	Out   uint64 // ο, from which on the receiver is out of calls in which it makes progress
	Ready uint64 // β, enter of the first such call after Post and Out
}

// LateReceiver returns the span in which the receive is not posted yet. It is empty if the call leaves before the posting: then the send
// did not wait for it.
func (s *Send) LateReceiver() (from, to uint64) {
	if s.Leave <= s.Post {
		return s.Enter, s.Enter
	}
	return s.Enter, s.Post
}

// LateProgress returns the span in which the receive is posted, and the receiver is in no call that would move the message. It is empty if
// the call leaves before the receiver is back: then the send did not wait for it.
func (s *Send) LateProgress() (from, to uint64) {
	from = max(s.Enter, s.Post, s.Out)
	if s.Leave <= s.Ready {
		return from, from
	}
	return from, s.Ready
}

// couldSwap reports whether a call with so many receives that waits for a late sender could have taken another message first. A call that
// completes several receives needs all of them, in whatever order they come.
func couldSwap(receives int) bool { return receives == 1 }
