package report

// PatternName is the name of the pattern of a WAIT row, as in documents.
func PatternName(pattern uint32) string { return patternName(pattern) }

// OrderName says which kind of wrong order a late sender is, same or different; ""
// for none.
func OrderName(pattern uint32) string { return orderName(pattern) }

// IsCompletion reports whether a pattern is a span at the end of a collective,
// which is no wait for a partner.
func IsCompletion(pattern uint32) bool { return completion(pattern) }

// ActivityName is the name of an activity in CPATH rows, as in documents.
func ActivityName(activity uint32) string { return activityName(activity) }

// Label is the interval's name for people.
func (i *Interval) Label() string { return i.label }

// Node is the number of the interval in the file.
func (i *Interval) Node() uint32 { return uint32(i.index) }

// CallPaths are the call paths that waits and causes refer to. Memory: 8 bytes
// each.
type CallPaths struct{ p *callPaths }

// CallPaths reads them.
func (r *Run) CallPaths() (*CallPaths, error) {
	p, err := r.callPaths()
	return &CallPaths{p}, err
}

// Region is the reference of the innermost region of a path, trace.Undefined
// outside of all calls.
func (p *CallPaths) Region(id uint32) uint32 { return p.p.region(id) }

// Names are the names of the path's regions, outermost first.
func (p *CallPaths) Names(id uint32) []string { return p.p.names(id) }
