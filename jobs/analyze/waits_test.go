package analyze_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coppice-hpc/coppice/ccg/graph"
	"github.com/coppice-hpc/coppice/internal/callview"
	"github.com/coppice-hpc/coppice/internal/jobtest"
	"github.com/coppice-hpc/coppice/internal/synthetic"
	"github.com/coppice-hpc/coppice/internal/tracetest"
	"github.com/coppice-hpc/coppice/jobs/analyze"
	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/coppice-hpc/coppice/xtf"
	"github.com/google/go-cmp/cmp"
)

// waitRow is a WAIT row without its place in the run.
type waitRow struct {
	From, To uint64
	Pattern  uint32
	Cause    int // location, -1 for none
	Node     uint32
}

// waitCase is a small program whose waits were worked out by hand.
type waitCase struct {
	name  string
	calls []smallCall
	last  []uint64 // of each process
	waits [][]waitRow
	items []nodeItem

	definitions string // more of them
}

// smallCall is a call: what happens at its begin and at its end.
type smallCall struct {
	p            int
	enter, leave uint64
	region       string
	begin, end   string
}

// nodeItem is a component of a node on each process.
type nodeItem struct {
	node   uint32
	item   xtf.Item
	values []uint64
}

func (c *waitCase) source(t *testing.T) trace.Source {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "-- definitions --\n%s-- program --\nprocesses %d\n-- events --\n", c.definitions, len(c.last))
	for p := range c.last {
		fmt.Fprintf(&b, "%d 0 ENTER main\n", p)
	}
	for _, x := range c.calls {
		fmt.Fprintf(&b, "%d %d ENTER %s\n", x.p, x.enter, x.region)
		if x.begin != "" {
			fmt.Fprintf(&b, "%d %d %s\n", x.p, x.enter, x.begin)
		}
		if x.end != "" {
			fmt.Fprintf(&b, "%d %d %s\n", x.p, x.leave, x.end)
		}
		fmt.Fprintf(&b, "%d %d LEAVE %s\n", x.p, x.leave, x.region)
	}
	for p, at := range c.last {
		fmt.Fprintf(&b, "%d %d LEAVE main\n", p, at)
	}
	src, err := tracetest.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// collective makes a blocking call of all processes, [from, to) of each.
func collective(region, op, root string, times ...[2]uint64) (list []smallCall) {
	for p, x := range times {
		list = append(list, smallCall{p, x[0], x[1], region, "MPI_COLLECTIVE_BEGIN", fmt.Sprintf("MPI_COLLECTIVE_END %s MPI_COMM_WORLD %s 8 8", op, root)})
	}
	return list
}

// member makes a blocking collective call of one process, which sends and receives so
// many bytes.
func member(p int, enter, leave uint64, region, op, root string, sent, received int) smallCall {
	return smallCall{p, enter, leave, region, "MPI_COLLECTIVE_BEGIN", fmt.Sprintf("MPI_COLLECTIVE_END %s MPI_COMM_WORLD %s %d %d", op, root, sent, received)}
}

// mark makes a marker of form F1 of process p.
func mark(p int, at uint64, tag uint32) smallCall {
	return smallCall{
		p, at, at + 1, "MPI_Sendrecv",
		fmt.Sprintf("MPI_SEND %d MPI_COMM_WORLD %d 0", p, tag), fmt.Sprintf("MPI_RECV %d MPI_COMM_WORLD %d 0", p, tag),
	}
}

const (
	beginOuter, endOuter uint32 = 0xAA0001AA, 0xAA0001BB
	beginBody, endBody   uint32 = 0xAA0002AA, 0xAA0002BB
)

