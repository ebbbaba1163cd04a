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
