package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coppice-hpc/coppice/trace"
	"github.com/coppice-hpc/coppice/trace/otf2"
	"github.com/google/go-cmp/cmp"
)

// law is a change of an archive that may not change what is found in it.
type law struct {
	name   string
	define func(d *trace.Definitions)                            // changes the definitions
	event  func(d *trace.Definitions, p trace.P, e *trace.Event) // changes an event; nil: none
	keep   func(d *trace.Definitions, e *trace.Event) bool       // of the events, those that stay; nil: all
	word   func(text string) string                              // undoes the change in texts; nil: there is none
	drop   []string                                              // members of documents that change
}

// rewritten writes an archive that a law has changed, and returns its folder.
func (l *law) rewritten(t *testing.T, archive string) string {
	t.Helper()
	src, err := otf2.OpenPath(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b, err := src.Definitions().AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &trace.Definitions{}
	if err := d.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	l.define(d)
	d.Seal()
	dir := t.TempDir()
	w, err := otf2.Create(dir, "traces", d, otf2.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range trace.P(d.NumLocations()) {
		to, err := w.Location(p)
		if err != nil {
			t.Fatal(err)
		}
		if from, ok := src.Definitions().Ordinal(d.Location(p).Ref); ok {
			err = otf2.EachBatch(src, from, &trace.Diagnostics{}, func(b *trace.Batch) error {
				b.Events = slices.DeleteFunc(b.Events, func(e trace.Event) bool { return l.keep != nil && !l.keep(d, &e) })
				for i := range b.Events {
					if l.event != nil {
						l.event(d, p, &b.Events[i])
					}
				}
				return to.Add(b)
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// found is what reports say of an archive, without what depends on its bytes and on the numbers of its definitions.
func (l *law) found(t *testing.T, archive string, changed bool) any {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run.xtf")
	if code, _, errs := call("analyze", archive, "-o", run, "-q", "-j", "2"); code != 0 && code != 4 {
		t.Fatalf("analyze: exit code %d\n%s", code, errs)
	}
	drop := append([]string{"file", "query", "provenance", "region", "communicator"}, l.drop...)
	var clean func(v any) any
	clean = func(v any) any {
		switch x := v.(type) {
		case string:
			if changed && l.word != nil {
				return l.word(x)
			}
		case []any:
			for i := range x {
				x[i] = clean(x[i])
			}
		case map[string]any:
			for k := range x {
				if slices.Contains(drop, k) && (k != "file" || isObject(x[k])) {
					delete(x, k)
				} else {
					x[k] = clean(x[k])
				}
			}
		}
		return v
	}
	var docs []any
	for _, args := range [][]string{{"report", run, "summary", "waits", "profile", "paths"}, {"levers", run, "-q"}} {
		code, out, errs := call(append(args, "--format", "json")...)
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 && code != 4 {
			t.Fatalf("%s: exit code %d, %v\n%s", args[0], code, err, errs)
		}
		docs = append(docs, clean(v))
	}
	return docs
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

// monitored adds a process without events, such as a monitor of the host.
func monitored(d *trace.Definitions) {
	d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: 1 << 20, Name: trace.Undefined, Type: trace.ProcessGroup, Parent: d.LocationGroups[0].Parent, Creator: trace.Undefined})
	d.Locations = append(d.Locations, trace.Location{Ref: 1 << 40, Name: trace.Undefined, Type: trace.CPUThread, Group: 1 << 20})
}

// TestLaws changes real archives in ways that say nothing else about the run, and wants the same findings.
func TestLaws(t *testing.T) {
	t.Parallel()
	traces := sharedTraces(t)
	for _, l := range []law{
		{
			// Some writers do not join the definitions of processes.
			name: "regions of each location",
			define: func(d *trace.Definitions) {
				own := slices.Clone(d.Regions)
				next := uint32(0)
				for _, r := range own {
					next = max(next, r.Ref+1)
				}
				for range d.NumLocations() {
					for _, r := range own {
						r.Ref += next * uint32(len(d.Regions)/len(own))
						d.Regions = append(d.Regions, r)
					}
				}
			},
			event: func(d *trace.Definitions, p trace.P, e *trace.Event) {
				if e.Kind == trace.Enter || e.Kind == trace.Leave {
					n := len(d.Regions) / (d.NumLocations() + 1)
					i, _ := d.RegionIndex(e.Ref)
					e.Ref = d.Regions[n*int(p)+i].Ref
				}
			},
		},
		{
			name: "names as TAU writes them",
			define: func(d *trace.Definitions) {
				for i := range d.Strings {
					if s := &d.Strings[i]; strings.HasPrefix(s.Value, "MPI_") && s.Value != strings.ToUpper(s.Value) {
						s.Value += "()"
					}
				}
			},
			word: func(text string) string { return strings.ReplaceAll(text, "()", "") },
		},
		{
			name:   "a process without MPI",
			define: monitored,
			drop:   []string{"processes", "locations", "min_exclusive", "cannot_tell"},
		},
		{
			name: "locations of no type",
			define: func(d *trace.Definitions) {
				for i := range d.Locations {
					d.Locations[i].Type = trace.UnknownLocation
				}
			},
		},
		{
			name: "devices without work",
			define: func(d *trace.Definitions) {
				for i, p := range d.Processes() {
					ref := uint32(1<<20 + i)
					d.LocationGroups = append(d.LocationGroups, trace.LocationGroup{Ref: ref, Name: trace.Undefined, Type: trace.AcceleratorGroup, Parent: trace.Undefined, Creator: p.Group})
					d.Locations = append(d.Locations, trace.Location{Ref: 1<<40 + uint64(i), Name: trace.Undefined, Type: trace.AcceleratorStream, Group: ref})
				}
			},
			drop: []string{"devices", "locations", "cannot_tell"},
		},
	} {
		for _, name := range []string{"pingpong-scorep71", "stencil4d-32", "lulesh-8", "npb-lu.S-func-4", "lammps-pppm-4"} {
			t.Run(l.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && name != "stencil4d-32" && name != "lulesh-8" {
					t.Skip("of five archives two are looked at with -short")
				}
				archive := filepath.Join(traces, name)
				want, got := l.found(t, archive, false), l.found(t, l.rewritten(t, archive), true)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("other findings (-want +got):\n%.4000s", diff)
				}
			})
		}
	}
}