func goldenWaits() []waitCase {
	const none = -1
	irecv := func(from, to uint64, id int) smallCall {
		return smallCall{0, from, to, "MPI_Irecv", fmt.Sprint("MPI_IRECV_REQUEST ", id), ""}
	}
	wait := func(from, to uint64, id int) smallCall {
		return smallCall{0, from, to, "MPI_Wait", "", fmt.Sprint("MPI_IRECV 1 MPI_COMM_WORLD 7 8 ", id)}
	}
	send := func(p int, from, to uint64, region string, peer, tag int) smallCall {
		return smallCall{p, from, to, region, fmt.Sprintf("MPI_SEND %d MPI_COMM_WORLD %d 8", peer, tag), ""}
	}
	recv := func(p int, from, to uint64, peer, tag int) smallCall {
		return smallCall{p, from, to, "MPI_Recv", "", fmt.Sprintf("MPI_RECV %d MPI_COMM_WORLD %d 8", peer, tag)}
	}
	list := []waitCase{{
		// All agree on a new communicator until 52, the last one comes at 50. Another operation of the kind lets process 0 go at 70,
		// before 2 comes at 90: it did not wait for that one, and nobody knows whether 1 did. In Init nobody waits.
		name: "making handles", last: []uint64{120, 120, 120},
		calls: slices.Concat(
			collective("MPI_Init", "CREATE_HANDLE", "none", [2]uint64{1, 8}, [2]uint64{2, 8}, [2]uint64{5, 8}),
			collective("MPI_Comm_dup", "CREATE_HANDLE", "none", [2]uint64{10, 52}, [2]uint64{20, 53}, [2]uint64{50, 54}),
			collective("MPI_Comm_create", "CREATE_HANDLE", "none", [2]uint64{60, 70}, [2]uint64{60, 95}, [2]uint64{90, 95}),
			collective("MPI_Comm_free", "DESTROY_HANDLE", "none", [2]uint64{100, 112}, [2]uint64{100, 112}, [2]uint64{110, 112}),
		),
		waits: [][]waitRow{{{10, 50, xtf.WaitBarrier, 2, 0}}, {{20, 50, xtf.WaitBarrier, 2, 0}}, nil},
		items: []nodeItem{{0, xtf.ItemWaitBarrier, []uint64{40, 30, 0}}, {0, xtf.ItemBarrierCompletion, []uint64{0, 0, 0}}},
	}, {
		name: "point to point", last: []uint64{100, 90},
		calls: []smallCall{send(0, 20, 30, "MPI_Send", 1, 1), send(0, 40, 72, "MPI_Ssend", 1, 2), recv(1, 10, 34, 0, 1), recv(1, 60, 75, 0, 2)},
		waits: [][]waitRow{{{40, 60, xtf.WaitLateReceiver, 1, 0}}, {{10, 20, xtf.WaitLateSender, 0, 0}}},
		items: []nodeItem{
			{0, xtf.ItemSendRecv, []uint64{0, 49}},
			{0, xtf.ItemPotentialSync, []uint64{0, 10}},
			{0, xtf.ItemLateSender, []uint64{0, 10}},
			{0, xtf.ItemLateReceiver, []uint64{20, 0}},
			{0, xtf.ItemWaitCount, []uint64{1, 1}},
		},
	}, {
		name: "collectives", last: []uint64{100, 100, 100, 96},
		calls: slices.Concat(
			collective("MPI_Bcast", "BCAST", "0", [2]uint64{10, 13}, [2]uint64{6, 16}, [2]uint64{12, 15}, [2]uint64{4, 17}),
			collective("MPI_Allreduce", "ALLREDUCE", "none", [2]uint64{40, 50}, [2]uint64{30, 49}, [2]uint64{36, 50}, [2]uint64{44, 51}),
			collective("MPI_Reduce", "REDUCE", "2", [2]uint64{70, 71}, [2]uint64{66, 67}, [2]uint64{60, 75}, [2]uint64{72, 74}),
			collective("MPI_Barrier", "BARRIER", "none", [2]uint64{90, 93}, [2]uint64{84, 94}, [2]uint64{92, 93}, [2]uint64{80, 93}),
		),
		waits: [][]waitRow{
			{{40, 44, xtf.WaitNxN, 3, 0}, {49, 50, xtf.WaitNxNCompletion, none, 0}, {90, 92, xtf.WaitBarrier, 2, 0}},
			{{6, 10, xtf.WaitLateBroadcast, 0, 0}, {30, 44, xtf.WaitNxN, 3, 0}, {84, 92, xtf.WaitBarrier, 2, 0}, {93, 94, xtf.WaitBarrierCompletion, none, 0}},
			{{36, 44, xtf.WaitNxN, 3, 0}, {49, 50, xtf.WaitNxNCompletion, none, 0}, {60, 66, xtf.WaitEarlyReduce, 1, 0}},
			{{4, 10, xtf.WaitLateBroadcast, 0, 0}, {49, 51, xtf.WaitNxNCompletion, none, 0}, {80, 92, xtf.WaitBarrier, 2, 0}},
		},
		items: []nodeItem{
			{0, xtf.ItemPotentialSync, []uint64{10, 34, 20, 20}},
			{0, xtf.ItemVariation, []uint64{10, 11, 4, 2}},
			{0, xtf.ItemLateBroadcast, []uint64{0, 4, 0, 6}},
			{0, xtf.ItemWaitNxN, []uint64{4, 14, 8, 0}},
			{0, xtf.ItemNxNCompletion, []uint64{1, 0, 1, 2}},
			{0, xtf.ItemEarlyReduce, []uint64{0, 0, 6, 0}},
			{0, xtf.ItemWaitBarrier, []uint64{2, 8, 0, 12}},
			{0, xtf.ItemBarrierCompletion, []uint64{0, 1, 0, 0}},
			{0, xtf.ItemWaitCount, []uint64{3, 4, 3, 3}},
		},
	}, {
		// Only 0 and 1 give data to the first operation, the later one of them at 12; 3 gets none of it and waits for
		// nobody, and its leave at 22 is not a completion. The broadcast has no data. Of the reduction 2 is the first
		// sender with data, at 44. Of the scan 0 is the only one with data for others, at 60, and 3 gets nothing. The
		// barrier waits for 3, at 78.
		name: "zero bytes", last: []uint64{100, 100, 100, 100},
		calls: []smallCall{
			member(0, 10, 20, "MPI_Allgatherv", "ALLGATHERV", "none", 8, 16), member(1, 12, 20, "MPI_Allgatherv", "ALLGATHERV", "none", 8, 16),
			member(2, 18, 19, "MPI_Allgatherv", "ALLGATHERV", "none", 0, 16), member(3, 4, 22, "MPI_Allgatherv", "ALLGATHERV", "none", 0, 0),
			member(0, 30, 31, "MPI_Bcast", "BCAST", "0", 0, 0), member(1, 24, 28, "MPI_Bcast", "BCAST", "0", 0, 0),
			member(2, 24, 28, "MPI_Bcast", "BCAST", "0", 0, 0), member(3, 24, 28, "MPI_Bcast", "BCAST", "0", 0, 0),
			member(0, 40, 41, "MPI_Gatherv", "GATHERV", "1", 0, 0), member(1, 36, 50, "MPI_Gatherv", "GATHERV", "1", 8, 16),
			member(2, 44, 45, "MPI_Gatherv", "GATHERV", "1", 8, 0), member(3, 46, 47, "MPI_Gatherv", "GATHERV", "1", 0, 0),
			member(0, 60, 61, "MPI_Exscan", "EXSCAN", "none", 8, 0), member(1, 56, 62, "MPI_Exscan", "EXSCAN", "none", 0, 8),
			member(2, 54, 63, "MPI_Exscan", "EXSCAN", "none", 0, 8), member(3, 52, 53, "MPI_Exscan", "EXSCAN", "none", 0, 0),
			member(0, 70, 80, "MPI_Barrier", "BARRIER", "none", 0, 0), member(1, 72, 80, "MPI_Barrier", "BARRIER", "none", 0, 0),
			member(2, 76, 80, "MPI_Barrier", "BARRIER", "none", 0, 0), member(3, 78, 80, "MPI_Barrier", "BARRIER", "none", 0, 0),
		},
		waits: [][]waitRow{
			{{10, 12, xtf.WaitNxN, 1, 0}, {19, 20, xtf.WaitNxNCompletion, none, 0}, {70, 78, xtf.WaitBarrier, 3, 0}},
			{{19, 20, xtf.WaitNxNCompletion, none, 0}, {36, 44, xtf.WaitEarlyReduce, 2, 0}, {56, 60, xtf.WaitEarlyScan, 0, 0}, {72, 78, xtf.WaitBarrier, 3, 0}},
			{{54, 60, xtf.WaitEarlyScan, 0, 0}, {76, 78, xtf.WaitBarrier, 3, 0}},
			nil,
		},
		items: []nodeItem{
			{0, xtf.ItemWaitNxN, []uint64{2, 0, 0, 0}},
			{0, xtf.ItemLateBroadcast, []uint64{0, 0, 0, 0}},
			{0, xtf.ItemEarlyReduce, []uint64{0, 8, 0, 0}},
			{0, xtf.ItemEarlyScan, []uint64{0, 4, 6, 0}},
			{0, xtf.ItemWaitBarrier, []uint64{8, 6, 2, 0}},
		},
	}}
	return append(list, waitCase{
		name: "intervals and requests over their borders", last: []uint64{100, 98},
		calls: append([]smallCall{
			mark(0, 4, beginOuter), mark(0, 9, beginBody), irecv(16, 17, 1), wait(20, 26, 1), mark(0, 26, endBody),
			mark(0, 27, beginBody), irecv(34, 35, 2), wait(38, 39, 2), mark(0, 39, endBody),
			mark(0, 40, beginBody), irecv(47, 48, 3), mark(0, 50, endBody), wait(53, 60, 3), mark(0, 60, endOuter),
			mark(1, 5, beginOuter), mark(1, 8, beginBody), send(1, 22, 24, "MPI_Send", 0, 7), mark(1, 24, endBody),
			mark(1, 25, beginBody), send(1, 36, 37, "MPI_Send", 0, 7), mark(1, 37, endBody),
			mark(1, 38, beginBody), send(1, 55, 57, "MPI_Send", 0, 7), mark(1, 57, endBody), mark(1, 59, endOuter),
		}, collective("MPI_Allreduce", "ALLREDUCE", "none", [2]uint64{90, 95}, [2]uint64{92, 96})...),
		waits: [][]waitRow{
			{{20, 22, xtf.WaitLateSender, 1, 2}, {53, 55, xtf.WaitLateSender, 1, 1}, {90, 92, xtf.WaitNxN, 1, 0}},
			{{95, 96, xtf.WaitNxNCompletion, none, 0}},
		},
		items: []nodeItem{
			{0, xtf.ItemSendRecv, []uint64{12, 0}},
			{1, xtf.ItemSendRecv, []uint64{12, 0}},
			{2, xtf.ItemSendRecv, []uint64{7, 0}},
			{0, xtf.ItemPotentialSync, []uint64{6, 0}},
			{1, xtf.ItemPotentialSync, []uint64{4, 0}},
			{2, xtf.ItemPotentialSync, []uint64{2, 0}},
			{0, xtf.ItemVariation, []uint64{1, 0}},
			{0, xtf.ItemLateSender, []uint64{4, 0}},
			{1, xtf.ItemLateSender, []uint64{4, 0}},
			{2, xtf.ItemLateSender, []uint64{2, 0}},
			{0, xtf.ItemWaitNxN, []uint64{2, 0}},
			{1, xtf.ItemWaitNxN, []uint64{0, 0}},
			{0, xtf.ItemNxNCompletion, []uint64{0, 1}},
			{0, xtf.ItemWaitCount, []uint64{3, 1}},
			{1, xtf.ItemWaitCount, []uint64{2, 0}},
			{2, xtf.ItemWaitCount, []uint64{1, 0}},
		},
	}, lateReceivers(), lateProgress(), exchanges(), waitallOfAll(), windows(), groupSyncs(), fences())
}

