package slurm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrNetwork is wrapped by every error about a topology.conf.
var ErrNetwork = errors.New("topology")

// Limits: mostNetwork bytes of a file, mostSwitches switches and blocks, mostSteps comparisons of texts and ranges with names. The last
// allows 32 for each pair of switches if one of eight has others below it.
const (
	mostNetwork  = 16 << 20
	mostSwitches = 1 << 12
	mostSteps    = 1 << 26
)

// Network describes how nodes are connected. Slurm's topology/tree lists switches. topology/block lists blocks; groups of consecutive
// blocks are added, a level for each of BlockSizes after the first.
type Network struct {
	Switches []Switch
}

// Switch is a switch, a block, or a group of blocks.
type Switch struct {
	Name  string
	Above []int // indexes in Switches of those that it is attached to; without cycles
	nodes hostlist
}

// Of returns the indexes of the switches that a node is attached to. A name with a domain is also tried without it.
func (n *Network) Of(node string) (list []int) {
	short, _, _ := strings.Cut(node, ".")
	steps := math.MinInt // without a limit
	for i := range n.Switches {
		if x := n.Switches[i].nodes; x.has(node, &steps) || short != node && x.has(short, &steps) {
			list = append(list, i)
		}
	}
	return list
}

// ReadNetwork reads the text of a topology.conf. A backslash continues a line; keys that do not concern connections are ignored.
func ReadNetwork(text string) (*Network, error) {
	if len(text) > mostNetwork {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", ErrNetwork, len(text), mostNetwork)
	}
	n := &Network{}
	at, below, sizes := map[string]int{}, []hostlist{}, []uint64(nil)
	blocks := 0
	for number, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, "#")
		keys := map[string]string{}
		for _, word := range strings.Fields(line) {
			key, value, ok := strings.Cut(word, "=")
			if key = strings.ToLower(key); !ok || key == "include" || keys[key] != "" {
				return nil, fmt.Errorf("%w: line %d: %q: KEY=VALUE is expected, each key once, without Include", ErrNetwork, number+1, word)
			}
			keys[key] = value
		}
		if text := keys["blocksizes"]; text != "" {
			for _, word := range strings.Split(text, ",") {
				size, err := strconv.ParseUint(word, 10, 32)
				if last := len(sizes) - 1; err != nil || size == 0 || last >= 0 && (size <= sizes[last] || size%sizes[last] != 0) {
					return nil, fmt.Errorf("%w: line %d: BlockSizes=%s: numbers of nodes are expected, each a multiple of the one before", ErrNetwork, number+1, text)
				}
				sizes = append(sizes, size)
			}
		}
		name := keys["switchname"] + keys["blockname"]
		if name == "" {
			continue
		}
		if _, twice := at[name]; twice || len(n.Switches) == mostSwitches {
			return nil, fmt.Errorf("%w: line %d: %s is there twice, or more than %d switches", ErrNetwork, number+1, name, mostSwitches)
		}
		nodes, err := parseHostlist(keys["nodes"])
		var children hostlist
		if err == nil {
			children, err = parseHostlist(keys["switches"])
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrNetwork, number+1, err)
		}
		if keys["blockname"] != "" {
			blocks++
		}
		at[name] = len(n.Switches)
		n.Switches, below = append(n.Switches, Switch{Name: name, nodes: nodes}), append(below, children)
	}
	if len(n.Switches) == 0 || blocks > 0 && blocks < len(n.Switches) {
		return nil, fmt.Errorf("%w: lines SwitchName=... or BlockName=... are expected, of one of the two kinds", ErrNetwork)
	}
	steps := 0
	for i, list := range below {
		for k := range n.Switches {
			if list.has(n.Switches[k].Name, &steps) {
				n.Switches[k].Above = append(n.Switches[k].Above, i)
			}
			if steps > mostSteps {
				return nil, fmt.Errorf("%w: the lists after Switches= are too long to be compared with the names of %d switches", ErrNetwork, len(n.Switches))
			}
		}
	}
	if blocks > 0 {
		n.group(sizes)
	}
	return n, n.circle()
}

// group adds groups of blocks: sizes[k]/sizes[k-1] consecutive blocks or groups of the level below.
func (n *Network) group(sizes []uint64) {
	first, count := 0, len(n.Switches)
	for k := 1; k < len(sizes) && count > 1; k++ {
		each := int(min(sizes[k]/sizes[k-1], uint64(count)))
		next := len(n.Switches)
		for i := range count {
			if i%each == 0 {
				n.Switches = append(n.Switches, Switch{Name: fmt.Sprintf("blocks of %d nodes: %d", sizes[k], i/each)})
			}
			n.Switches[first+i].Above = []int{next + i/each}
		}
		first, count = next, len(n.Switches)-next
	}
}

