package otf2

import "github.com/coppice-hpc/coppice/trace"

// Limits of one batch. Events and words of a full batch stay in the second
// level cache. A record longer than the words left is still delivered whole.
const (
	batchEvents = 2048
	batchWords  = 4096
	leastEvents = 16 // a batch with room for fewer gets its own memory
	spareWords  = 16 // a batch with fewer words left is full
)

// Control items of event files besides records and end marks.
const (
	idTime       = 0x05
	idAttributes = 0x06
	firstRecord  = 0x0A // smaller ids are control items
)

// The fast path decodes records that with their time stamp take less than margin
// bytes, and not near the end of a window.
const (
	margin    = 64
	stampSize = 9 // of a time stamp, which may precede a record
)

// decoder turns the bytes of a chunk into events. The window buf holds data up
// to end; final tells that no data follow.
type decoder struct {
	buf   []byte
	pos   int
	end   int
	final bool // the window reaches the end of the chunk
	last  bool // the chunk is the file's last
	big   bool
	quick bool // the fast path can decode this chunk

	loc   *local
	iv    *interval  // clock interval of the current time
	now   trace.Time // corrected, never below its predecessor
	high  trace.Time // the next chunk starts here: times must not rise above
	timed bool       // a time stamp was read

	pending []uint64 // attribute list read for the next event: two words each
	listed  bool
	number  uint64 // events of the stream before the next one
	report  report
	mark    uint8 // end mark that was met, 0xFF for none
}