// windows has two epochs of process 0 on the window of process 1, in the first of which MPI_Win_start waits, in the second
// MPI_Win_complete; then all want its lock: process 0 and 2 alone, then 0 and 1 together, who both wait for 2, and 2 again for the last of
// them, in a call that has no record of the grant, as Score-P writes it.
func windows() waitCase {
	sync := func(p int, enter, leave uint64, region string, remote int, way string) smallCall {
		return smallCall{p, enter, leave, region, "", fmt.Sprintf("RMA_SYNC 0 %d %s", remote, way)}
	}
	lock := func(p int, enter, leave uint64, kind string) smallCall {
		return smallCall{p, enter, leave, "MPI_Win_lock", "", "RMA_ACQUIRE_LOCK 0 1 0 " + kind}
	}
	unlock := func(p int, enter, leave uint64) smallCall {
		return smallCall{p, enter, leave, "MPI_Win_unlock", "", "RMA_RELEASE_LOCK 0 1 0"}
	}
	return waitCase{
		name: "windows", last: []uint64{200, 200, 200}, definitions: "RMA_WIN self=0 name=0 comm=0\n",
		calls: []smallCall{
			sync(0, 10, 32, "MPI_Win_start", 1, "NOTIFY_IN"), sync(0, 40, 42, "MPI_Win_complete", 1, "NOTIFY_OUT"),
			sync(0, 50, 51, "MPI_Win_start", 1, "NOTIFY_IN"), sync(0, 55, 72, "MPI_Win_complete", 1, "NOTIFY_OUT"),
			sync(1, 30, 31, "MPI_Win_post", 0, "NOTIFY_OUT"), sync(1, 35, 43, "MPI_Win_wait", 0, "NOTIFY_IN"),
			sync(1, 70, 71, "MPI_Win_post", 0, "NOTIFY_OUT"), sync(1, 75, 76, "MPI_Win_wait", 0, "NOTIFY_IN"),
			lock(0, 100, 101, "EXCLUSIVE"), unlock(0, 120, 122), lock(0, 125, 131, "SHARED"), unlock(0, 140, 141),
			lock(1, 126, 131, "SHARED"), unlock(1, 145, 146),
			lock(2, 105, 121, "EXCLUSIVE"), unlock(2, 130, 132),
			{2, 135, 147, "MPI_Win_lock", "RMA_REQUEST_LOCK 0 1 0 EXCLUSIVE", ""},
			unlock(2, 150, 151),
		},
		waits: [][]waitRow{
			{{10, 30, xtf.WaitLatePost, 1, 0}, {55, 70, xtf.WaitLatePost, 1, 0}, {125, 130, xtf.WaitLock, 2, 0}},
			{{35, 40, xtf.WaitEarlyWait, 0, 0}, {126, 130, xtf.WaitLock, 2, 0}},
			{{105, 120, xtf.WaitLock, 0, 0}, {135, 145, xtf.WaitLock, 1, 0}},
		},
		items: []nodeItem{
			{0, xtf.ItemLatePost, []uint64{35, 0, 0}},
			{0, xtf.ItemEarlyWait, []uint64{0, 5, 0}},
			{0, xtf.ItemLockContention, []uint64{5, 4, 25}},
			{0, xtf.ItemWaitCount, []uint64{3, 2, 2}},
			{0, xtf.ItemSends, []uint64{0, 0, 0}},
			{0, xtf.ItemReceives, []uint64{0, 0, 0}},
			{0, xtf.ItemPotentialSync, []uint64{0, 0, 0}},
		},
	}
}

