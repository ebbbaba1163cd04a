package build

// memory returns the bytes that a builder holds, as the package comment adds them up.
func (b *Builder) memory() uint64 {
	l := &b.list
	n := b.store.Memory() + b.tuples.Memory()
	n += 24*uint64(cap(l.entries)) + 4*uint64(cap(l.last)) + 8*uint64(cap(l.bodies)) + 16*uint64(len(l.bodyOf))
	n += uint64(cap(b.frames))*56 + 32*uint64(cap(b.levels)) + 4*uint64(cap(b.carried)+cap(b.ids)+cap(b.packed)) + 8*uint64(cap(b.enters)+cap(b.words))
	n += uint64(cap(b.gaps) + cap(b.split.values) + cap(b.split.payload))
	return n + 4*uint64(cap(b.known.calls)+cap(b.known.lists)+cap(b.known.leaves))
}
