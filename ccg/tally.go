package ccg

// tally counts something that belongs to single events, by node: how much there
// is in one instance, what is inside included. A node's own part stands at its
// enter, or is that of the record.
type tally []uint64

// own returns what a node has itself.
func (n tally) own(v *view, id uint32) uint64 {
	own := n[id]
	if v.nodes.kind(id) == kindRepeat {
		return 0
	}
	for _, c := range v.nodes.words(id) {
		own -= n[c]
	}
	return own
}

// before adds up what lies before event k: O(depth * fan).
func (n tally) before(x *Index, k uint64) uint64 {
	v := x.loc.view
	sum, id := uint64(0), v.root
	for k > 0 {
		list := v.nodes.children(id)
		switch v.nodes.kind(id) {
		case kindCall:
			k-- // its enter
			sum += n.own(v, id)
		case kindRepeat:
			times := min(k/x.events[list[0]], v.nodes.count(id))
			sum += times * n[list[0]]
			if k -= times * x.events[list[0]]; times == v.nodes.count(id) {
				list = nil
			}
		}
		inner := uint32(0)
		for _, c := range list {
			if x.events[c] > k {
				inner = c
				break
			}
			sum += n[c]
			k -= x.events[c]
		}
		if inner == 0 { // before a leave, or at the end
			return sum
		}
		id = inner
	}
	return sum
}

// find returns where the one of number k is, k below the root's count: its node,
// the number of its event, and the calls around it. Each node must have one or
// none itself.
func (n tally) find(x *Index, k uint64) (id uint32, event uint64, depth int) {
	v := x.loc.view
	for id = v.root; ; {
		if own := n.own(v, id); own > k {
			return id, event, depth
		} else {
			k -= own
		}
		list := v.nodes.children(id)
		switch v.nodes.kind(id) {
		case kindCall:
			event++
			depth++
		case kindRepeat:
			times := k / n[list[0]]
			k -= times * n[list[0]]
			event += times * x.events[list[0]]
		}
		for _, c := range list {
			if n[c] > k {
				id = c
				break
			}
			k -= n[c]
			event += x.events[c]
		}
	}
}

// along returns, for each call that is open before a cursor, what lies before its
// enter: O(depth * fan).
func (n tally) along(c *Cursor) []uint64 {
	v := c.x.loc.view
	var list []uint64
	sum := uint64(0)
	for i := range c.stack {
		r := &c.stack[i]
		if r.kind == kindCall {
			list = append(list, sum)
			sum += n.own(v, r.id)
		}
		if i == len(c.stack)-1 {
			break
		}
		if r.kind == kindRepeat {
			sum += (r.at - 1) * n[c.childAt(r, 0)]
			continue
		}
		for j := range r.at - 1 {
			sum += n[c.childAt(r, j)]
		}
	}
	return list
}
