// The row types of version 1. Offsets, registry and the typed forms of rows agree;
// a test compares them.

package xtf

import (
	"slices"
	"strings"
)

// Ids of the row types of version 1. From TypeInterval on they live in the
// whole-run region.
const (
	TypeCall       TypeID = 1  // a call: one execution of a region
	TypeP2P        TypeID = 2  // one side of a point-to-point message
	TypeColl       TypeID = 3  // one member of a collective operation
	TypeIO         TypeID = 4  // a file operation
	TypeRMA        TypeID = 5  // a one-sided operation
	TypeMetric     TypeID = 6  // one value of a metric
	TypeWait       TypeID = 7  // a wait state
	TypeIval       TypeID = 8  // one execution of an interval
	TypeCPath      TypeID = 9  // a piece of the critical path
	TypeChannel    TypeID = 10 // the entries of one channel in the CHAN array
	TypeChan       TypeID = 11 // a channel entry: the N of a P2P or COLL row
	TypeTile       TypeID = 12 // one tile of the picture pyramid
	TypeTimeBin    TypeID = 13 // calls of one region in one time bin
	TypeComp       TypeID = 14 // one component of an interval
	TypeDelay      TypeID = 15 // a delay cost
	TypeDiag       TypeID = 16 // a diagnostic
	TypeWaitSum    TypeID = 17 // waits of one pattern on one call path of an interval
	TypeInterval   TypeID = 32 // a node of the interval tree
	TypeStat       TypeID = 33 // a statistic of a component over processes
	TypeClass      TypeID = 34 // a class of processes
	TypeMember     TypeID = 35 // the class of a process
	TypeMerge      TypeID = 36 // one merge of the dendrogram
	TypePath       TypeID = 37 // a call path
	TypeWaitTotal  TypeID = 38 // waits of all locations
	TypeDelayTotal TypeID = 39 // delay costs of all locations
	TypePathTotal  TypeID = 40 // critical path on one call path of an interval
	TypeGroup      TypeID = 41 // a group of processes with the same calls
	TypeClassSum   TypeID = 42 // what the processes of a class compute
	TypeDirectory  TypeID = 63 // a row of the directory: where one region lies
)

// rowSpec says how the columns of a type are named, placed and transformed.
type rowSpec struct {
	id      TypeID
	name    string
	role    Role
	columns []Column
	sums    []itemSum
}

// itemSum is a running total with the item that it adds to, or takes from; NumItems: none.
type itemSum struct {
	Sum
	item Item
	less bool
}

func count(i Item, name string, terms ...Term) itemSum {
	return itemSum{Sum{name, -1, -1, RuleAtT, terms}, i, false}
}

func span(i Item, name string, terms ...Term) itemSum {
	return itemSum{Sum{name, -1, -1, RuleSpan, terms}, i, false}
}

// at is the sum of a column, less another one or -1, where rows begin or end.
func at(rule Rule, column, less int, i Item, name string, terms ...Term) itemSum {
	return itemSum{Sum{name, column, less, rule, terms}, i, false}
}

// waitSums are the sums of patterns.
func waitSums() (list []itemSum) {
	for pattern, i := range PatternItems {
		list = append(list, span(i, camel(strings.TrimPrefix(i.String(), "wait_")), is(4, WaitPatternMask, uint32(pattern))))
	}
	return list
}

// callSums are the sums of calls: of MPI by class, of states outside MPI by the flags of their calls.
func callSums() []itemSum {
	list := []itemSum{count(ItemCalls, "calls"), count(NumItems, "mpiCalls", has(7, FlagOutermostMPI)), span(ItemMPI, "mpi", outermostMPI)}
	for _, x := range ClassItems {
		list = append(list, span(x.Item, x.sum, outermostMPI, has(6, x.Class)))
	}
	list = append(list, span(ItemMarker, "marker", has(7, FlagMarker)))
	for _, x := range States {
		name := camel(x.Item.String())
		if x.Flag != 0 && !slices.ContainsFunc(list, func(s itemSum) bool { return s.item == x.Item }) {
			list = append(list, span(x.Item, name, has(7, x.Flag)))
		}
		if x.Inside != 0 {
			s := span(x.Item, name+"Inside", has(7, x.Inside))
			s.less = true
			list = append(list, s)
		}
	}
	return list
}

