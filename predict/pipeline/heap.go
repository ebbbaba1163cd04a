package pipeline

// heap is a binary heap, whose first entry is at 0. before orders entries; moved, where there is one, learns where an entry is now.
type heap[T any] struct {
	list   []T
	before func(a, b T) bool
	moved  func(x T, place int)
}

func (h *heap[T]) set(i int, x T) {
	h.list[i] = x
	if h.moved != nil {
		h.moved(x, i)
	}
}

// fix restores the heap after the entry at place i changed.
func (h *heap[T]) fix(i int) {
	x := h.list[i]
	for i > 0 && h.before(x, h.list[(i-1)/2]) {
		h.set(i, h.list[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		c := 2*i + 1
		if c+1 < len(h.list) && h.before(h.list[c+1], h.list[c]) {
			c++
		}
		if c >= len(h.list) || !h.before(h.list[c], x) {
			break
		}
		h.set(i, h.list[c])
		i = c
	}
	h.set(i, x)
}

func (h *heap[T]) push(x T) {
	h.list = append(h.list, x)
	h.fix(len(h.list) - 1)
}

// remove takes out the entry at place i.
func (h *heap[T]) remove(i int) T {
	x, last := h.list[i], len(h.list)-1
	h.list[i] = h.list[last]
	if h.list = h.list[:last]; i < last {
		h.fix(i)
	}
	return x
}
