// Package inspect says what a file is, what it contains, and whether it is sound: traces, results, receive logs and status files
// of jobs, for coppice info and coppice check.
//
//	kind, head, err := inspect.Recognise(path)
//	r, clean, err := inspect.Check(path, kind, runtime.NumCPU(), nil)
//	err = r.Text(os.Stdout, 20) // or r.Envelope.WriteJSON(os.Stdout, r.Brief, "check", r.Value)
//
// Check decodes every location of a trace to its end and judges each alone. Of a result it reads every page, the call graph, and
// what package report/verify compares. Of a result that does not open it lists the readable parts. A check holds the stack of
// open calls and the first findings of each location.
package inspect
