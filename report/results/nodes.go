package results

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/internal/varint"
	"github.com/coppice-hpc/coppice/report/numbers"
	"github.com/coppice-hpc/coppice/stats/interval"
	"github.com/coppice-hpc/coppice/xtf"
)

// ErrInterval says that a specification names no interval, or several.
var ErrInterval = errors.New("not an interval of the run")

// Node is a row of INTERVAL with its names.
type Node struct {
	xtf.Interval
	Name, File string
	place      int // among the siblings
}

// Nodes reads the interval tree; node 0, the whole program, is always there and
// parents come before their children.
func (r *Run) Nodes() ([]Node, error) {
	names, err := nodeNames(r)
	if err != nil {
		return nil, err
	}
	var list []Node
	var children []int // of each node, so far
	err = Load(r, xtf.WholeRun, func(x *xtf.Interval) {
		list = append(list, Node{Interval: *x, Name: nameAt(names, x.Name), File: nameAt(names, x.File)})
	})
	if err == nil && len(list) == 0 {
		err = ErrNoResult
	}
	for i := range list {
		x := &list[i]
		if err != nil {
			break
		}
		children = append(children, 0)
		switch {
		case x.Key != uint64(i) || i > 0 && uint64(x.Parent) >= x.Key || i == 0 && x.Level != 0:
			err = fmt.Errorf("row %d of node %d: %w", i, x.Key, xtf.ErrCorrupt)
		case i == 0:
		case x.Level != list[x.Parent].Level+1 || x.Level > maxLevel:
			err = fmt.Errorf("node %d on level %d: %w", i, x.Level, xtf.ErrCorrupt)
		default:
			x.place = children[x.Parent]
			children[x.Parent]++
		}
	}
	return list, r.Failed(xtf.WholeRun, "intervals", err)
}

// maxLevel bounds the depth of the interval tree, and so the length of paths.
const maxLevel = 4096

// PathOf is where a node is: positions among the siblings, from the root on.
func PathOf(list []Node, i int) []int {
	path := make([]int, list[i].Level+1)
	for ; i > 0; i = int(list[i].Parent) {
		path[list[i].Level] = list[i].place
	}
	return path
}

// nodeNames reads the names that INTERVAL rows point to.
func nodeNames(r *Run) ([]string, error) {
	b, err := r.File.SectionBytes(xtf.KindNodeNames)
	if errors.Is(err, xtf.ErrNoSection) {
		return nil, nil
	}
	var list []string
	names := varint.Read(b)
	for names.Len() > 0 {
		list = append(list, names.Text())
	}
	if err == nil && names.Failed() {
		err = xtf.ErrCorrupt
	}
	return list, r.Failed(xtf.WholeRun, "names of intervals", err)
}

// nameAt is the name with number 1 + i, "" for 0 and for what does not exist.
func nameAt(names []string, i uint32) string {
	if i == 0 || uint64(i) > uint64(len(names)) {
		return ""
	}
	return names[i-1]
}

// DerivedForm is the form of intervals that were cut from the time, which are
// numbered: slices, and what lies between collectives.
const DerivedForm = uint32(interval.FormDerived)

// Label is a node's name for people.
func (x *Node) Label() string {
	place := ""
	if x.File != "" {
		place = x.File[strings.LastIndexByte(x.File, '/')+1:]
		if x.Line > 0 {
			place += fmt.Sprintf(":%d", x.Line)
		}
	}
	text := x.Name
	switch {
	case x.Key == 0:
		return "whole program"
	case text == "" && place != "":
		return numbers.Clean(place, 60)
	case text == "":
		return fmt.Sprintf("interval %d", x.Marker)
	case x.Form == DerivedForm:
		return fmt.Sprintf("%s %d", numbers.Clean(text, 40), x.Marker)
	case place != "":
		return numbers.Clean(text, 40) + "  " + numbers.Clean(place, 40)
	}
	return numbers.Clean(text, 60)
}

// NodeLabels names the nodes of the interval tree for people, by their number: the name of a node, or where it begins in the
// source and its id. It is empty for a file without intervals.
func NodeLabels(r *Run) ([]string, error) {
	list, err := r.Nodes()
	if errors.Is(err, ErrNoResult) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var labels []string
	for i := range list {
		labels = append(labels, list[i].Label())
	}
	return labels, nil
}

