package xtf

import (
	"slices"
	"strings"
)

// rowSpec says how the columns of a type are named, placed and transformed.
type rowSpec struct {
	id      TypeID
	name    string
	role    Role
	columns []Column
}

// specOf is the type of version 1 with this id, nil for none.
func specOf(id TypeID) *rowSpec {
	if i := slices.IndexFunc(rowSpecs, func(s rowSpec) bool { return s.id == id }); i >= 0 {
		return &rowSpecs[i]
	}
	return nil
}

// itemSum is a running total with the item that it adds to, or takes from; NumItems: none. Here columns are offsets; less than 0: none.
type itemSum struct {
	Sum
	item Item
	less bool
}

const noColumn = -1

// unnumbered are the bits of collective operations on files and windows, which are not counted as such: trace.Unnumbered.
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

// at is the sum of a column, less another one or noColumn, where rows begin or end.
func at(rule Rule, column, less int, i Item, name string, terms ...Term) itemSum {
	return itemSum{Sum{name, column, less, rule, terms}, i, false}
}

func waitSums() (list []itemSum) {
	for pattern, i := range PatternItems {
		list = append(list, span(i, camel(strings.TrimPrefix(i.String(), "wait_")), is(WaitPattern, WaitPatternMask, uint32(pattern))))
	}
	return list
}

// callSums are the sums of calls: of MPI by class, of states outside MPI by the flags of their calls.
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

// camel is a name as columns and sums have it.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for k, p := range parts[1:] {
		parts[k+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// HasSum reports whether a running total of a type adds to an item.
func HasSum(t TypeID, i Item) bool {
	return slices.ContainsFunc(typeSums[t], func(s itemSum) bool { return s.item == i })
}

// ItemOfSum is the item that a running total of a type adds to, or takes from; NumItems for none.
func ItemOfSum(t TypeID, name string) (i Item, less bool) {
	for _, s := range typeSums[t] {
		if s.Name == name {
			return s.item, s.less
		}
	}
	return NumItems, false
}

// is takes rows whose bits of a column, masked, are the value.
func is(column int, mask, value uint32) Term { return Term{column, uint64(mask), uint64(value)} }

// has takes rows that have all these bits in a column.
func has(column int, bits uint32) Term { return is(column, bits, bits) }

// outermostMPI takes CALL rows of outermost MPI calls that mark no interval.
var outermostMPI = is(CallFlags, FlagOutermostMPI|FlagMarker, FlagOutermostMPI)

// end is the index of the column End, -1 without one.
func (s *rowSpec) end() int {
	if len(s.columns) > 1 && s.columns[1].Name == "End" {
		return 1
	}
	return -1
}

// columnAt is the number of the column at an offset, -1 for none.
func columnAt(columns []Column, offset int) int {
	return slices.IndexFunc(columns, func(c Column) bool { return c.Offset == offset })
}

// sums are the running totals of the type.
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

// typeSums are the running totals of types.
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
