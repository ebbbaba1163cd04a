package simnet

// pairs holds the messages of collective operations that are under way, by communicator and the two processes. Between two
// processes they come in the order sent. The memory is that of messages under way, 40 bytes or two to three times that.
type pairs struct {
	table []pairEntry // of a power of two, open addressing without tombstones
	used  int
	more  map[pairKey][]pairMessage // behind the first message
}

type pairKey struct{ comm, src, dst uint32 }

type pairMessage struct {
	arrival int64
	bytes   uint64
}

// pairEntry is the oldest message of a pair, or the note that its destination waits.
type pairEntry struct {
	pairMessage
	key   pairKey
	state pairState
	more  bool
}

type pairState uint8

const (
	pairEmpty pairState = iota
	pairHolds
	pairAwaited
)

func (k pairKey) hash() uint32 {
	h := uint64(k.src)<<32 | uint64(k.dst)
	h = (h ^ uint64(k.comm)*0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
	return uint32(h >> 32)
}

// find returns the place of a key, or the empty one where it belongs.
func (t *pairs) find(k pairKey) uint32 {
	mask := uint32(len(t.table) - 1)
	i := k.hash() & mask
	for t.table[i].state != pairEmpty && t.table[i].key != k {
		i = (i + 1) & mask
	}
	return i
}

// put adds a message, and reports whether its destination waits for it.
func (t *pairs) put(k pairKey, m pairMessage) bool {
	t.reserve()
	e := &t.table[t.find(k)]
	switch e.state {
	case pairHolds:
		if t.more == nil {
			t.more = map[pairKey][]pairMessage{}
		}
		t.more[k], e.more = append(t.more[k], m), true
		return false
	case pairEmpty:
		t.used++
	}
	awaited := e.state == pairAwaited
	*e = pairEntry{pairMessage: m, key: k, state: pairHolds}
	return awaited
}

// get removes the oldest message of a pair. Where there is none it notes that it is awaited.
func (t *pairs) get(k pairKey) (pairMessage, bool) {
	t.reserve()
	i := t.find(k)
	e := &t.table[i]
	if e.state != pairHolds {
		if e.state == pairEmpty {
			t.used++
		}
		*e = pairEntry{key: k, state: pairAwaited}
		return pairMessage{}, false
	}
	m := e.pairMessage
	if !e.more {
		t.remove(i)
		return m, true
	}
	rest := t.more[k]
	e.pairMessage = rest[0]
	if len(rest) > 1 {
		t.more[k] = rest[1:]
	} else {
		delete(t.more, k)
		e.more = false
	}
	return m, true
}

// reserve keeps half of the table empty.
func (t *pairs) reserve() {
	if 2*(t.used+1) <= len(t.table) {
		return
	}
	old := t.table
	t.table = make([]pairEntry, max(64, 2*len(old)))
	for i := range old {
		if old[i].state != pairEmpty {
			t.table[t.find(old[i].key)] = old[i]
		}
	}
}

// remove empties place i and closes the gap (Knuth, volume 3, 6.4, algorithm R).
func (t *pairs) remove(i uint32) {
	mask := uint32(len(t.table) - 1)
	t.used--
	for j := i; ; {
		t.table[i] = pairEntry{}
		for {
			j = (j + 1) & mask
			if t.table[j].state == pairEmpty {
				return
			}
			if home := t.table[j].key.hash() & mask; (j-home)&mask >= (j-i)&mask {
				break
			}
		}
		t.table[i] = t.table[j]
		i = j
	}
}
