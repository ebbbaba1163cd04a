package stats

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/xtf"
)

// noticeRow is a P2P row of a notice.
type noticeRow struct {
	P, Peer, Tag uint32
	Send         bool
	T, End       uint64
	MateP        uint32
	MateT        uint64
	Again        bool // of a lock: what it waited for has another mate
}

// windowRun is a random program of processes that use two windows.
type windowRun struct {
	rng       *rand.Rand
	processes int
	groups    strings.Builder
	text      strings.Builder
	now       uint64
	rows      []noticeRow
	locks     []lockRow
}

// lockRow is a lock that is released: the rows of its acquisition and its release.
type lockRow struct {
	in, out   int
	granted   uint64
	exclusive bool
}

// call writes a call, with a record at its begin and at its end, and returns its times.
func (x *windowRun) call(p int, region, begin, end string) (enter, leave uint64) {
	enter = x.now + x.rng.Uint64N(5)
	leave = enter + x.rng.Uint64N(5)
	fmt.Fprintf(&x.text, "%d %d ENTER %s\n", p, enter, region)
	for _, r := range []struct {
		t    uint64
		text string
	}{{enter, begin}, {leave, end}} {
		if r.text != "" {
			fmt.Fprintf(&x.text, "%d %d %s\n", p, r.t, r.text)
		}
	}
	fmt.Fprintf(&x.text, "%d %d LEAVE %s\n", p, leave, region)
	x.now = leave + x.rng.Uint64N(3)
	return enter, leave
}

// notice is what a call has to make known, or waits for.
func (x *windowRun) notice(p, peer int, kind, win uint32, send bool, enter, leave uint64) int {
	tag, _ := xtf.NoticeTag(kind, win)
	x.rows = append(x.rows, noticeRow{P: uint32(p), Peer: uint32(peer), Tag: tag, Send: send, T: enter, End: leave, MateP: trace.Undefined, MateT: xtf.Never})
	return len(x.rows) - 1
}

// epoch has one process call what a process does in an epoch with some others, complete or not.
func (x *windowRun) epoch() {
	p, win := x.rng.IntN(x.processes), uint32(x.rng.IntN(2))
	var others []int
	for q := range x.processes {
		if q != p && (len(others) == 0 || x.rng.IntN(2) == 0) {
			others = append(others, q)
		}
	}
	record := ""
	if x.rng.IntN(2) == 0 {
		others = others[:1]
		record = fmt.Sprintf("RMA_SYNC %d %d NOTIFY_OUT", win, others[0])
	} else {
		n := 100 + x.groups.Len()
		fmt.Fprintf(&x.groups, "GROUP self=%d number_of_members=%d %s group_type=5 paradigm=4\n", n, len(others), strings.Trim(fmt.Sprint(others), "[]"))
		record = fmt.Sprintf("RMA_GROUP_SYNC PROCESS %d %d", win, n)
	}
	name := []string{"MPI_Win_post", "MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait"}[x.rng.IntN(4)]
	enter, leave := x.call(p, name, "", record)
	for _, q := range others {
		switch name {
		case "MPI_Win_post":
			x.notice(p, q, xtf.NoticePost, win, true, enter, leave)
			x.notice(p, q, xtf.NoticeAccess, win, true, enter, leave)
		case "MPI_Win_start":
			x.notice(p, q, xtf.NoticePost, win, false, enter, leave)
		case "MPI_Win_complete":
			x.notice(p, q, xtf.NoticeAccess, win, false, enter, leave)
			x.notice(p, q, xtf.NoticeComplete, win, true, enter, leave)
		case "MPI_Win_wait":
			x.notice(p, q, xtf.NoticeComplete, win, false, enter, leave)
		}
	}
}

