package tracetest

import "github.com/coppice-hpc/coppice/trace"

// Severity returns the highest grade found, and false if there is nothing.
func Severity(ds *trace.Diagnostics) (s trace.Severity, found bool) {
	for i := range ds.Codes {
		s = max(s, ds.Codes[i].Code.Severity())
	}
	return s, len(ds.Codes) > 0
}

// Untold reports whether a code counts what no analysis reads, and so says nothing
// about faults of the trace.
func Untold(c trace.Code) bool {
	switch c {
	case trace.DiagNoCollRecord, trace.DiagNoRecord, trace.DiagSampled, trace.DiagSampleGap, trace.DiagNoBytes, trace.DiagCanceledSend, trace.DiagCanceledRecv, trace.DiagOff, trace.DiagNoCall:
		return true
	}
	_, unread := c.Unread()
	return unread
}