// groupSyncs has the epochs as Score-P writes them, one record for a group: processes 0 and 2 start, and process 1 posts for both.
// Of these, 2 is the last to complete. A test that finds the epoch not over has a record that synchronises nobody. The groups have members in places that are not their ranks in the window.
func groupSyncs() waitCase {
	sync := func(p int, enter, leave uint64, region string, group int) smallCall {
		return smallCall{p, enter, leave, region, "", fmt.Sprintf("RMA_GROUP_SYNC PROCESS 0 %d", group)}
	}
	return waitCase{
		name: "epochs with groups", last: []uint64{200, 200, 200},
		definitions: "RMA_WIN self=0 name=0 comm=0\nGROUP self=50 number_of_members=1 1 group_type=5 paradigm=4\nGROUP self=51 number_of_members=2 2 0 group_type=5 paradigm=4\n",
		calls: []smallCall{
			sync(0, 10, 32, "MPI_Win_start", 50), sync(0, 40, 42, "MPI_Win_complete", 50),
			sync(1, 30, 31, "MPI_Win_post", 51),
			{1, 32, 33, "MPI_Win_test", "", "RMA_GROUP_SYNC NONE 0 51"},
			sync(1, 35, 62, "MPI_Win_wait", 51),
			sync(2, 20, 32, "MPI_Win_start", 50), sync(2, 60, 61, "MPI_Win_complete", 50),
		},
		waits: [][]waitRow{
			{{10, 30, xtf.WaitLatePost, 1, 0}},
			{{35, 60, xtf.WaitEarlyWait, 2, 0}},
			{{20, 30, xtf.WaitLatePost, 1, 0}},
		},
		items: []nodeItem{
			{0, xtf.ItemLatePost, []uint64{20, 0, 10}},
			{0, xtf.ItemEarlyWait, []uint64{0, 25, 0}},
			{0, xtf.ItemWaitCount, []uint64{1, 1, 1}},
		},
	}
}

// fences has what all members of a window take part in, as Score-P writes it: processes 0 and 2 wait for 1 in a fence and while a window is
// made, and nobody in a fence that process 0 leaves before 1 comes.
func fences() waitCase {
	call := func(p int, enter, leave uint64, region, op string) smallCall {
		return smallCall{p, enter, leave, region, "RMA_COLLECTIVE_BEGIN", "RMA_COLLECTIVE_END " + op + " PROCESS 0 none 0 0"}
	}
	c := waitCase{
		name: "fences", last: []uint64{200, 200, 200}, definitions: "RMA_WIN self=0 name=0 comm=0\n",
		waits: [][]waitRow{
			{{10, 30, xtf.WaitBarrier, 1, 0}, {110, 130, xtf.WaitBarrier, 1, 0}},
			nil,
			{{20, 30, xtf.WaitBarrier, 1, 0}, {120, 130, xtf.WaitBarrier, 1, 0}},
		},
		items: []nodeItem{{0, xtf.ItemWaitBarrier, []uint64{40, 0, 20}}, {0, xtf.ItemCollectives, []uint64{0, 0, 0}}, {0, xtf.ItemRMA, []uint64{46, 8, 24}}},
	}
	for k, region := range []string{"MPI_Win_create", "MPI_Win_fence"} {
		op, t := []string{"CREATE_HANDLE", "BARRIER"}[k], 100*uint64(k)
		c.calls = append(c.calls, call(0, t+10, t+32, region, op), call(1, t+30, t+33, region, op), call(2, t+20, t+31, region, op))
	}
	c.calls = append(c.calls, call(0, 150, 152, "MPI_Win_fence", "BARRIER"), call(1, 160, 162, "MPI_Win_fence", "BARRIER"), call(2, 155, 157, "MPI_Win_fence", "BARRIER"))
	return c
}

