package recording

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// fatal is a signal, or an error of MPI, that may have ended a process: a handler may have let it go on.
type fatal struct {
	what   string // as trace.DescribeFatal has it, "" for none
	thread int    // of the recording, -1 for another one
	t      uint64
	site   site // where the thread was
}

// signals are the names of those that the recorder looks for, by their numbers, which are the same on x86-64, ARM and POWER.
var signals = map[int]string{
	4: "SIGILL (illegal instruction)", 5: "SIGTRAP (trap)", 6: "SIGABRT (abort)", 7: "SIGBUS (bus error)",
	8: "SIGFPE (arithmetic error)", 11: "SIGSEGV (segmentation fault)", 31: "SIGSYS (bad system call)",
}

// addSignal reads a line of numbers, and a line for each address.
func (p *process) addSignal(text string) bool {
	var x fatal
	var number int
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if n, err := fmt.Sscanf(lines[0], "%d %d %d", &number, &x.thread, &x.t); n != 3 || err != nil || len(lines) > maxFrames+1 {
		return false
	}
	x.what = trace.UnfinishedSignal + cmp.Or(signals[number], strconv.Itoa(number))
	if words := strings.SplitN(lines[0], " ", 4); number == 0 {
		x.what = trace.UnfinishedError + `"` + strings.ReplaceAll(words[len(words)-1], `"`, "") + `"`
	}
	for _, line := range lines[1:] {
		offset, path, ok := strings.Cut(line, " ")
		n, err := strconv.ParseUint(offset, 16, 64)
		if !ok || err != nil {
			return false
		}
		if ofRecorder(path) && len(x.site.frames) > 0 { // it called what raised the signal
			continue
		}
		a := Address{Module: path, Offset: n}
		for _, m := range p.modules {
			if m.Module == path {
				a.ID = m.ID
			}
		}
		x.site.frames = append(x.site.frames, a)
	}
	p.signal = x
	return true
}

// survived reports whether the thread of a signal recorded anything after it.
func (p *process) survived() bool {
	if p.signal.thread < 0 || p.signal.thread >= len(p.files) {
		return false
	}
	f, on := &p.files[p.signal.thread], false
	err := p.eachWindow(f, max(f.first, windows(f.size)-2), func(_ int, r *reader) { // the last window may be one that was prepared and never used
		for x := range r.events {
			on = on || x.t > p.signal.t
		}
	})
	return err == nil && on
}

// ending says which signal or error ended the process, and where; "" if none did.
func (s *Source) ending(p *process) string {
	if p.signal.what == "" || p.ended != 0 || p.survived() {
		return ""
	}
	var frames []string
	if len(p.signal.site.frames) > 0 {
		frames, _ = p.signal.site.described(s.names)
		for i, frame := range frames { // of a library only the function that was called, not the place in it
			if name, _, ok := strings.Cut(strings.TrimPrefix(frame, "P"), "+0x"); ok && strings.HasPrefix(name, "MPI_") {
				frames[i] = name
			}
		}
	}
	return trace.DescribeFatal(p.signal.what, slices.Compact(frames)) // a recursion counts as one frame
}
