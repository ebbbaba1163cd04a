package xtf

import (
	"slices"
	"strings"
)

// rowSpec declares the columns and the order of a type of version 1.
type rowSpec struct {
	id      TypeID
	name    string
	role    Role
	columns []Column
}

// specOf returns the type of version 1 with this id, or nil.
func specOf(id TypeID) *rowSpec {
	if i := slices.IndexFunc(rowSpecs, func(s rowSpec) bool { return s.id == id }); i >= 0 {
		return &rowSpecs[i]
	}
	return nil
}

// itemSum is a running total and the item that it adds to (with less: that it is subtracted from); NumItems stands for none. Its columns
// are offsets, noColumn for none.
type itemSum struct {
	Sum
	item Item
	less bool
}

const noColumn = -1

// unnumbered has the bits of collective operations on files and windows, which are not counted as collectives: trace.Unnumbered.
const unnumbered = 0xf0

func less(s itemSum) itemSum {
	s.less = true
	return s
}

func count(i Item, name string, terms ...Term) itemSum {
	return itemSum{Sum{name, noColumn, noColumn, RuleAtT, terms}, i, false}
}

func span(i Item, name string, terms ...Term) itemSum {
	return itemSum{Sum{name, noColumn, noColumn, RuleSpan, terms}, i, false}
}

// at is the sum of a column minus the column less (or noColumn), counted at the begin or the end of rows, as rule says.
func at(rule Rule, column, less int, i Item, name string, terms ...Term) itemSum {
	return itemSum{Sum{name, column, less, rule, terms}, i, false}
}

func waitSums() (list []itemSum) {
	for pattern, i := range PatternItems {
		list = append(list, span(i, camel(strings.TrimPrefix(i.String(), "wait_")), is(WaitPattern, WaitPatternMask, uint32(pattern))))
	}
	return list
}

// callSums returns the sums of calls: times in MPI by class, and times of states outside MPI by the flags of calls.
func callSums() []itemSum {
	list := []itemSum{count(ItemCalls, "calls"), count(NumItems, "mpiCalls", has(CallFlags, FlagOutermostMPI)), span(ItemMPI, "mpi", outermostMPI)}
	for _, x := range ClassItems {
		list = append(list, span(x.Item, x.sum, outermostMPI, has(CallClass, x.Class)))
	}
	list = append(list, span(ItemMarker, "marker", has(CallFlags, FlagMarker)))
	for _, x := range States {
		name := camel(x.Item.String())
		if x.Flag != 0 && !slices.ContainsFunc(list, func(s itemSum) bool { return s.item == x.Item }) {
			list = append(list, span(x.Item, name, has(CallFlags, x.Flag)))
		}
		if x.Inside != 0 {
			list = append(list, less(span(x.Item, name+"Inside", has(CallFlags, x.Inside))))
		}
	}
	for _, x := range []struct {
		item Item
		flag uint32
	}{{ItemIO, FlagMPIInIO}, {ItemDeviceCall, FlagMPIInDeviceCall}} {
		list = append(list, less(span(x.item, camel(x.item.String())+"MPI", has(CallFlags, x.flag))))
	}
	return list
}

// camel turns a name with underscores into the form of columns and sums.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for k, p := range parts[1:] {
		parts[k+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// HasSum returns whether a running total of a type adds to an item, or is subtracted from it.
func HasSum(t TypeID, i Item) bool {
	return slices.ContainsFunc(typeSums[t], func(s itemSum) bool { return s.item == i })
}

// ItemOfSum returns the item of a running total of a type, NumItems if it has none. less says that the total is subtracted.
func ItemOfSum(t TypeID, name string) (i Item, less bool) {
	for _, s := range typeSums[t] {
		if s.Name == name {
			return s.item, s.less
		}
	}
	return NumItems, false
}

// is selects rows whose column has the value in the bits of mask.
func is(column int, mask, value uint32) Term { return Term{column, uint64(mask), uint64(value)} }

// has selects rows whose column has all these bits.
func has(column int, bits uint32) Term { return is(column, bits, bits) }

// outermostMPI selects CALL rows of outermost MPI calls that are not interval markers.
var outermostMPI = is(CallFlags, FlagOutermostMPI|FlagMarker, FlagOutermostMPI)

// end returns the index of the column End, or -1.
func (s *rowSpec) end() int {
	if len(s.columns) > 1 && s.columns[1].Name == "End" {
		return 1
	}
	return -1
}

// columnAt returns the index of the column at an offset, or -1.
func columnAt(columns []Column, offset int) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Offset == offset })
}