// lateReceivers has a tick of 1 ms: five times MPI_Isend and MPI_Wait of a message whose receiver computes 50 ms longer
// than the sender. The sender waits 5 x 50 ticks, in MPI_Wait. A send that MPI_Test completes does not wait.
func lateReceivers() waitCase {
	c := waitCase{name: "late receiver of a non-blocking send", last: []uint64{600, 600}}
	var waits []waitRow
	for k := range uint64(5) {
		t := 100 * k
		c.calls = append(
			c.calls,
			smallCall{0, t, t + 1, "MPI_Isend", fmt.Sprint("MPI_ISEND 1 MPI_COMM_WORLD 3 4194304 ", k), ""},
			smallCall{0, t + 1, t + 60, "MPI_Wait", "", fmt.Sprint("MPI_ISEND_COMPLETE ", k)},
			smallCall{1, t + 51, t + 60, "MPI_Recv", "", "MPI_RECV 0 MPI_COMM_WORLD 3 4194304"},
		)
		waits = append(waits, waitRow{t + 1, t + 51, xtf.WaitLateReceiver, 1, 0})
	}
	c.calls = append(
		c.calls,
		smallCall{0, 500, 501, "MPI_Isend", "MPI_ISEND 1 MPI_COMM_WORLD 3 8 9", ""},
		smallCall{0, 510, 520, "MPI_Test", "", "MPI_ISEND_COMPLETE 9"},
		smallCall{1, 515, 518, "MPI_Recv", "", "MPI_RECV 0 MPI_COMM_WORLD 3 8"},
	)
	c.waits = [][]waitRow{waits, nil}
	c.items = []nodeItem{{0, xtf.ItemLateReceiver, []uint64{250, 0}}, {0, xtf.ItemLateProgress, []uint64{0, 0}}, {0, xtf.ItemWaitCount, []uint64{5, 0}}}
	return c
}

// lateProgress has receives that are posted before the send begins: the sender waits until the receiver is in MPI again,
// 40 - 10 ticks, and where it probes in between until then, 70 - 65 ticks. Starting another message is not such a call, and
// a message that was gone when the receiver came back did not wait for it. The last receive is posted while the sender
// waits, 205 - 200 ticks, and goes on 20 ticks later. In the end the receiver has probed before the send begins, which
// changes nothing, and probes again while it begins, up to 252: the sender waits for it from there, 262 - 252 ticks.
func lateProgress() waitCase {
	irecv := func(t uint64, id int) smallCall {
		return smallCall{0, t, t + 1, "MPI_Irecv", fmt.Sprint("MPI_IRECV_REQUEST ", id), ""}
	}
	wait := func(from, to uint64, id int) smallCall {
		return smallCall{0, from, to, "MPI_Wait", "", fmt.Sprint("MPI_IRECV 1 MPI_COMM_WORLD 7 8 ", id)}
	}
	send := func(from, to uint64) smallCall {
		return smallCall{1, from, to, "MPI_Send", "MPI_SEND 0 MPI_COMM_WORLD 7 8", ""}
	}
	return waitCase{
		name: "late progress", last: []uint64{300, 300},
		calls: []smallCall{
			irecv(2, 1), wait(40, 52, 1), send(10, 50),
			irecv(62, 2), irecv(66, 3),
			{0, 70, 71, "MPI_Iprobe", "", ""},
			wait(90, 95, 2), send(65, 93),
			wait(150, 152, 3), send(110, 120),
			irecv(205, 4), wait(225, 232, 4), send(200, 230),
			irecv(240, 5),
			{0, 242, 243, "MPI_Iprobe", "", ""},
			{0, 245, 252, "MPI_Iprobe", "", ""},
			wait(262, 270, 5), send(250, 268),
		},
		waits: [][]waitRow{nil, {
			{10, 40, xtf.WaitLateProgress, 0, 0},
			{65, 70, xtf.WaitLateProgress, 0, 0},
			{200, 205, xtf.WaitLateReceiver, 0, 0},
			{205, 225, xtf.WaitLateProgress, 0, 0},
			{252, 262, xtf.WaitLateProgress, 0, 0},
		}},
		items: []nodeItem{{0, xtf.ItemLateProgress, []uint64{0, 30 + 5 + 20 + 10}}, {0, xtf.ItemLateReceiver, []uint64{0, 5}}, {0, xtf.ItemWaitCount, []uint64{0, 5}}},
	}
}

// exchanges has MPI_Sendrecv, which waits for who sends to it, 20 - 5 ticks, and never for who receives: from 40 on
// process 0 has its message of process 2, and process 1 comes at 60.
func exchanges() waitCase {
	sendrecv := func(p int, from, to uint64, dest, source int) smallCall {
		return smallCall{p, from, to, "MPI_Sendrecv", fmt.Sprintf("MPI_SEND %d MPI_COMM_WORLD 1 8", dest), fmt.Sprintf("MPI_RECV %d MPI_COMM_WORLD 1 8", source)}
	}
	return waitCase{
		name: "calls that send and receive", last: []uint64{100, 100, 100},
		calls: []smallCall{
			sendrecv(0, 5, 30, 1, 1), sendrecv(1, 20, 30, 0, 0),
			{2, 35, 36, "MPI_Send", "MPI_SEND 0 MPI_COMM_WORLD 1 8", ""},
			sendrecv(0, 40, 70, 1, 2),
			{1, 60, 70, "MPI_Recv", "", "MPI_RECV 0 MPI_COMM_WORLD 1 8"},
		},
		waits: [][]waitRow{{{5, 20, xtf.WaitLateSender, 1, 0}}, nil, nil},
		items: []nodeItem{{0, xtf.ItemLateSender, []uint64{15, 0, 0}}, {0, xtf.ItemLateReceiver, []uint64{0, 0, 0}}},
	}
}

