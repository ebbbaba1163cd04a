package report

import (
	"errors"
	"math"
	"testing"

	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/report/results"
	"github.com/coppice-hpc/coppice/xtf"
)

// TestSums adds and takes away up to 2^63, and no further.
func TestSums(t *testing.T) {
	t.Parallel()
	const most = numbers.Sum(math.MaxInt64)
	for _, x := range []struct{ got, want numbers.Sum }{
		{numbers.Add(most-1, 1), most},
		{numbers.Add(most, 1), numbers.NotKnown},
		{numbers.Add(most, 1, -most), numbers.NotKnown},
		{numbers.Add(3, numbers.NotKnown), numbers.NotKnown},
		{numbers.Add(-most, -1), numbers.NotKnown},
		{numbers.Sub(0, most), -most},
		{numbers.Sub(-most, 1), numbers.NotKnown},
		{numbers.Sub(numbers.NotKnown, numbers.NotKnown), numbers.NotKnown},
		{numbers.Sub(-1, numbers.NotKnown), numbers.NotKnown},
		{numbers.Times(1<<31, 1<<31), 1 << 62},
		{numbers.Times(1<<32, 1<<31), numbers.NotKnown},
		{numbers.Times(1<<32, 1<<32), numbers.NotKnown},
		{numbers.Times(numbers.NotKnown, 0), numbers.NotKnown},
		{numbers.Integer(1 << 63), numbers.NotKnown},
	} {
		if x.got != x.want {
			t.Errorf("%v, want %v", x.got, x.want)
		}
	}
}

func TestRatios(t *testing.T) {
	t.Parallel()
	if r := numbers.Quotient(-1, 2); r.Value != -0.5 || numbers.NewRatio(1, 0).Defined || numbers.Quotient(numbers.NotKnown, 1).Defined {
		t.Error("signs, or what is not known")
	}
}

// TestSumsOfRows refuses rows that are possible one by one, and wrap when they are added.
func TestSumsOfRows(t *testing.T) {
	t.Parallel()
	r := build(t, []items{{xtf.ItemEvents: 2, xtf.ItemTime: 10, xtf.ItemLast: 10}})
	x := &results.ProcessItems{Values: map[uint64]uint64{}}
	most := xtf.Most(1)
	key := xtf.NodeKey(0, uint32(xtf.ItemCalls))
	if v := x.Join(xtf.Comp{Key: key, Value: most}, true, false); v != most {
		t.Errorf("one row: %d", v)
	}
	if v := x.Join(xtf.Comp{Key: key, Value: most}, true, false); v <= most {
		t.Errorf("two rows: %d", v)
	}
	p := results.NewProfileTable(r)
	if !p.Put(0, 0, [4]uint64{1, most, most, 0}) || p.Put(0, 0, [4]uint64{1, 1, 0, 0}) {
		t.Error("profile: a sum of 2^63 is taken")
	}
	s := &results.CauseSum{}
	for range 3 {
		s.Add(results.CauseSum{Ticks: most})
	}
	if numbers.Integer(s.Ticks) != numbers.NotKnown {
		t.Errorf("waits of one location: %d", s.Ticks)
	}
	sums := results.PlaceSums{}
	if !sums.Add(results.CauseKey{}, results.CauseSum{Ticks: most}) || sums.Add(results.CauseKey{}, results.CauseSum{Ticks: 1}) {
		t.Error("waits: a sum of 2^63 is taken")
	}
}

// TestForgedSums has files whose rows are within their limits and wrap when they are added: the location is damaged.
func TestForgedSums(t *testing.T) {
	t.Parallel()
	most := xtf.Most(2)
	r, _ := lateRun(t)
	a := process(100, 90, 10, 0)
	a[xtf.ItemEvents], a[xtf.ItemExecutions] = 2, 1
	w := &written{defs: r.Defs, nodes: []writtenNode{rootNode(a, a)}, rows: map[xtf.Proc]func(func(xtf.TypeID) *xtf.ArrayBuilder){}}
	w.rows[0] = func(array func(xtf.TypeID) *xtf.ArrayBuilder) {
		for tag := range uint32(5) {
			put(array(xtf.TypeChannel), &xtf.Channel{Key: xtf.ChannelKey(1, 0), Tag: tag, Direction: xtf.ChannelSend, Count: 1, Bytes: most})
			put(array(xtf.TypeTimeBin), &xtf.TimeBin{Key: xtf.BinKey(20, 0), Region: r.Defs.Regions[0].Ref, Count: 1, Inclusive: most, Exclusive: most})
		}
	}
	r = w.write(t, 2)
	s, err := r.Summary(results.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	comm, lost, err := NewComm(r, s, results.SourceRows)
	if err != nil || len(lost) != 1 || comm.Bytes != 0 {
		t.Errorf("channels: %v, %v", lost, err)
	}
	if err := results.NewProfileTable(r).Add(0); !errors.Is(err, xtf.ErrCorrupt) {
		t.Errorf("profile: %v", err)
	}
}