// lock has one process acquire a lock of another one, and most often release it.
func (x *windowRun) lock() {
	p, target, win := x.rng.IntN(x.processes), x.rng.IntN(x.processes), uint32(x.rng.IntN(2))
	kind := []string{"SHARED", "EXCLUSIVE"}[x.rng.IntN(2)]
	request, acquire := fmt.Sprintf("RMA_REQUEST_LOCK %d %d 0 %s", win, target, kind), fmt.Sprintf("RMA_ACQUIRE_LOCK %d %d 0 %s", win, target, kind)
	switch x.rng.IntN(3) {
	case 0:
		request = ""
	case 1:
		acquire = "" // it counts as granted at the end of the call
	}
	enter, leave := x.call(p, "MPI_Win_lock", request, acquire)
	in := x.notice(p, target, xtf.NoticeLock, win, false, enter, leave)
	l := lockRow{in: in, granted: leave, exclusive: kind == "EXCLUSIVE"}
	if x.rng.IntN(2) == 0 {
		x.epoch()
	}
	enter, leave = x.call(p, "MPI_Win_unlock", "", fmt.Sprintf("RMA_RELEASE_LOCK %d %d 0", win, target))
	l.out = x.notice(p, target, xtf.NoticeLock, win, true, enter, leave)
	x.locks = append(x.locks, l)
}

// pair finds mates: the k-th notice of a kind of one process for another is that for which this one waits the k-th time; a lock waits
// for the last release before its own that excludes it, of another process.
func (x *windowRun) pair() {
	type channel struct{ from, to, tag uint32 }
	sends, waits := map[channel][]int{}, map[channel][]int{}
	for i, r := range x.rows {
		switch {
		case xtf.NoticeKind(r.Tag) == xtf.NoticeLock:
		case r.Send:
			c := channel{r.P, r.Peer, r.Tag}
			sends[c] = append(sends[c], i)
		default:
			c := channel{r.Peer, r.P, r.Tag}
			waits[c] = append(waits[c], i)
		}
	}
	mate := func(a, b int) { x.rows[a].MateP, x.rows[a].MateT = x.rows[b].P, x.rows[b].T }
	for c, list := range sends {
		for k := range min(len(list), len(waits[c])) {
			mate(list[k], waits[c][k])
			mate(waits[c][k], list[k])
		}
	}
	for i, l := range x.locks {
		own := x.rows[l.out]
		for k := i - 1; k >= 0; k-- {
			b := x.locks[k]
			if before := x.rows[b.out]; before.Peer == own.Peer && before.Tag == own.Tag && (b.exclusive || l.exclusive) {
				if before.P != own.P && before.T <= l.granted {
					x.rows[l.in].Again = before.MateP != trace.Undefined
					if mate(l.in, b.out); !x.rows[l.in].Again {
						mate(b.out, l.in)
					}
				}
				break
			}
		}
	}
}

// TestNotices compares the rows of random programs that use windows with what their calls have to wait for.
func TestNotices(t *testing.T) {
	for seed := range uint64(6) {
		x := &windowRun{rng: rand.New(rand.NewPCG(seed, 61))}
		x.processes = 2 + x.rng.IntN(3)
		for range 40 {
			if x.rng.IntN(2) == 0 {
				x.epoch()
			} else {
				x.lock()
			}
		}
		x.pair()
		src, err := tracetest.Parse(fmt.Sprintf("-- definitions --\nRMA_WIN self=0 name=0 comm=0\nRMA_WIN self=1 name=0 comm=0\n%s-- program --\nprocesses %d\n-- events --\n%s", x.groups.String(), x.processes, x.text.String()))
		if err != nil {
			t.Fatal(err)
		}
		var got []noticeRow
		for p, s := range matched(t, src, 2, 0) {
			for _, b := range s.p2pRows {
				var r xtf.P2P
				r.Load(b)
				if unmatched := r.Kind&xtf.P2PUnmatched != 0; unmatched != (r.MateP == trace.Undefined) || r.Kind&(xtf.P2PNotice|xtf.P2PMarker) != xtf.P2PNotice|xtf.P2PMarker {
					t.Errorf("seed %d: row %+v", seed, r)
				}
				got = append(got, noticeRow{uint32(p), r.Peer, r.Tag, r.Kind&xtf.P2PKindMask == xtf.P2PSend, r.T, r.End, r.MateP, r.MateT, r.Kind&xtf.P2PBestEffort != 0})
			}
		}
		for _, list := range [][]noticeRow{got, x.rows} {
			slices.SortFunc(list, func(a, b noticeRow) int {
				return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.T, b.T), cmp.Compare(a.End, b.End), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.MateT, b.MateT))
			})
		}
		if d := gocmp.Diff(x.rows, got); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s\n%s", seed, d, x.text.String())
		}
	}
}
