package analyze_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// Two threads of each process use one channel, and a process may be spread over
// ranks: the operations of its threads pair in the order of posting.
const threadsText = `
-- program --
processes 2
threads 3
-- events --
0 10 ENTER MPI_Send
0 11 MPI_SEND 1 MPI_COMM_WORLD 7 100
0 20 LEAVE MPI_Send
1 12 ENTER MPI_Send
1 13 MPI_SEND 1 MPI_COMM_WORLD 7 200
1 22 LEAVE MPI_Send
2 14 ENTER MPI_Isend
2 15 MPI_ISEND 1 MPI_COMM_WORLD 7 300 5
2 16 LEAVE MPI_Isend
2 60 ENTER MPI_Wait
2 61 MPI_ISEND_COMPLETE 5
2 62 LEAVE MPI_Wait
3 5 ENTER MPI_Irecv
3 6 MPI_IRECV_REQUEST 9
3 7 LEAVE MPI_Irecv
4 30 ENTER MPI_Recv
4 40 MPI_RECV 0 MPI_COMM_WORLD 7 200
4 41 LEAVE MPI_Recv
5 31 ENTER MPI_Recv
5 42 MPI_RECV 0 MPI_COMM_WORLD 7 300
5 43 LEAVE MPI_Recv
3 50 ENTER MPI_Wait
3 51 MPI_IRECV 0 MPI_COMM_WORLD 7 100 9
3 52 LEAVE MPI_Wait
0 70 ENTER MPI_Barrier
0 71 MPI_COLLECTIVE_BEGIN
0 80 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
0 81 LEAVE MPI_Barrier
4 72 ENTER MPI_Barrier
4 73 MPI_COLLECTIVE_BEGIN
4 82 MPI_COLLECTIVE_END BARRIER MPI_COMM_WORLD none 0 0
4 83 LEAVE MPI_Barrier
`

func TestThreadsShareChannel(t *testing.T) {
	src, err := tracetest.Parse(threadsText)
	if err != nil {
		t.Fatal(err)
	}
	want := analyzed(t, 1, analyze.Options{Source: src, StoreBytes: 1 << 20})
	for ranks := 2; ranks <= 7; ranks++ {
		if got := analyzed(t, ranks, analyze.Options{Source: src, StoreBytes: 0}); !bytes.Equal(got, want) {
			t.Errorf("%d ranks make another file", ranks)
		}
	}
	f := openBytes(t, want)
	got := readFound(t, f, src.Definitions())
	if got.Unmatched != 0 || len(got.Matches) != 3 {
		t.Fatalf("%d unmatched, matches %+v", got.Unmatched, got.Matches)
	}
	for _, m := range got.Matches {
		if m.SendBytes != m.ReceiveBytes {
			t.Errorf("a message sent with %d bytes was received with %d: not in the order of posting", m.SendBytes, m.ReceiveBytes)
		}
	}
	if n := got.Problems[trace.DiagSharedChannel]; n != 4 {
		t.Errorf("%d operations are marked as best effort, want 4: those that are not of the channel's first thread", n)
	}
	if len(got.Collectives) != 1 || got.Collectives[0].Count != 1 {
		t.Errorf("collectives %+v, want one barrier", got.Collectives)
	}
}

// A send that completes long after its row left the staging window, one that is
// cancelled then, and one that never completes.
func TestLateCompletion(t *testing.T) {
	const messages = 20000
	var b strings.Builder
	b.WriteString("-- program --\nprocesses 1\n-- events --\n")
	for i := range 3 {
		fmt.Fprintf(&b, "0 %d ENTER MPI_Isend\n0 %d MPI_ISEND 0 MPI_COMM_WORLD %d 8 %d\n0 %d LEAVE MPI_Isend\n", 1+i, 1+i, 100+i, i, 1+i)
	}
	b.WriteString("0 10 ENTER MPI_Recv\n0 10 MPI_RECV 0 MPI_COMM_WORLD 100 8\n0 10 LEAVE MPI_Recv\n")
	for i := range messages {
		at := 20 + 2*i
		fmt.Fprintf(&b, "0 %d ENTER MPI_Sendrecv\n0 %d MPI_SEND 0 MPI_COMM_WORLD 1 8\n0 %d MPI_RECV 0 MPI_COMM_WORLD 1 8\n0 %d LEAVE MPI_Sendrecv\n", at, at, at+1, at+1)
	}
	b.WriteString("0 90000 ENTER MPI_Waitall\n0 90001 MPI_ISEND_COMPLETE 0\n0 90002 MPI_REQUEST_CANCELLED 1\n0 90003 LEAVE MPI_Waitall\n")
	src, err := tracetest.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "run.xtf")
	analyzed(t, 1, analyze.Options{Source: src, Output: out, StoreBytes: 1 << 16})
	f, err := callview.OpenFile(out, xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := f.Array(0, xtf.TypeP2P)
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(4 + 2*messages); a.Len() != want {
		t.Fatalf("%d message rows, want %d", a.Len(), want)
	}
	for i, want := range []struct {
		done    uint64
		matched bool
		kind    uint32
	}{
		{90003, true, xtf.P2PSend | xtf.P2PNonBlocking},
		{xtf.Never, false, xtf.P2PSend | xtf.P2PNonBlocking | xtf.P2PIncomplete | xtf.P2PUnmatched},
		{xtf.Never, false, xtf.P2PSend | xtf.P2PNonBlocking | xtf.P2PIncomplete | xtf.P2PUnmatched},
	} {
		row, err := a.Row(uint64(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		var r xtf.P2P
		r.Load(row)
		if r.Done != want.done || (r.MateN != xtf.Never) != want.matched || r.Kind != want.kind {
			t.Errorf("row %d: done %d, mate %d, kind %#x; want %+v", i, r.Done, r.MateN, r.Kind, want)
		}
	}
	if got := readFound(t, f, src.Definitions()).Problems[trace.DiagUnmatchedSend]; got != 1 {
		t.Errorf("%d unmatched sends, want 1: that which never completes", got)
	}
}

// TestCancelledSend: nobody has to receive a send that was cancelled. The second one is received.
func TestCancelledSend(t *testing.T) {
	src, err := tracetest.Parse(`-- program --
processes 2
-- events --
0 1 ENTER MPI_Isend
0 1 MPI_ISEND 1 MPI_COMM_WORLD 7 8 1
0 2 LEAVE MPI_Isend
0 3 ENTER MPI_Cancel
0 4 LEAVE MPI_Cancel
0 5 ENTER MPI_Wait
0 6 MPI_REQUEST_CANCELLED 1
0 6 LEAVE MPI_Wait
0 7 ENTER MPI_Send
0 7 MPI_SEND 1 MPI_COMM_WORLD 7 16
0 8 LEAVE MPI_Send
1 7 ENTER MPI_Recv
1 9 MPI_RECV 0 MPI_COMM_WORLD 7 16
1 9 LEAVE MPI_Recv
`)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "run.xtf")
	analyzed(t, 1, analyze.Options{Source: src, Output: out})
	got := readFound(t, openFile(t, out), src.Definitions())
	if got.Problems[trace.DiagUnmatchedSend] != 0 || got.Problems[trace.DiagBytesDiffer] != 0 || len(got.Matches) != 1 {
		t.Errorf("found %v, %d messages matched; want one, of 16 bytes", got.Problems, len(got.Matches))
	}
}
