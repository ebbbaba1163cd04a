package results

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// ErrRanks says that a set of ranks is misspelt or names nothing.
var ErrRanks = errors.New("not a set of ranks")

// Ranks is a set of processes, ascending; the zero value stands for all.
type Ranks struct {
	List []uint32
}

// ParseRanks reads a set such as "0-3,8,16-31:4" (every fourth of 16 to 31),
// "comm:NAME" (the members of a communicator) or "node:2" (the processes of the
// third node, in the order of their processes). Parts are joined by commas.
func ParseRanks(spec string, d *trace.Definitions) (Ranks, error) {
	set := Ranks{List: []uint32{}}
	for _, part := range strings.Split(spec, ",") {
		list, err := parseRanks(strings.TrimSpace(part), d)
		if err != nil {
			return Ranks{}, err
		}
		set.List = append(set.List, list...)
	}
	slices.Sort(set.List)
	set.List = slices.Compact(set.List)
	return set, nil
}

func parseRanks(part string, d *trace.Definitions) ([]uint32, error) {
	if name, ok := strings.CutPrefix(part, "comm:"); ok {
		return commRanks(name, d)
	}
	if node, ok := strings.CutPrefix(part, "node:"); ok {
		return nodeRanks(node, d)
	}
	span, stepText, stepped := strings.Cut(part, ":")
	firstText, lastText, isSpan := strings.Cut(span, "-")
	if !isSpan {
		lastText = firstText
	}
	first, err1 := strconv.ParseUint(firstText, 10, 32)
	last, err2 := strconv.ParseUint(lastText, 10, 32)
	step, err3 := uint64(1), error(nil)
	if stepped {
		step, err3 = strconv.ParseUint(stepText, 10, 32)
	}
	n := uint64(len(d.Processes()))
	switch {
	case err1 != nil || err2 != nil || err3 != nil || step == 0 || last < first:
		return nil, fmt.Errorf("%q: %w: write for example 0-3,8,16-31:4, comm:NAME or node:0", part, ErrRanks)
	case last >= n:
		return nil, fmt.Errorf("%q: %w: the run has processes 0 to %d", part, ErrRanks, int64(n)-1)
	}
	var list []uint32
	for r := first; r <= last; r += step {
		list = append(list, uint32(r))
	}
	return list, nil
}

func commRanks(name string, d *trace.Definitions) ([]uint32, error) {
	var list []uint32
	for i := range d.Comms {
		if d.Text(d.Comms[i].Name) == name {
			list = append(list, d.CommMembers(d.Comms[i].Ref)...)
		}
	}
	list = slices.DeleteFunc(list, func(p uint32) bool { return p == trace.UnknownProcess })
	if len(list) == 0 {
		return nil, fmt.Errorf("comm:%s: %w: no communicator of this name with known members", name, ErrRanks)
	}
	return list, nil
}

// nodeRanks are the processes of a node, which Hosts numbers.
func nodeRanks(text string, d *trace.Definitions) ([]uint32, error) {
	want, err := strconv.ParseUint(text, 10, 32)
	nodes, of := Hosts(d)
	var list []uint32
	for p, node := range of {
		if uint64(node) == want {
			list = append(list, uint32(p))
		}
	}
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("node:%s: %w: the run has nodes 0 to %d", text, ErrRanks, len(nodes)-1)
	}
	return list, nil
}

// All reports whether r stands for all processes.
func (r Ranks) All() bool { return r.List == nil }

// Contains reports whether process p is in the set.
func (r Ranks) Contains(p uint32) bool {
	if r.List == nil {
		return true
	}
	_, ok := slices.BinarySearch(r.List, p)
	return ok
}

// Locations returns which locations belong to processes of the set.
func (r Ranks) Locations(d *trace.Definitions) func(p trace.P) bool {
	return func(p trace.P) bool {
		process, _ := d.Process(p)
		return r.Contains(process)
	}
}

// String writes the set with as few spans as its order allows.
func (r Ranks) String() string {
	if r.List == nil {
		return "all"
	}
	return RankList(r.List)
}

// RankList names ranks, those that follow one another as ranges.
func RankList[T uint32 | uint64 | int](ranks []T) string {
	var parts []string
	for i := 0; i < len(ranks); {
		n := i
		for n+1 < len(ranks) && ranks[n+1] == ranks[n]+1 {
			n++
		}
		text := fmt.Sprint(ranks[i])
		if n > i {
			text += fmt.Sprintf("-%d", ranks[n])
		}
		parts = append(parts, text)
		i = n + 1
	}
	return strings.Join(parts, ",")
}