// camel is a name as columns and sums have it.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for k, p := range parts[1:] {
		parts[k+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// sumItems are the items of sums, by their types and names.
var sumItems = func() map[TypeID]map[string]itemSum {
	all := map[TypeID]map[string]itemSum{}
	for _, r := range rowSpecs {
		all[r.id] = map[string]itemSum{}
		for _, s := range r.sums {
			all[r.id][s.Name] = s
		}
	}
	return all
}()

// HasSum reports whether a running total of a type adds to an item.
func HasSum(t TypeID, i Item) bool {
	for _, s := range sumItems[t] {
		if s.item == i {
			return true
		}
	}
	return false
}

// ItemOfSum is the item that a running total of a type adds to, or takes from; NumItems for none.
func ItemOfSum(t TypeID, name string) (i Item, less bool) {
	if s, ok := sumItems[t][name]; ok {
		return s.item, s.less
	}
	return NumItems, false
}

// is takes rows whose bits of a column, masked, are the value.
func is(column int, mask, value uint32) Term { return Term{column, uint64(mask), uint64(value)} }

// has takes rows that have all these bits in a column.
func has(column int, bits uint32) Term { return is(column, bits, bits) }

// outermostMPI takes CALL rows of outermost MPI calls that mark no interval.
var outermostMPI = is(7, FlagOutermostMPI|FlagMarker, FlagOutermostMPI)

// end is the index of the column End, -1 without one.
func (s *rowSpec) end() int {
	if len(s.columns) > 1 && s.columns[1].Name == "End" {
		return 1
	}
	return -1
}

var rowSpecs = []rowSpec{
	{id: TypeCall, name: "CALL", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"parentN", 16, 8, TransformMinusN},
		{"exclusive", 24, 8, TransformMinusSpan},
		{"region", 32, 4, TransformNone},
		{"depth", 36, 4, TransformDelta},
		{"class", 40, 4, TransformNone},
		{"flags", 44, 4, TransformNone},
	}, sums: callSums()},
	{id: TypeP2P, name: "P2P", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"post", 16, 8, TransformMinusT},
		{"done", 24, 8, TransformMinusT},
		{"callN", 32, 8, TransformDelta},
		{"mateN", 40, 8, TransformDelta},
		{"seq", 48, 8, TransformDelta},
		{"bytes", 56, 8, TransformNone},
		{"region", 64, 4, TransformNone},
		{"peer", 68, 4, TransformNone},
		{"comm", 72, 4, TransformNone},
		{"tag", 76, 4, TransformNone},
		{"kind", 80, 4, TransformNone},
		{"mateP", 84, 4, TransformNone},
		{"mateT", 88, 8, TransformMinusT},
	}, sums: []itemSum{
		count(ItemSends, "sends", is(12, P2PKindMask, P2PSend)),
		at(RuleAtT, 7, -1, ItemBytesOut, "bytesOut", is(12, P2PKindMask, P2PSend)),
		count(NumItems, "unmatched", has(12, P2PUnmatched)),
		at(RuleAtEnd, -1, -1, ItemReceives, "receives", is(12, P2PKindMask, P2PRecv)),
		at(RuleAtEnd, 7, -1, ItemBytesIn, "bytesIn", is(12, P2PKindMask, P2PRecv)),
		at(RuleAtEnd, 1, 14, ItemSendRecv, "sendRecv", is(12, P2PKindMask|P2PUnmatched|P2PMarker, P2PRecv)),
		at(RuleAtEnd, 14, 0, ItemPotentialSync, "potentSync", is(12, P2PKindMask|P2PUnmatched|P2PMarker, P2PRecv)),
	}},
	{id: TypeColl, name: "COLL", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"post", 16, 8, TransformMinusT},
		{"callN", 24, 8, TransformDelta},
		{"sent", 32, 8, TransformNone},
		{"received", 40, 8, TransformNone},
		{"ordinal", 48, 8, TransformDelta},
		{"lastEnter", 56, 8, TransformMinusT},
		{"firstLeave", 64, 8, TransformMinusT},
		{"lastLeave", 72, 8, TransformMinusT},
		{"region", 80, 4, TransformNone},
		{"comm", 84, 4, TransformNone},
		{"root", 88, 4, TransformNone},
		{"flags", 92, 4, TransformNone},
	}, sums: []itemSum{
		count(ItemCollectives, "calls"),
		at(RuleAtT, 4, -1, ItemCollOut, "bytesOut"),
		at(RuleAtT, 5, -1, ItemCollIn, "bytesIn"),
		at(RuleAtT, 7, 0, ItemPotentialSync, "potentSync"),
		at(RuleAtT, 9, 1, ItemVariation, "timeVariation"),
	}},
	{id: TypeIO, name: "IO", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"callN", 16, 8, TransformDelta},
		{"asked", 24, 8, TransformNone},
		{"done", 32, 8, TransformNone},
		{"handle", 40, 4, TransformNone},
		{"op", 44, 4, TransformNone},
	}, sums: []itemSum{
		count(NumItems, "operations"),
		at(RuleAtT, 4, -1, NumItems, "read", is(6, IOOpMask, IORead)),
		at(RuleAtT, 4, -1, NumItems, "written", is(6, IOOpMask, IOWrite)),
		span(NumItems, "time"),
	}},
	{id: TypeRMA, name: "RMA", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"callN", 16, 8, TransformDelta},
		{"bytes", 24, 8, TransformNone},
		{"window", 32, 4, TransformNone},
		{"target", 36, 4, TransformNone},
		{"op", 40, 4, TransformNone},
		{"flags", 44, 4, TransformNone},
	}, sums: []itemSum{
		count(NumItems, "operations"),
		at(RuleAtT, 3, -1, NumItems, "bytes"),
	}},
	{id: TypeMetric, name: "METRIC", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"value", 8, 8, TransformDelta},
		{"metric", 16, 4, TransformNone},
		{"flags", 20, 4, TransformNone},
	}},
	{id: TypeWait, name: "WAIT", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"recN", 16, 8, TransformDelta},
		{"causeP", 24, 4, TransformNone},
		{"pattern", 28, 4, TransformNone},
		{"node", 32, 4, TransformNone},
		{"path", 36, 4, TransformNone},
	}, sums: waitSums()},
	{id: TypeIval, name: "IVAL", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"execution", 16, 8, TransformDelta},
		{"node", 24, 4, TransformNone},
		{"flags", 28, 4, TransformNone},
	}},
	{id: TypeCPath, name: "CPATH", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"End", 8, 8, TransformMinusT},
		{"region", 16, 4, TransformNone},
		{"activity", 20, 4, TransformNone},
		{"node", 24, 4, TransformNone},
		{"path", 28, 4, TransformNone},
	}},
	{id: TypeChannel, name: "CHANNEL", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"tag", 8, 4, TransformNone},
		{"direction", 12, 4, TransformNone},
		{"first", 16, 8, TransformDelta},
		{"count", 24, 8, TransformNone},
		{"bytes", 32, 8, TransformNone},
	}},
	{id: TypeChan, name: "CHAN", role: RoleNone, columns: []Column{
		{"N", 0, 8, TransformNone},
	}},
	{id: TypeTile, name: "TILE", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"share0", 8, 1, TransformNone},
		{"share1", 9, 1, TransformNone},
		{"share2", 10, 1, TransformNone},
		{"share3", 11, 1, TransformNone},
		{"share4", 12, 1, TransformNone},
		{"share5", 13, 1, TransformNone},
		{"share6", 14, 1, TransformNone},
		{"share7", 15, 1, TransformNone},
		{"region", 16, 4, TransformNone},
		{"rows", 20, 4, TransformNone},
		{"longest", 24, 8, TransformDelta},
	}},
	{id: TypeTimeBin, name: "TIMEBIN", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"region", 8, 4, TransformNone},
		{"class", 12, 4, TransformNone},
		{"count", 16, 8, TransformNone},
		{"inclusive", 24, 8, TransformNone},
		{"exclusive", 32, 8, TransformNone},
		{"bytes", 40, 8, TransformNone},
	}},
	{id: TypeComp, name: "COMP", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"value", 8, 8, TransformNone},
	}},
	{id: TypeDelay, name: "DELAY", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"pattern", 8, 4, TransformNone},
		{"activity", 12, 4, TransformNone},
		{"short", 16, 8, TransformNone},
		{"long", 24, 8, TransformNone},
	}},
	{id: TypeDiag, name: "DIAG", role: RoleT, columns: []Column{
		{"T", 0, 8, TransformNone},
		{"event", 8, 8, TransformDelta},
		{"count", 16, 8, TransformNone},
		{"worst", 24, 8, TransformNone},
		{"code", 32, 4, TransformNone},
		{"severity", 36, 4, TransformNone},
		{"detail", 40, 4, TransformNone},
		{"zero", 44, 4, TransformNone},
	}},
	{id: TypeWaitSum, name: "WAITSUM", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"pattern", 8, 4, TransformNone},
		{"zero", 12, 4, TransformNone},
		{"count", 16, 8, TransformNone},
		{"ticks", 24, 8, TransformNone},
	}},
	{id: TypeInterval, name: "INTERVAL", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"parent", 8, 4, TransformNone},
		{"level", 12, 4, TransformNone},
		{"marker", 16, 8, TransformNone},
		{"name", 24, 4, TransformNone},
		{"file", 28, 4, TransformNone},
		{"line", 32, 4, TransformNone},
		{"form", 36, 4, TransformNone},
		{"exeMax", 40, 8, TransformNone},
		{"exeMin", 48, 8, TransformNone},
		{"participants", 56, 4, TransformNone},
		{"flags", 60, 4, TransformNone},
		{"firstBegin", 64, 8, TransformNone},
		{"lastEnd", 72, 8, TransformNone},
		{"sumMax", 80, 8, TransformNone},
	}},
	{id: TypeStat, name: "STAT", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"sum0", 8, 8, TransformNone},
		{"sum1", 16, 8, TransformNone},
		{"square0", 24, 8, TransformNone},
		{"square1", 32, 8, TransformNone},
		{"square2", 40, 8, TransformNone},
		{"min", 48, 8, TransformNone},
		{"max", 56, 8, TransformNone},
		{"minP", 64, 4, TransformNone},
		{"maxP", 68, 4, TransformNone},
	}},
	{id: TypeClass, name: "CLASS", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"representative", 8, 4, TransformNone},
		{"members", 12, 4, TransformNone},
		{"group", 16, 4, TransformNone},
		{"flags", 20, 4, TransformNone},
		{"diameter", 24, 8, TransformNone},
	}},
	{id: TypeMember, name: "MEMBER", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"class", 8, 4, TransformNone},
		{"group", 12, 4, TransformNone},
	}},
	{id: TypeMerge, name: "MERGE", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"first", 8, 4, TransformNone},
		{"second", 12, 4, TransformNone},
		{"height", 16, 8, TransformNone},
	}},
	{id: TypePath, name: "PATH", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"parent", 8, 4, TransformNone},
		{"region", 12, 4, TransformNone},
		{"level", 16, 4, TransformNone},
		{"zero", 20, 4, TransformNone},
	}},
	{id: TypeWaitTotal, name: "WAITTOTAL", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"pattern", 8, 4, TransformNone},
		{"worstP", 12, 4, TransformNone},
		{"count", 16, 8, TransformNone},
		{"ticks", 24, 8, TransformNone},
		{"worst", 32, 8, TransformNone},
	}},
	{id: TypeDelayTotal, name: "DELAYTOTAL", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"pattern", 8, 4, TransformNone},
		{"activity", 12, 4, TransformNone},
		{"short", 16, 8, TransformNone},
		{"long", 24, 8, TransformNone},
		{"worst", 32, 8, TransformNone},
		{"worstP", 40, 4, TransformNone},
		{"zero", 44, 4, TransformNone},
	}},
	{id: TypePathTotal, name: "PATHTOTAL", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"activity", 8, 4, TransformNone},
		{"worstP", 12, 4, TransformNone},
		{"ticks", 16, 8, TransformNone},
		{"worst", 24, 8, TransformNone},
	}},
	{id: TypeGroup, name: "GROUP", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"first", 8, 4, TransformNone},
		{"processes", 12, 4, TransformNone},
		{"classes", 16, 4, TransformNone},
		{"fraction", 20, 4, TransformNone},
		{"entries", 24, 8, TransformNone},
		{"threshold", 32, 8, TransformNone},
		{"rounded", 40, 8, TransformNone},
		{"radius", 48, 8, TransformNone},
		{"leaders", 56, 4, TransformNone},
		{"led", 60, 4, TransformNone},
	}},
	{id: TypeClassSum, name: "CLASSSUM", role: RoleKey, columns: []Column{
		{"key", 0, 8, TransformNone},
		{"first", 8, 4, TransformNone},
		{"zero", 12, 4, TransformNone},
		{"least", 16, 8, TransformNone},
		{"most", 24, 8, TransformNone},
		{"mean", 32, 8, TransformNone},
	}},
	{id: TypeDirectory, name: "DIRECTORY", role: RoleNone, columns: []Column{
		{"P", 0, 4, TransformNone},
		{"process", 4, 4, TransformNone},
		{"thread", 8, 4, TransformNone},
		{"zero", 12, 4, TransformNone},
		{"headOff", 16, 8, TransformNone},
		{"regionBytes", 24, 8, TransformNone},
		{"headLen", 32, 4, TransformNone},
		{"headCRC", 36, 4, TransformNone},
		{"first", 40, 8, TransformNone},
		{"last", 48, 8, TransformNone},
		{"events", 56, 8, TransformNone},
	}},
}