// sums returns the running totals of the type.
func (s *rowSpec) sums() (list []Sum) {
	for _, x := range typeSums[s.id] {
		x.Column, x.Minus, x.Filter = columnAt(s.columns, x.Column), columnAt(s.columns, x.Minus), slices.Clone(x.Filter)
		for i := range x.Filter {
			x.Filter[i].Column = columnAt(s.columns, x.Filter[i].Column)
		}
		list = append(list, x.Sum)
	}
	return list
}

// typeSums has the running totals by type.
var typeSums = map[TypeID][]itemSum{
	TypeCall: callSums(),
	TypeP2P: {
		count(ItemSends, "sends", is(P2PKind, P2PKindMask|P2PNotice, P2PSend)),
		at(RuleAtT, P2PBytes, noColumn, ItemBytesOut, "bytesOut", is(P2PKind, P2PKindMask|P2PNotice, P2PSend)),
		count(NumItems, "unmatched", is(P2PKind, P2PUnmatched|P2PNotice, P2PUnmatched)),
		at(RuleAtEnd, noColumn, noColumn, ItemReceives, "receives", is(P2PKind, P2PKindMask|P2PNotice, P2PRecv)),
		at(RuleAtEnd, P2PBytes, noColumn, ItemBytesIn, "bytesIn", is(P2PKind, P2PKindMask|P2PNotice, P2PRecv)),
		at(RuleAtEnd, P2PEnd, P2PMateT, ItemSendRecv, "sendRecv", is(P2PKind, P2PKindMask|P2PUnmatched|P2PMarker, P2PRecv)),
		at(RuleAtEnd, P2PMateT, P2PT, ItemPotentialSync, "potentSync", is(P2PKind, P2PKindMask|P2PUnmatched|P2PMarker, P2PRecv)),
	},
	TypeColl: {
		count(ItemCollectives, "calls"),
		at(RuleAtT, CollSent, noColumn, ItemCollOut, "bytesOut"),
		at(RuleAtT, CollReceived, noColumn, ItemCollIn, "bytesIn"),
		at(RuleAtT, CollLastEnter, CollT, ItemPotentialSync, "potentSync"),
		at(RuleAtT, CollLastLeave, CollEnd, ItemVariation, "timeVariation"),
		less(count(ItemCollectives, "unnumbered", is(CollFlags, unnumbered, unnumbered))),
		less(at(RuleAtT, CollSent, noColumn, ItemCollOut, "bytesOutUnnumbered", is(CollFlags, unnumbered, unnumbered))),
		less(at(RuleAtT, CollReceived, noColumn, ItemCollIn, "bytesInUnnumbered", is(CollFlags, unnumbered, unnumbered))),
	},
	TypeIO: {
		count(NumItems, "operations"),
		at(RuleAtT, IODone, noColumn, NumItems, "read", is(IOOp, IOOpMask, IORead)),
		at(RuleAtT, IODone, noColumn, NumItems, "written", is(IOOp, IOOpMask, IOWrite)),
		span(NumItems, "time"),
	},
	TypeRMA: {
		count(NumItems, "operations"),
		at(RuleAtT, RMABytes, noColumn, NumItems, "bytes"),
	},
	TypeWait: waitSums(),
}
