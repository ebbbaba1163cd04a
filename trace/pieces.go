package trace

// pieces tells the frames of a thread's own code between two recorded events that enter or leave calls without a calling context.
// A sample covers a period of its timer, but such a piece may be shorter. So the path of its first sample holds from the begin of
// its piece on. It holds in later pieces without a sample between the same two calls too, until these and the first one add up to
// the periods of the samples. Where a sample is more than a period away, the thread did not run all the time: nothing is told
// then.
//
// Memory: mostPieces entries. Pieces without a sample add at most mostAdded events for each event of the location, and the events
// of one path.
type pieces struct {
	period int64 // of the timer, in ticks; 0 where it is not known
	open   bool
	from   Time // when the piece that is open began
	begun  pieceEnd
	newest pieceSample
	count  int64 // of its samples
	since  Time  // from when on their paths hold
	spare  int64 // events that may be added
	known  map[[2]pieceEnd]*pieceSample
}

// pieceEnd is an event that ends a piece, or begins one.
type pieceEnd struct {
	kind   Kind
	region uint32
}

// pieceSample is the newest sample of pieces between the same ends.
type pieceSample struct {
	context  uint32
	distance uint64
	left     int64 // ticks that samples cover and that no piece has used yet; negative where pieces used more
}

// Bounds of what pieces cost.
const (
	mostPieces  = 1 << 12 // kinds of pieces
	mostAdded   = 4       // events for each
	leastPiece  = 64      // such a part of a period is the shortest piece that has frames without a sample
	mostLeft    = 4       // periods
	mostPeriod  = 1 << 40 // ticks
	mostSamples = 1 << 16
)

// begin notes that a piece begins after an event.
func (p *pieces) begin(e *Event) {
	p.open, p.from, p.begun, p.count = true, e.Time, pieceEnd{e.Kind, e.Ref}, 0
}

// sample notes one, and returns since when its path holds: since the event before it, where that is so.
func (p *pieces) sample(context uint32, distance uint64, at, prior Time) Time {
	if p.count == 0 {
		p.since = at
		if p.open && at-p.from <= Time(p.period) {
			p.since = prior
		}
		at = p.since
	}
	p.newest.context, p.newest.distance = context, distance
	p.count = min(p.count+1, mostSamples)
	return at
}

// end notes that a piece ends before an event, and that the path of its newest sample holds until then. It returns the sample
// whose path holds for a piece without a sample, or nil.
func (p *pieces) end(e *Event, until Time) *pieceSample {
	if !p.open || p.period == 0 {
		return nil
	}
	p.open = false
	key := [2]pieceEnd{p.begun, {e.Kind, e.Ref}}
	s := p.known[key]
	if p.count == 0 {
		span := e.Time - p.from
		if s == nil || p.spare < 0 || span > Time(max(s.left, 0)) || span < Time(p.period/leastPiece) {
			return nil
		}
		s.left -= int64(span)
		return s
	}
	if s == nil {
		if len(p.known) == mostPieces {
			return nil
		}
		if p.known == nil {
			p.known = map[[2]pieceEnd]*pieceSample{}
		}
		s = new(pieceSample)
		p.known[key] = s
	}
	s.context, s.distance = p.newest.context, p.newest.distance
	s.left += p.count*p.period - int64(min(until-p.since, 2*mostSamples*mostPeriod))
	s.left = min(max(s.left, -p.period), mostLeft*p.period)
	return nil
}