// waitallOfAll has a process that completes a message of each of two others in one call. Process 2 is late, 40 - 5 and
// 80 - 50 ticks. That process 1 has sent its next message before, at 30, is not a wrong order: the call needs both.
// One receive at a time, of process 2 first, is: 120 - 90 ticks.
func waitallOfAll() waitCase {
	two := func(at uint64, from, to int) string {
		return fmt.Sprintf("MPI_IRECV 1 MPI_COMM_WORLD 1 8 %d\n0 %d MPI_IRECV 2 MPI_COMM_WORLD 1 8 %d", from, at, to)
	}
	irecv := func(t uint64, id int) smallCall {
		return smallCall{0, t, t + 1, "MPI_Irecv", fmt.Sprint("MPI_IRECV_REQUEST ", id), ""}
	}
	send := func(p int, t uint64) smallCall {
		return smallCall{p, t, t + 1, "MPI_Send", "MPI_SEND 0 MPI_COMM_WORLD 1 8", ""}
	}
	recv := func(p int, from, to uint64) smallCall {
		return smallCall{0, from, to, "MPI_Recv", "", fmt.Sprintf("MPI_RECV %d MPI_COMM_WORLD 1 8", p)}
	}
	return waitCase{
		name: "several late senders in one call", last: []uint64{200, 200, 200},
		calls: []smallCall{
			irecv(1, 1), irecv(2, 2),
			{0, 5, 45, "MPI_Waitall", "", two(45, 1, 2)},
			irecv(46, 3), irecv(48, 4),
			{0, 50, 85, "MPI_Waitall", "", two(85, 3, 4)},
			recv(2, 90, 125), recv(1, 126, 127),
			send(1, 10), send(1, 30), send(1, 100), send(2, 40), send(2, 80), send(2, 120),
		},
		waits: [][]waitRow{{
			{5, 40, xtf.WaitLateSender, 2, 0}, {50, 80, xtf.WaitLateSender, 2, 0}, {90, 120, xtf.WaitLateSender | xtf.WaitOrderDifferent, 2, 0},
		}, nil, nil},
		items: []nodeItem{
			{0, xtf.ItemLateSender, []uint64{35 + 30 + 30, 0, 0}},
			{0, xtf.ItemLateSenderSame, []uint64{0, 0, 0}},
			{0, xtf.ItemLateSenderOther, []uint64{30, 0, 0}},
		},
	}
}

