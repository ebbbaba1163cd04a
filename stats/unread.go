package stats

import "github.com/coppice-hpc/coppice/trace"

// unread counts the records of a kind that no analysis reads: trace.Kind.Unread.
type unread struct {
	count uint64
	first uint64 // time of the first, ticks since the origin
	event uint64 // its number
}

func (l *Loader) countUnread(k trace.Kind) {
	u := &l.unread[k]
	if u.count == 0 {
		u.first, u.event = l.now, l.event
	}
	u.count++
}

// reportUnread adds one diagnostic for each kind that was counted.
func (l *Loader) reportUnread() {
	if u := &l.samples; u.count > 0 {
		l.diags.Add(trace.Diagnostic{Code: trace.DiagSampled, Time: trace.Time(u.first), Event: u.event, Count: u.count})
	}
	for k := range l.unread {
		if u := &l.unread[k]; u.count > 0 {
			l.diags.Add(trace.Diagnostic{Code: trace.UnreadCode(trace.Kind(k)), Time: trace.Time(u.first), Event: u.event, Count: u.count})
		}
	}
}
