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

// find returns the place of a key in list: a new one, with a zero value, if there is none.
func (t *keyed[K, V]) find(h uint64, k K) (place int, added bool) {
	if n := t.index.find(h, func(n uint32) bool { return t.list[n-1].key == k }); n != 0 {
		return int(n) - 1, false
	}
	t.list = append(t.list, pair[K, V]{key: k})
	t.index.put(h, uint32(len(t.list)))
	return len(t.list) - 1, true
}
