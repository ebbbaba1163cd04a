package simnet

// postColl enters a collective operation.
func (w *worker) postColl(p *proc, _ *kind, _ *op) bool {
	w.fail(programError("call %d of process %d is a collective operation", p.calls-1, w.lo+w.me))
	return false
}

// gatherColl waits for a collective operation.
func (w *worker) gatherColl(p *proc, _ *kind, _ *op) verdict { return w.tooMany(p) }