// circle returns an error if a switch is attached to itself, directly or not.
func (n *Network) circle() error {
	state := make([]uint8, len(n.Switches)) // 1: on the way up, 2: done
	for i := range n.Switches {
		way := []int{i}
		for len(way) > 0 {
			k := way[len(way)-1]
			if state[k] > 0 {
				state[k], way = 2, way[:len(way)-1]
				continue
			}
			state[k] = 1
			for _, up := range n.Switches[k].Above {
				if state[up] == 1 {
					return fmt.Errorf("%w: switch %s is attached to itself, by others", ErrNetwork, n.Switches[up].Name)
				}
				if state[up] == 0 {
					way = append(way, up)
				}
			}
		}
	}
	return nil
}

// hostlist is a list of names as Slurm writes it, "dev[0-5,07-09]x,login": alternatives, each a sequence of texts and ranges. Names are
// compared with it; it is never expanded, so ranges may be of any size.
type hostlist [][]hostPart

// hostPart is a text, or ranges.
type hostPart struct {
	text   string
	ranges []hostRange // nil for a text
}

// hostRange is a range of numbers with at least this many digits.
type hostRange struct {
	from, to uint64
	digits   int
}

func parseHostlist(text string) (list hostlist, err error) {
	var name []hostPart
	for text != "" {
		i := strings.IndexAny(text, "[],")
		if i < 0 {
			i = len(text)
		}
		if i > 0 {
			name = append(name, hostPart{text: text[:i]})
		}
		if text = text[i:]; text == "" {
			break
		}
		switch text[0] {
		case ',':
			if name == nil {
				return nil, errors.New("a name is missing before a comma")
			}
			list, name, text = append(list, name), nil, text[1:]
			continue
		case ']':
			return nil, errors.New("] without [")
		}
		inside, rest, ok := strings.Cut(text[1:], "]")
		if !ok {
			return nil, errors.New("[ without ]")
		}
		part := hostPart{ranges: []hostRange{}}
		for _, word := range strings.Split(inside, ",") {
			low, high, is := strings.Cut(word, "-")
			if !is {
				high = low
			}
			from, lerr := strconv.ParseUint(low, 10, 60)
			to, herr := strconv.ParseUint(high, 10, 60)
			if lerr != nil || herr != nil || from > to {
				return nil, fmt.Errorf("[%s] is not a list of numbers and ranges", inside)
			}
			part.ranges = append(part.ranges, hostRange{from, to, len(low)})
		}
		name, text = append(name, part), rest
	}
	if name != nil {
		list = append(list, name)
	}
	return list, nil
}

// has reports whether the list contains a name. It counts steps, and reports false after mostSteps.
func (l hostlist) has(name string, steps *int) bool {
	return slices.ContainsFunc(l, func(parts []hostPart) bool { return matches(parts, name, steps) })
}

// mostName is the most bytes of a node's name.
const mostName = 255

// matches keeps all places of the name at which the next part may begin, so its time is proportional to the length of the parts.
func matches(parts []hostPart, name string, steps *int) bool {
	if len(name) > mostName {
		return false
	}
	places := []int{0}
	for i := 0; i < len(parts) && len(places) > 0; i++ {
		var next []int
		for _, at := range places {
			if *steps++; *steps > mostSteps {
				return false
			}
			if p, rest := &parts[i], name[at:]; p.ranges != nil {
				for n := 1; n <= min(len(rest), 18) && '0' <= rest[n-1] && rest[n-1] <= '9'; n++ {
					*steps += len(p.ranges)
					if *steps <= mostSteps && p.has(rest[:n]) {
						next = append(next, at+n)
					}
				}
			} else if strings.HasPrefix(rest, p.text) {
				next = append(next, at+len(p.text))
			}
		}
		slices.Sort(next)
		places = slices.Compact(next)
	}
	return slices.Contains(places, len(name))
}

// has reports whether one of the ranges contains a number of up to 18 digits.
func (p *hostPart) has(digits string) bool {
	v, _ := strconv.ParseUint(digits, 10, 64)
	n := len(digits)
	return slices.ContainsFunc(p.ranges, func(r hostRange) bool {
		return r.from <= v && v <= r.to && (n == r.digits || n > r.digits && digits[0] != '0')
	})
}
