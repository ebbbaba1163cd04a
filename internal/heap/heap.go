// Package heap keeps entries in a binary heap, with the first one in an order on top.
//
//	h := heap.Heap[int]{Before: func(a, b int) bool { return a < b }}
//	h.Push(7)
//	first := h.Pop()
package heap

// Heap is a binary heap. Its first entry is List[0]. Before orders entries. Moved, if it is set, is called with the new place of
// an entry that moved.
type Heap[T any] struct {
	List   []T
	Before func(a, b T) bool
	Moved  func(x T, place int)
}

func (h *Heap[T]) set(i int, x T) {
	h.List[i] = x
	if h.Moved != nil {
		h.Moved(x, i)
	}
}

// Fix restores the heap after the entry at place i changed.
func (h *Heap[T]) Fix(i int) {
	x := h.List[i]
	for i > 0 && h.Before(x, h.List[(i-1)/2]) {
		h.set(i, h.List[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		c := 2*i + 1
		if c+1 < len(h.List) && h.Before(h.List[c+1], h.List[c]) {
			c++
		}
		if c >= len(h.List) || !h.Before(h.List[c], x) {
			break
		}
		h.set(i, h.List[c])
		i = c
	}
	h.set(i, x)
}

// Push adds an entry.
func (h *Heap[T]) Push(x T) {
	h.List = append(h.List, x)
	h.Fix(len(h.List) - 1)
}

// Pop takes out the first entry.
func (h *Heap[T]) Pop() T { return h.Remove(0) }

// Remove takes out the entry at place i.
func (h *Heap[T]) Remove(i int) T {
	x, last := h.List[i], len(h.List)-1
	h.List[i] = h.List[last]
	if h.List = h.List[:last]; i < last {
		h.Fix(i)
	}
	return x
}
