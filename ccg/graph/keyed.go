package graph

// Keyed stores values by key, in the order in which keys were added, with a hash index. The caller computes the hash of a key; its lower
// half is used.
type Keyed[K comparable, V any] struct {
	List  []Pair[K, V]
	index index // of places in List, + 1
}

// Pair is a key with its value.
type Pair[K comparable, V any] struct {
	Key K
	Val V
}

// Find returns the place of a key in List. It adds the key with a zero value if there is none.
func (t *Keyed[K, V]) Find(h uint64, k K) (place int, added bool) {
	if n := t.index.find(h, func(n uint32) bool { return t.List[n-1].Key == k }); n != 0 {
		return int(n) - 1, false
	}
	t.List = append(t.List, Pair[K, V]{Key: k})
	t.index.put(h, uint32(len(t.List)))
	return len(t.List) - 1, true
}
