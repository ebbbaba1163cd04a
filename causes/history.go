package causes

import (
	"cmp"
	"slices"
)

// term is time of a location in one activity on one call path of an interval.
type term struct {
	key   uint64 // path<<3 | activity
	node  uint32
	ticks uint64
}

func termKey(path, activity uint32) uint64 { return uint64(path)<<3 | uint64(activity) }

func (t *term) activity() uint32 { return uint32(t.key & 7) }

func compareTerms(a, b term) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.node, b.node))
}

// history holds the running totals of a location, and what they were at instants
// that are still needed: those of the last synchronisation with each partner
// that will synchronise again.
//
// A total keeps a version for an instant only when it changes after it, and only
// one for all needed instants between two changes. Memory: 60 bytes per total,
// and 16 for each pair of a total and a needed instant after which it changed, at
// most; versions that no instant needs are dropped when they are half of all.
type history struct {
	index  map[slotKey]int32
	slots  []slot
	newest int32         // the slot that changed last, then those that changed before it
	held   []heldInstant // ascending; those without holds are dropped when they are half of all
	live   int           // of held, with holds
	last   uint64        // the newest instant that was held
	kept   int           // versions
	limit  int           // versions at which those not needed are dropped
	byKey  []int32       // slots in the order of their keys, but for newer ones
}

type slotKey struct {
	key  uint64
	node uint32
}

type slot struct {
	slotKey
	total      uint64
	changed    uint64 // instant of the last change
	versions   []version
	next, prev int32
}

// heldInstant is an instant and how often it is held.
type heldInstant struct {
	at    uint64
	holds int
}

// version is the total at an instant.
type version struct{ at, total uint64 }

const noSlot int32 = -1

func newHistory() *history {
	return &history{index: map[slotKey]int32{}, newest: noSlot, limit: 1 << 10}
}

func (h *history) reset() {
	clear(h.index)
	h.held, h.live = h.held[:0], 0
	h.slots, h.byKey, h.newest, h.last, h.kept, h.limit = h.slots[:0], h.byKey[:0], noSlot, 0, 0, 1<<10
}

// slot returns the number of a total.
func (h *history) slot(key uint64, node uint32) int32 {
	k := slotKey{key, node}
	i, ok := h.index[k]
	if !ok {
		i = int32(len(h.slots))
		h.index[k] = i
		h.slots = append(h.slots, slot{slotKey: k, next: noSlot, prev: noSlot})
	}
	return i
}

// add adds ticks up to the instant now to a total. Instants do not decrease.
func (h *history) add(i int32, ticks, now uint64) {
	s := &h.slots[i]
	if n := len(s.versions); h.last > 0 && (n == 0 || s.versions[n-1].at < h.last) && h.live > 0 {
		s.versions = append(s.versions, version{h.last, s.total})
		if h.kept++; h.kept > h.limit {
			h.compact()
		}
	}
	s.total += ticks
	s.changed = now
	h.front(i)
}

// front makes slot i the one that changed last.
func (h *history) front(i int32) {
	if h.newest == i {
		return
	}
	s := &h.slots[i]
	if s.prev != noSlot {
		h.slots[s.prev].next = s.next
	}
	if s.next != noSlot {
		h.slots[s.next].prev = s.prev
	}
	s.prev, s.next = noSlot, h.newest
	if h.newest != noSlot {
		h.slots[h.newest].prev = i
	}
	h.newest = i
}

// hold keeps the totals as they are at the instant now until release.
func (h *history) hold(now uint64) {
	n := len(h.held)
	if n == 0 || h.held[n-1].at != now {
		h.held = append(h.held, heldInstant{at: now})
		n++
	}
	if h.held[n-1].holds++; h.held[n-1].holds == 1 {
		h.live++
	}
	h.last = now
}

// release ends one hold of an instant.
func (h *history) release(at uint64) {
	i, ok := slices.BinarySearchFunc(h.held, at, func(x heldInstant, at uint64) int { return cmp.Compare(x.at, at) })
	if !ok || h.held[i].holds == 0 {
		return
	}
	if h.held[i].holds--; h.held[i].holds > 0 {
		return
	}
	if h.live--; len(h.held) > 2*h.live+64 {
		h.held = slices.DeleteFunc(h.held, func(x heldInstant) bool { return x.holds == 0 })
	}
}

// since appends what was added after the instant at, which is held or 0, in the
// order of the keys.
func (h *history) since(dst []term, at uint64) []term {
	first, few := len(dst), len(h.slots)/sortedShare
	for i := h.newest; i != noSlot && h.slots[i].changed > at; i = h.slots[i].next {
		if len(dst)-first > few { // passing all in their order is faster than sorting
			return h.ordered(dst[:first], at)
		}
		dst = h.slots[i].since(dst, at)
	}
	slices.SortFunc(dst[first:], compareTerms)
	return dst
}

// sortedShare is the part of all totals, as a fraction, up to which those that
// changed are sorted.
const sortedShare = 16

// ordered is since, by way of all totals.
func (h *history) ordered(dst []term, at uint64) []term {
	if len(h.byKey) < len(h.slots) {
		for i := len(h.byKey); i < len(h.slots); i++ {
			h.byKey = append(h.byKey, int32(i))
		}
		slices.SortFunc(h.byKey, func(a, b int32) int {
			x, y := &h.slots[a], &h.slots[b]
			return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.node, y.node))
		})
	}
	for _, i := range h.byKey {
		if h.slots[i].changed > at {
			dst = h.slots[i].since(dst, at)
		}
	}
	return dst
}

// since appends what was added to a total after an instant, unless that is 0.
func (s *slot) since(dst []term, at uint64) []term {
	if v := s.total - s.at(at); v > 0 {
		dst = append(dst, term{s.key, s.node, v})
	}
	return dst
}

// of returns what was added to one total after the instant at.
func (h *history) of(i int32, at uint64) uint64 { return h.slots[i].total - h.slots[i].at(at) }

// at returns the total at a held instant; at the start it was 0.
func (s *slot) at(t uint64) uint64 {
	if t == 0 {
		return 0
	}
	total, n := s.total, len(s.versions)
	for near := max(n-nearVersions, 0); n > near; n-- { // what is asked for is mostly recent
		v := &s.versions[n-1]
		if v.at < t {
			return total
		}
		total = v.total
	}
	lo, hi := 0, n
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); s.versions[mid].at < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < n {
		return s.versions[lo].total
	}
	return total
}

// nearVersions are looked through one by one.
const nearVersions = 8

// compact drops versions that no held instant needs: one is needed by the held
// instants after the version before it.
func (h *history) compact() {
	h.held = slices.DeleteFunc(h.held, func(x heldInstant) bool { return x.holds == 0 })
	h.kept = 0
	for i := range h.slots {
		s := &h.slots[i]
		kept, before := s.versions[:0], uint64(0)
		for _, v := range s.versions {
			k, _ := slices.BinarySearchFunc(h.held, before+1, func(x heldInstant, at uint64) int { return cmp.Compare(x.at, at) })
			if k < len(h.held) && h.held[k].at <= v.at {
				kept = append(kept, v)
			}
			before = v.at
		}
		s.versions = kept
		h.kept += len(kept)
	}
	h.limit = max(1<<10, 2*h.kept)
}
