package main

import (
	"encoding/json"
	"fmt"
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
	from   func(d *trace.Definitions, ref uint64) uint64         // of a location, the number of the one that has its events; nil: the same
	word   func(text string) string                              // undoes the change in texts; nil: there is none
	drop   []string                                              // members of documents that change
	with   []string                                              // options of analyze
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
		ref := d.Location(p).Ref
		if l.from != nil {
			ref = l.from(d, ref)
		}
		if from, ok := src.Definitions().Ordinal(ref); ok {
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
	if code, _, errs := call(append([]string{"analyze", archive, "-o", run, "-q", "-j", "2"}, l.with...)...); code != 0 && code != 4 {
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
	for _, args := range [][]string{{"report", run, "summary", "intervals", "waits", "profile", "paths"}, {"levers", run, "-q"}} {
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

const day = 86_400_000_000_000

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
		{
			name: "another day",
			define: func(d *trace.Definitions) {
				for i := range d.Clocks {
					d.Clocks[i].GlobalOffset += day
				}
			},
			event: func(_ *trace.Definitions, _ trace.P, e *trace.Event) { e.Time += day },
			with:  []string{"--slice-count", "5", "--recv-point", "post", "--clock-repair"},
		},
		{
			name: "locations numbered from the last one",
			define: func(d *trace.Definitions) {
				last := d.Locations[len(d.Locations)-1].Ref
				for i := range d.Locations {
					d.Locations[i].Ref = last - d.Locations[i].Ref
				}
				slices.Reverse(d.Locations)
				for i := range d.Groups {
					if g := &d.Groups[i]; g.Type == trace.GroupCommLocations {
						for k := range g.Members {
							g.Members[k] = last - g.Members[k]
						}
					}
				}
			},
			from: func(d *trace.Definitions, ref uint64) uint64 { return d.Locations[len(d.Locations)-1].Ref - ref },
			with: []string{"--slice", "100ms", "--init", "exclude", "--deviation", "10%"},
			drop: []string{"location"},
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

// TestLawsSlices cuts real archives into slices: what is counted in these adds up to the whole run, and a window of time that is
// a slice has what the slice has, but for what spans of time do not tell.
func TestLawsSlices(t *testing.T) {
	t.Parallel()
	type node struct {
		First int64 `json:"first_begin"`
		Last  int64 `json:"last_end"`
		Stats map[string]struct{ Sum int64 }
	}
	type doc struct{ Intervals struct{ Nodes []node } }
	for _, archive := range []string{"lulesh-8", "sweep3d-8", "npb-mg.S-func-4", "pingpong-papi-scorep71"} {
		run := filepath.Join(t.TempDir(), "run.xtf")
		must(t, "analyze", filepath.Join(sharedTraces(t), archive), "-o", run, "-q", "--markers", "none", "--slice-count", "5")
		nodes := jsonOf[doc](t, "report", run, "intervals", "--details").Intervals.Nodes
		whole, sums := nodes[0].Stats, map[string]int64{}
		for _, x := range nodes[1:] {
			window := jsonOf[doc](t, "report", run, "intervals", "--details", "--time", fmt.Sprintf("#%d..#%d", x.First, x.Last)).Intervals.Nodes[0].Stats
			for item, v := range x.Stats {
				sums[item] += v.Sum
				if w, ok := window[item]; ok && w != v || !ok && v.Sum > 0 && slices.Contains(ofWindows, item) {
					t.Errorf("%s, from %d: %s is %d in the slice, %d in the window", archive, x.First, item, v.Sum, w.Sum)
				}
			}
		}
		for item, v := range whole {
			if !strings.HasPrefix(item, "ideal") && !strings.HasSuffix(item, "_event") && item != "events" && item != "executions" && sums[item] != v.Sum {
				t.Errorf("%s: %s is %d, in slices %d together", archive, item, v.Sum, sums[item])
			}
		}
		if len(nodes) != 6 || whole["time"].Sum == 0 || whole["bytes_out"].Sum == 0 || whole["late_sender"].Sum == 0 {
			t.Errorf("%s: %d nodes, %v", archive, len(nodes), whole)
		}
	}
}

// ofWindows are components that a window of time has.
var ofWindows = []string{"time", "mpi", "cpu", "p2p", "collective_all", "barrier", "mgmt", "setup", "sends", "receives", "bytes_out", "bytes_in", "collectives", "late_sender", "late_receiver", "wait_nxn"}