// openBytes opens a file in memory.
func openBytes(t *testing.T, b []byte) *xtf.File {
	t.Helper()
	f, err := xtf.Open(bytes.NewReader(b), int64(len(b)), xtf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	callview.Attach(f, sync.OnceValues(func() (*graph.Shared, error) { return callview.Shared(f) }))
	return f
}

// readWaits reads the WAIT rows of a location.
func readWaits(t *testing.T, f *xtf.File, p xtf.Proc) (list []xtf.Wait) {
	t.Helper()
	rowsOf(t, f, p, xtf.TypeWait, func(_ uint64, row []byte) {
		var r xtf.Wait
		r.Load(row)
		list = append(list, r)
	})
	return list
}

// readComponents reads the COMP rows of a location.
func readComponents(t *testing.T, f *xtf.File, p xtf.Proc) map[uint64]uint64 {
	t.Helper()
	comps := map[uint64]uint64{}
	rowsOf(t, f, p, xtf.TypeComp, func(_ uint64, row []byte) {
		var r xtf.Comp
		r.Load(row)
		comps[r.Key] = r.Value
	})
	return comps
}

// TestGoldenWaits compares waits and values of pairs with tables made by hand, on
// several numbers of ranks.
func TestGoldenWaits(t *testing.T) {
	for _, c := range goldenWaits() {
		t.Run(c.name, func(t *testing.T) {
			src := c.source(t)
			var first []byte
			for _, ranks := range []int{1, 2, 3, 7} {
				b := analyzed(t, ranks, analyze.Options{Source: src, StoreBytes: 1 << 20})
				if first == nil {
					first = b
				}
				if !bytes.Equal(b, first) {
					t.Fatalf("%d ranks make another file", ranks)
				}
			}
			f := openBytes(t, first)
			for p, want := range c.waits {
				var got []waitRow
				for _, r := range readWaits(t, f, xtf.Proc(p)) {
					got = append(got, waitRow{r.T, r.End, r.Pattern, int(int32(r.CauseP)), r.Node})
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("process %d: %s", p, d)
				}
				comps := readComponents(t, f, xtf.Proc(p))
				for _, x := range c.items {
					if v := comps[xtf.NodeKey(x.node, uint32(x.item))]; v != x.values[p] {
						t.Errorf("process %d, node %d: %s is %d, want %d", p, x.node, x.item, v, x.values[p])
					}
				}
			}
		})
	}
}

// TestWaitsOfArchives compares the waits for messages of real archives with sums that a script made from the text of
// otf2-print, by the definitions of package waits: it paired the sends and receives of each communicator, source,
// destination and tag in the order of posting. Nanoseconds; in LULESH and LAMMPS many receives are posted, in NPB MG most,
// before the send begins.
func TestWaitsOfArchives(t *testing.T) {
	want := map[string]map[uint32]waitAmount{
		"lulesh-8":      {xtf.WaitLateSender: {335, 24452537}, xtf.WaitLateReceiver: {536, 59576621}, xtf.WaitLateProgress: {615, 10206268}},
		"lammps-pppm-4": {xtf.WaitLateSender: {476, 4840054}, xtf.WaitLateReceiver: {2967, 71975067}, xtf.WaitLateProgress: {5823, 17486818}},
		"npb-mg.W-2":    {xtf.WaitLateSender: {7, 57701}, xtf.WaitLateReceiver: {80, 16252728}, xtf.WaitLateProgress: {206, 437478}},
		"npb-mg.S-4":    {xtf.WaitLateSender: {153, 2785442}, xtf.WaitLateReceiver: {187, 3766329}, xtf.WaitLateProgress: {662, 560953}},
		"npb-lu.S-4":    {xtf.WaitLateSender: {361, 32628905}, xtf.WaitLateReceiver: {228, 7155517}, xtf.WaitLateProgress: {228, 1337459}},
	}
	found := 0
	for _, path := range jobtest.Archives(t) {
		name := filepath.Base(filepath.Dir(path))
		if want[name] == nil || testing.Short() && name == "lammps-pppm-4" {
			continue
		}
		found++
		t.Run(name, func(t *testing.T) {
			src, err := otf2.OpenPath(path)
			if err != nil {
				t.Fatal(err)
			}
			f := openBytes(t, archiveFile(t, path, src))
			sides := make([][]xtf.P2P, f.Procs())
			for p := range sides {
				rowsOf(t, f, xtf.Proc(p), xtf.TypeP2P, func(_ uint64, row []byte) {
					var m xtf.P2P
					m.Load(row)
					sides[p] = append(sides[p], m)
				})
			}
			got := map[uint32]waitAmount{}
			for p := range sides {
				for _, w := range readWaits(t, f, xtf.Proc(p)) {
					pattern := w.Pattern & xtf.WaitPatternMask
					if !xtf.WaitsForMessage(pattern) {
						continue
					}
					got[pattern] = waitAmount{got[pattern].count + 1, got[pattern].ticks + w.End - w.T}
					mate := sides[w.CauseP][sides[p][w.RecN].MateN]
					switch {
					case pattern == xtf.WaitLateReceiver && (mate.Post <= sides[p][w.RecN].T || mate.Post != w.End):
						t.Errorf("location %d: late receiver from %d to %d, the receive was posted at %d", p, w.T, w.End, mate.Post)
					case pattern == xtf.WaitLateProgress && (mate.Post > w.T || mate.T < w.End):
						t.Errorf("location %d: late progress from %d to %d, the receive was posted at %d and completed from %d on", p, w.T, w.End, mate.Post, mate.T)
					}
				}
			}
			if d := cmp.Diff(want[name], got, cmp.AllowUnexported(waitAmount{})); d != "" {
				t.Error(d)
			}
		})
	}
	if found == 0 {
		t.Skip("none of the archives with known waits in ../shared/traces/otf2 next to the repository")
	}
}

// waitAmount is how many waits there are, and how long they are together.
type waitAmount struct{ count, ticks uint64 }

// TestPostedReceivePoint counts potential synchronisation from the posting of
// receives; waits stay what they are.
func TestPostedReceivePoint(t *testing.T) {
	list := goldenWaits()
	c := list[slices.IndexFunc(list, func(c waitCase) bool { return c.name == "intervals and requests over their borders" })]
	o := analyze.Options{Source: c.source(t), StoreBytes: 1 << 20}
	o.Intervals.RecvPoint = "post"
	comps := readComponents(t, openBytes(t, analyzed(t, 2, o)), 0)
	for item, want := range map[xtf.Item]uint64{xtf.ItemPotentialSync: 6 + 2 + 8 + 2, xtf.ItemLateSender: 4} {
		if v := comps[xtf.NodeKey(0, uint32(item))]; v != want {
			t.Errorf("%s is %d, want %d", item, v, want)
		}
	}
}

// TestWaitLimits: waits are no longer than the calls they lie in, those for an
// enter no longer than the potential synchronisation; by interval and location.
func TestWaitLimits(t *testing.T) {
	for _, x := range []struct {
		spec     string
		blocking bool // all collectives
	}{
		{"stencil:procs=5,events=4k,jitter=20,seed=1", true},
		{"ring:procs=4,events=4k,jitter=5,offset=5000,skew=3000", true}, // clocks that are wrong
		{"wavefront:procs=6,events=4k,jitter=30,imbalance=40", true},
		{"masterworker:procs=5,events=4k,jitter=50", true},
		{"irregular:procs=7,events=8k,jitter=20,seed=3", false},
	} {
		t.Run(x.spec, func(t *testing.T) {
			o, err := synthetic.ParseOptions(x.spec)
			if err != nil {
				t.Fatal(err)
			}
			src, err := synthetic.New(o)
			if err != nil {
				t.Fatal(err)
			}
			job := analyze.Options{Source: src, StoreBytes: 1 << 20}
			job.Intervals.Intervals = []string{"region:timestep", "region:compute*"}
			f := openBytes(t, analyzed(t, 3, job))
			waited := uint64(0)
			for p := range xtf.Proc(f.Procs()) {
				waited += checkLimits(t, p, readComponents(t, f, p), x.blocking)
			}
			if waited == 0 {
				t.Error("nobody waits")
			}
		})
	}
}

// checkLimits looks at every node of a location and returns the waits of the whole
// program.
func checkLimits(t *testing.T, p xtf.Proc, comps map[uint64]uint64, blocking bool) uint64 {
	t.Helper()
	nodes := uint32(0)
	for key := range comps {
		nodes = max(nodes, uint32(key>>32)+1)
	}
	whole := uint64(0)
	for node := range nodes {
		sum := func(items ...xtf.Item) (v uint64) {
			for _, x := range items {
				v += comps[xtf.NodeKey(node, uint32(x))]
			}
			return v
		}
		messages := []xtf.Item{xtf.ItemLateSender, xtf.ItemLateReceiver, xtf.ItemLateProgress}
		barriers := []xtf.Item{xtf.ItemWaitBarrier, xtf.ItemBarrierCompletion}
		nxn := []xtf.Item{xtf.ItemWaitNxN, xtf.ItemNxNCompletion}
		rooted := []xtf.Item{xtf.ItemLateBroadcast, xtf.ItemEarlyReduce, xtf.ItemEarlyScan}
		all := slices.Concat(messages, barriers, nxn, rooted)
		for _, limit := range []struct {
			what  string
			waits []xtf.Item
			in    uint64
			holds bool
		}{
			{"waits in MPI", all, sum(xtf.ItemMPI), true},
			{"waits for messages", messages, sum(xtf.ItemP2P), true},
			{"parts of late sender", []xtf.Item{xtf.ItemLateSenderSame, xtf.ItemLateSenderOther}, sum(xtf.ItemLateSender), true},
			{"waits in barriers", barriers, sum(xtf.ItemBarrier), blocking},
			{"waits of all for all", nxn, sum(xtf.ItemNxN), blocking},
			{"waits in collectives", slices.Concat(barriers, nxn, rooted), sum(xtf.ItemColl), blocking},
			{"waits for an enter", append([]xtf.Item{xtf.ItemLateSender, xtf.ItemWaitBarrier, xtf.ItemWaitNxN}, rooted...), sum(xtf.ItemPotentialSync), true},
		} {
			if v := sum(limit.waits...); limit.holds && v > limit.in {
				t.Errorf("location %d, node %d: %s take %d ticks of %d", p, node, limit.what, v, limit.in)
			}
		}
		if node == 0 {
			whole = sum(all...)
		}
	}
	return whole
}

// TestLateProgressOfThreads: the second thread of process 0 has posted a receive at 2 and probes from 5 to 15; process 1 sends from
// 10 to 50, and waits from 15 to 40, where the thread completes the receive, whichever rank holds the thread.
func TestLateProgressOfThreads(t *testing.T) {
	program := `
-- program --
processes 2
threads 2
-- events --
0 0 ENTER main
0 30 ENTER other
0 31 LEAVE other
0 60 LEAVE main
1 2 ENTER MPI_Irecv
1 2 MPI_IRECV_REQUEST 1
1 3 LEAVE MPI_Irecv
1 5 ENTER MPI_Iprobe
1 15 LEAVE MPI_Iprobe
1 40 ENTER MPI_Wait
1 52 MPI_IRECV 1 MPI_COMM_WORLD 7 8 1
1 52 LEAVE MPI_Wait
2 10 ENTER MPI_Send
2 10 MPI_SEND 0 MPI_COMM_WORLD 7 8
2 50 LEAVE MPI_Send
3 0 ENTER main
3 30 ENTER other
3 31 LEAVE other
3 60 LEAVE main
`
	src, err := tracetest.Parse(program)
	if err != nil {
		t.Fatal(err)
	}
	o := analyze.Options{Source: src, StoreBytes: 1 << 20}
	one := analyzed(t, 1, o)
	f := openBytes(t, one)
	var got []xtf.Wait
	rowsOf(t, f, xtf.Proc(2), xtf.TypeWait, func(_ uint64, b []byte) {
		var w xtf.Wait
		w.Load(b)
		got = append(got, w)
	})
	if len(got) != 1 || got[0].T != 15 || got[0].End != 40 || got[0].Pattern != xtf.WaitLateProgress || got[0].CauseP != 1 {
		t.Errorf("waits %+v, want late progress from 15 to 40", got)
	}
	for _, ranks := range []int{2, 3, 4} {
		if !bytes.Equal(analyzed(t, ranks, o), one) {
			t.Errorf("%d ranks: other bytes than one", ranks)
		}
	}
}

// TestWaitInProbe: process 0 waits in MPI_Probe, 60 - 10 ticks, for what MPI_Recv receives without waiting. The wait is of the
// call path of the probe, also where a rank loads the receive without the probe.
func TestWaitInProbe(t *testing.T) {
	src, err := tracetest.Parse(`
-- program --
processes 2
-- events --
0 0 ENTER main
0 10 ENTER MPI_Probe
0 65 LEAVE MPI_Probe
0 70 ENTER receive
0 71 ENTER MPI_Recv
0 72 MPI_RECV 1 MPI_COMM_WORLD 1 8
0 72 LEAVE MPI_Recv
0 73 LEAVE receive
0 100 LEAVE main
1 0 ENTER main
1 60 ENTER MPI_Send
1 60 MPI_SEND 0 MPI_COMM_WORLD 1 8
1 62 LEAVE MPI_Send
1 100 LEAVE main
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, ranks := range []int{1, 5} {
		o := analyze.Options{Source: src, Output: filepath.Join(t.TempDir(), "run.xtf"), StoreBytes: 1 << 20}
		analyzed(t, ranks, o)
		f, got := openFile(t, o.Output), ""
		regions := map[uint32]string{}
		rowsOf(t, f, xtf.WholeRun, xtf.TypePath, func(_ uint64, row []byte) {
			var x xtf.Path
			x.Load(row)
			i, _ := src.Definitions().RegionIndex(x.Region)
			regions[uint32(x.Key)] = src.Definitions().Text(src.Definitions().Regions[i].Name)
		})
		rowsOf(t, f, 0, xtf.TypeWait, func(_ uint64, row []byte) {
			var x xtf.Wait
			x.Load(row)
			got += fmt.Sprintf("%d-%d in %s;", x.T, x.End, regions[x.Path])
		})
		if want := "10-60 in MPI_Probe;"; got != want {
			t.Errorf("%d ranks: waits %q, want %q", ranks, got, want)
		}
	}
}
