package stats

import "github.com/coppice-hpc/coppice/trace"

// unread counts the records of a kind that no analysis reads: trace.Kind.Unread.
type unread struct {
	count uint64
	first uint64 // time of the first, ticks since the origin
	event uint64 // its number
}

// census counts records that leave no row: of each kind that no analysis reads, and samples.
type census struct {
	at      *location
	unread  [256]unread // by kind of record
	samples unread
	seen    uint64 // time of the newest record of a calling context
}

func (c *census) countUnread(k trace.Kind) {
	u := &c.unread[k]
	if u.count == 0 {
		u.first, u.event = c.at.now, c.at.event
	}
	u.count++
}

// reportUnread adds one diagnostic for each kind that was counted.
func (c *census) reportUnread() {
	if u := &c.samples; u.count > 0 {
		c.at.diags.Add(trace.Diagnostic{Code: trace.DiagSampled, Time: trace.Time(u.first), Event: u.event, Count: u.count})
	}
	for k := range c.unread {
		if u := &c.unread[k]; u.count > 0 {
			c.at.diags.Add(trace.Diagnostic{Code: trace.UnreadCode(trace.Kind(k)), Time: trace.Time(u.first), Event: u.event, Count: u.count})
		}
	}
}
