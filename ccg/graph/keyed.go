package graph

// Keyed keeps values by key, in the order in which the keys came, and finds them by the index. The caller gives the hash of a
// key, which counts with its lower half.
type Keyed[K comparable, V any] struct {
	List  []Pair[K, V]
	index index // of places in list, + 1
}

// Pair is a key with its value.
type Pair[K comparable, V any] struct {
	Key K
	Val V
}

// Find returns the place of a key in list: a new one, with a zero value, if there is none.
func (t *Keyed[K, V]) Find(h uint64, k K) (place int, added bool) {
	if n := t.index.find(h, func(n uint32) bool { return t.List[n-1].Key == k }); n != 0 {
		return int(n) - 1, false
	}
	t.List = append(t.List, Pair[K, V]{Key: k})
	t.index.put(h, uint32(len(t.List)))
	return len(t.List) - 1, true
}
