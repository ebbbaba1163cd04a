// Package receivelog reads the receive log of an MPI process: what it got from the MPI library, call by call, as
// coppice record --log-ranks writes it. The format is in docs/format/log.md.
//
//	r, err := receivelog.OpenPath(path)
//	for {
//		call, err := r.Next()
//		if err != nil { // io.EOF at the end, ErrCut where the process was killed
//			break
//		}
//		// call.Function.Name, call.Outputs; call.Times is more than 1 for a call that was repeated
//	}
//	end, ok := r.End()
//	r.Close()
//
// A log is read once, from its beginning. Every block is checked before anything of it is used. Of a payload the reader says only
// where it is in the stream. Memory: one block, and the outputs of one call without payloads.
package receivelog