// keys are the texts by which a specification may name a node.
func (x *Node) keys() []string {
	if x.Key == 0 {
		return []string{"root"}
	}
	list := []string{strconv.FormatUint(x.Marker, 10)}
	if x.Name != "" {
		list = append(list, x.Name)
	}
	if x.File != "" {
		base := x.File[strings.LastIndexByte(x.File, '/')+1:]
		list = append(list, fmt.Sprintf("%s:%d", x.File, x.Line), fmt.Sprintf("%s:%d", base, x.Line))
	}
	return list
}

// nodeKey is what a node is known by: its name, for the k-th time, among the children of its parent.
type nodeKey struct {
	parent int
	name   string
	k      int
}

// NodeNumbers number nodes by the names on their path, the same for several runs
// of a program.
type NodeNumbers struct {
	Name    func(x *Node) string
	Ordered bool // equal names are told apart by their order; else they have one number
	known   map[nodeKey]int
}

// Of returns the number of each node of a tree. O(nodes).
func (m *NodeNumbers) Of(list []Node) []int {
	if m.known == nil {
		m.known = map[nodeKey]int{}
	}
	seen := map[nodeKey]int{}
	numbers := make([]int, len(list)) // the root's is 0
	for i := 1; i < len(list); i++ {
		k := nodeKey{parent: numbers[list[i].Parent], name: m.Name(&list[i])}
		if m.Ordered {
			k.k, seen[k] = seen[k], seen[k]+1
		}
		if m.known[k] == 0 {
			m.known[k] = len(m.known) + 1
		}
		numbers[i] = m.known[k]
	}
	return numbers
}

// IntervalSpan returns the time of an interval: from its first begin to its last
// end, or with NAME[K] of its K-th execution, counted from 0, on each process.
func IntervalSpan(r *Run, spec string) (*Span, error) {
	list, err := r.Nodes()
	if err != nil {
		return nil, err
	}
	k, counted := uint64(0), false
	if name, number, ok := strings.Cut(spec, "["); ok && strings.HasSuffix(number, "]") {
		if k, err = strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
			spec, counted = name, true
		}
	}
	i, err := FindNode(list, spec)
	if err != nil {
		return nil, err
	}
	x := &list[i]
	s := &Span{Begin: x.FirstBegin, End: x.LastEnd}
	if s.Begin > s.End {
		s.Begin, s.End = 0, 0
	}
	if counted {
		if k >= max(x.ExeMax, 1) {
			return nil, fmt.Errorf("%s[%d]: %w: it has executions 0 to %d", spec, k, ErrInterval, max(x.ExeMax, 1)-1)
		}
		s.Of = &Execution{uint32(i), k}
	}
	return s, nil
}

// IntervalNode returns the number of the interval that spec names, as IntervalSpan has it.
func IntervalNode(r *Run, spec string) (uint32, error) {
	list, err := r.Nodes()
	if err != nil {
		return 0, err
	}
	i, err := FindNode(list, spec)
	return uint32(i), err
}

// FindNode returns the one node that spec names: "root", an id, a name,
// FILE:LINE, or #NUMBER. Several nodes of one name are an error that lists their
// numbers.
func FindNode(list []Node, spec string) (int, error) {
	var found []int
	for i := range list {
		for _, k := range list[i].keys() {
			if k == spec {
				found = append(found, i)
				break
			}
		}
	}
	if text, ok := strings.CutPrefix(spec, "#"); ok {
		if n, err := strconv.ParseUint(text, 10, 32); err == nil && n < uint64(len(list)) {
			found = []int{int(n)}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("%q: %w: it has %s", spec, ErrInterval, nodeList(list))
	}
	var numbers []string
	for _, i := range found[:min(len(found), 20)] {
		numbers = append(numbers, fmt.Sprintf("#%d", i))
	}
	return 0, fmt.Errorf("%q: %w: %d have this name, choose one of %s", spec, ErrInterval, len(found), strings.Join(numbers, ", "))
}

// nodeList names the first nodes for a message.
func nodeList(list []Node) string {
	const most = 12
	names := []string{"root"}
	for i := 1; i < min(len(list), most); i++ {
		keys := list[i].keys()
		names = append(names, numbers.Clean(keys[min(1, len(keys)-1)], 40))
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}
