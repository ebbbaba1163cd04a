package waits

import "testing"

// TestSenderRules has the waits of a sender by hand: [enter, leave) is the call
// that completes the send.
func TestSenderRules(t *testing.T) {
	type span struct{ from, to uint64 }
	for _, x := range []struct {
		name               string
		send               Send
		receiver, progress span
	}{
		// Send [10, 60); MPI_Recv begins at 40: 40 - 10 = 30 ticks. It is posted and served by one call.
		{"blocking, late receive", Send{10, 60, 40, 0, 40}, span{10, 40}, span{}},
		// Irecv at 5, computing, MPI_Wait at 40: posted before the send began, 40 - 10 = 30 ticks without progress.
		{"posted before", Send{10, 60, 5, 0, 40}, span{}, span{10, 40}},
		// Irecv at 20, MPI_Wait at 40: 10 ticks until it is posted, 20 until the receiver is back.
		{"posted late, served later", Send{10, 60, 20, 0, 40}, span{10, 20}, span{20, 40}},
		// The send was over when the receive was posted: it was buffered.
		{"eager", Send{10, 15, 40, 0, 40}, span{}, span{}},
		// It left as the receive was posted: nothing says that it waited.
		{"at one instant", Send{10, 40, 40, 0, 40}, span{}, span{}},
		// Posted late, but the message went while the receiver was outside of MPI.
		{"served by a progress thread", Send{10, 30, 20, 0, 40}, span{10, 20}, span{}},
		// Isend at 0, MPI_Wait [100, 400), MPI_Recv at 350: 250 ticks, of the Wait alone.
		{"completed by MPI_Wait", Send{100, 400, 350, 0, 350}, span{100, 350}, span{}},
		// Irecv at 50 between Isend and MPI_Wait: no late receiver.
		{"posted before MPI_Wait", Send{100, 400, 50, 0, 350}, span{}, span{100, 350}},
		// Posted at 5; the send begins while the receiver is in another call, up to 15, and ends after it came back at 40.
		{"in MPI as the send began", Send{10, 60, 5, 15, 40}, span{}, span{15, 40}},
		// As it came back at once: no time.
		{"all the time in MPI", Send{10, 60, 5, 40, 40}, span{}, span{}},
		// It left as the receiver came back: nothing says that it waited for that.
		{"back at one instant", Send{10, 40, 5, 0, 40}, span{}, span{}},
		// The receiver was in MPI before MPI_Wait began.
		{"nothing late", Send{100, 400, 50, 0, 90}, span{}, span{}},
	} {
		empty := func(from, to uint64) span {
			if to <= from {
				return span{}
			}
			return span{from, to}
		}
		if got := empty(x.send.LateReceiver()); got != x.receiver {
			t.Errorf("%s: late receiver %v, want %v", x.name, got, x.receiver)
		}
		if got := empty(x.send.LateProgress()); got != x.progress {
			t.Errorf("%s: late progress %v, want %v", x.name, got, x.progress)
		}
	}
}

// TestReceiverRules has the waits of a receiver by hand.
func TestReceiverRules(t *testing.T) {
	for _, x := range []struct {
		name   string
		r      Receive
		length uint64
	}{
		{"sent after the receive began", Receive{10, 50, 30}, 20},
		{"sent before", Receive{10, 50, 5}, 0},
		{"clocks are wrong: sent after it was received", Receive{10, 50, 80}, 40},
	} {
		if from, to := x.r.LateSender(); to-min(from, to) != x.length {
			t.Errorf("%s: from %d to %d, want %d ticks", x.name, from, to, x.length)
		}
	}
}
