package ccg

// keyed keeps values by key, in the order in which the keys came, and finds them by the index. The caller gives the hash of a
// key, which counts with its lower half.
type keyed[K comparable, V any] struct {
	list  []pair[K, V]
	index index // of places in list, + 1
}

type pair[K comparable, V any] struct {
	key K
	val V
}

func (t *keyed[K, V]) reset() {
	t.list = t.list[:0]
	t.index.reset()
}

// find returns the place of a key in list: a new one, with a zero value, if there is none.
func (t *keyed[K, V]) find(h uint64, k K) (place int, added bool) {
	if slots := t.index.slots; len(slots) > 0 {
		for i := int(uint32(h)); ; i++ {
			x := slots[i&(len(slots)-1)]
			if uint32(x>>32) == uint32(h) && x != 0 && t.list[uint32(x)-1].key == k {
				return int(uint32(x)) - 1, false
			}
			if x == 0 {
				break
			}
		}
	}
	return t.add(h, k), true
}

func (t *keyed[K, V]) add(h uint64, k K) (place int) {
	t.index.reserve()
	i := t.index.start(h)
	for t.index.slots[i] != 0 {
		i = t.index.next(i)
	}
	t.list = append(t.list, pair[K, V]{key: k})
	t.index.put(i, h, uint32(len(t.list)))
	return len(t.list) - 1
}
