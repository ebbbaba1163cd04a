package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// document is what agree reads of a report.
type document struct {
	Processes, Locations int64
	Events               int64
	Summary              struct {
		Partial    bool
		Rows       bool
		Processors int64
		Ticks      map[string]json.RawMessage
		Stats      map[string]struct {
			Sum      json.Number
			Min, Max []json.Number
		}
	}
	Profile *struct {
		Bound                    *struct{} // of times from a lossy graph
		Time, Exclusive, Outside json.Number
		Regions                  []struct {
			Calls, Exclusive, Inclusive json.Number
			ExclusiveOff                json.Number `json:"exclusive_deviation"`
		}
	}
	Comm *struct {
		Messages, Bytes json.Number
		Matrix          []struct{ Messages, Bytes json.Number }
	}
	CCG *struct{ Events json.Number }
}

// number is an integer of a document; 0 where it is none.
func number(n json.Number) int64 {
	v, _ := strconv.ParseInt(n.String(), 10, 64)
	return v
}

// agree asks the report for sums that must agree: of processes and of the whole run, of the call graph and of the rows.
func (r *round) agree() {
	sections := []string{"summary", "profile", "comm", "ccg"}
	o := r.coppice(append(append([]string{"report", r.run}, sections...), "--format", "json")...)
	var d document
	if !r.expect(o, 0) || !r.decode(o, &d) {
		return
	}
	if d.Summary.Partial != (r.code == 4) && r.code != 1 {
		r.fail("%s: partial %t after exit code %d", o, d.Summary.Partial, r.code)
	}
	tick := func(name string) int64 {
		n, _ := strconv.ParseInt(string(d.Summary.Ticks[name]), 10, 64)
		return n
	}
	equal := func(what string, a, b int64) {
		if a != b {
			r.fail("%s: %s: %d and %d", o, what, a, b)
		}
	}
	sum := func(name string) int64 { return number(d.Summary.Stats[name].Sum) }
	if sum("last_event") > 1<<50 {
		return // damaged times: sums are right, but beyond the 64 bits here
	}
	equal("total and execution times processors", tick("total"), tick("execution")*d.Summary.Processors)
	equal("time and its parts", sum("time"), sum("cpu")+sum("mpi")+sum("io")+sum("marker")+
		sum("device_call")+sum("device_wait")+sum("lock_wait")+sum("overhead"))
	n := sum("executions") // of the whole program: processes that have any event
	for name, s := range d.Summary.Stats {
		if len(s.Max) == 2 && (number(s.Min[0])*n > number(s.Sum) || number(s.Max[0])*n < number(s.Sum)) {
			r.fail("%s: %s: mean outside of least and most", o, name)
		}
	}
	if p := d.Profile; p != nil {
		var exclusive, off int64
		for _, g := range p.Regions {
			exclusive += number(g.Exclusive)
			off += number(g.ExclusiveOff)
			if number(g.Inclusive) < number(g.Exclusive) {
				r.fail("%s: inclusive below exclusive", o)
			}
		}
		equal("exclusive times", number(p.Exclusive), exclusive)
		if more := number(p.Exclusive) + number(p.Outside) - number(p.Time); p.Bound == nil || more < 0 || number(p.Outside) > 0 || more > off {
			equal("time of the profile", number(p.Time), number(p.Exclusive)+number(p.Outside)) // the parts of a lossy graph may be more by what they may be off
		}
	}
	if c := d.Comm; c != nil {
		var messages int64 // but those whose partner is unknown
		for _, m := range c.Matrix {
			messages += number(m.Messages)
		}
		equal("messages", number(c.Messages), messages)
	}
	if g := d.CCG; g != nil {
		equal("events and those of the call graph", d.Events, number(g.Events))
	}
}

var sections = []string{"summary", "intervals", "waits", "pop", "profile", "paths", "histogram", "comm", "classes", "ccg", "diagnostics"}

// stepReport prints sections in all forms, each twice: the same bytes; JSON is JSON, CSV is rectangular.
func stepReport(r *round, x *rand.Rand) {
	for range 3 + x.IntN(6) {
		format := []string{"text", "json", "csv", "parquet", "html"}[x.IntN(5)]
		args := []string{"report", r.run}
		n := 1 + x.IntN(3)
		if format == "csv" || format == "parquet" {
			n = 1
		}
		if format == "html" {
			n = 0
		}
		for _, i := range x.Perm(len(sections))[:n] {
			args = append(args, sections[i])
		}
		args = append(args, reportOptions(r, x)...)
		args = append(args, "--format", format)
		o := r.coppice(args...)
		r.expect(o, 0, 1, 2, 3, 4)
		if o.code > 1 && o.code != 4 {
			continue
		}
		again := r.do(command{args: args, plain: true, env: []string{"GOMAXPROCS=1"}})
		if again.out != o.out || again.code != o.code {
			r.fail("%s: twice the same, other output", o)
		}
		switch format {
		case "json":
			var v any
			r.decode(o, &v)
		case "csv":
			if _, err := csv.NewReader(strings.NewReader(o.out)).ReadAll(); err != nil {
				r.fail("%s: %v", o, err)
			}
		case "text":
			if strings.ContainsAny(o.out, "\x1b\x00") || strings.Contains(o.out, "NaN") || strings.Contains(o.out, "+Inf") {
				r.fail("%s: control characters or no numbers", o)
			}
		case "parquet":
			if !strings.HasPrefix(o.out, "PAR1") || !strings.HasSuffix(o.out, "PAR1") {
				r.fail("%s: no Parquet", o)
			}
		case "html":
			if !strings.Contains(o.out, "</html>") || strings.Contains(o.out, "NaN") {
				r.fail("%s: no page, or NaN in it", o)
			}
		}
	}
}

func reportOptions(r *round, x *rand.Rand) (list []string) {
	maybe := func(n int, args ...string) {
		if x.IntN(n) == 0 {
			list = append(list, args[0], args[1+x.IntN(len(args)-1)])
		}
	}
	maybe(5, "--ranks", "0", "0-1", fmt.Sprint("0-", r.in.procs-1), "comm:MPI_COMM_WORLD", "node:0", "3,1", "9999")
	maybe(5, "--time", anyTime(x), anyTime(x), "interval:root", "interval:#1", "interval:timestep[0]")
	maybe(8, "--mpi-productive", "mean", "min", "max", "rank0", "none")
	maybe(8, "--processors", "all", "participants")
	maybe(8, "--lang", "ru", "en")
	maybe(4, "--region", "main", "MPI_Recv", "0", "3")
	maybe(8, "--of", "gaps", "calls")
	maybe(6, "--source", "rows", "graph", "auto")
	maybe(8, "--limit", "0", "1", "1000")
	maybe(8, "--fail-if", "parallel_efficiency<0.8", "load_balance>0", "interval:root.efficiency<70%", "wait_count>=0")
	maybe(8, "--ordered", "cpu", "mpi,late_sender", "all")
	for _, flag := range []string{"--details", "--per-execution", "--strict"} {
		if x.IntN(8) == 0 {
			list = append(list, flag)
		}
	}
	return list
}

// anyTime is a span of the run.
func anyTime(x *rand.Rand) string {
	a, b := x.IntN(101), x.IntN(101)
	switch x.IntN(5) {
	case 0:
		return fmt.Sprintf("#%d..#%d", logUniform(x, 1e9), logUniform(x, 1e12))
	case 1:
		return fmt.Sprintf("%d%%..", a)
	case 2:
		return fmt.Sprintf("%dus..%dms", a, b)
	default:
		return fmt.Sprintf("%d%%..%d%%", min(a, b), max(a, b))
	}
}

var (
	primitives = []string{"search", "size", "next", "at", "rows", "visible", "stats", "partner", "members", "bins", "window", "stack", "instance", "interval", "timeline", "walk"}
	rowTypes   = []string{"call", "p2p", "coll", "channel", "chan", "timebin", "comp", "diag", "wait", "io", "rma", "metric", "stat", "exec", "group"}
)

// stepQuery asks random questions: an answer or a user error, twice the same; JSON is JSON.
func stepQuery(r *round, x *rand.Rand) {
	for range 5 + x.IntN(10) {
		args := []string{"query", r.run, primitives[x.IntN(len(primitives))]}
		maybe := func(n int, name, value string) {
			if x.IntN(n) == 0 {
				args = append(args, name, value)
			}
		}
		if x.IntN(8) == 0 {
			args = append(args, "--whole")
		} else {
			maybe(2, "--rank", strconv.Itoa(x.IntN(r.in.procs+1)))
			maybe(5, "--thread", strconv.Itoa(x.IntN(3)))
		}
		maybe(2, "--type", rowTypes[x.IntN(len(rowTypes))])
		times := []string{anyTime(x), fmt.Sprintf("%d%%", x.IntN(101)), fmt.Sprint("#", logUniform(x, 1e9)), "18446744073709551615", "#18446744073709551615", "-1s", "1e300s"}
		maybe(2, "--time", times[x.IntN(len(times))])
		maybe(6, "--to", times[x.IntN(len(times))])
		maybe(3, "--n", []string{"0", "1", "17", "#3", "999999999999", "-1", "100:2"}[x.IntN(7)])
		maybe(6, "--key", fmt.Sprint(logUniform(x, 1<<63)))
		maybe(4, "--mode", []string{"exact", "last", "ge", "gt", "le", "lt"}[x.IntN(6)])
		maybe(6, "--step", []string{"1", "-1", "1000000", "-9223372036854775808", "9223372036854775807", "0"}[x.IntN(6)])
		maybe(4, "--region", []string{"main", "MPI_Recv", "0", "77"}[x.IntN(4)])
		maybe(6, "--ranks", []string{"0", "0-1", "comm:MPI_COMM_WORLD", "node:0"}[x.IntN(4)])
		maybe(6, "--width", []string{"1", "80", "2000"}[x.IntN(3)])
		maybe(6, "--limit", []string{"0", "1", "500", "4294967296"}[x.IntN(4)])
		maybe(8, "--source", []string{"rows", "graph", "auto"}[x.IntN(3)])
		for _, flag := range []string{"--backwards", "--exact"} {
			if x.IntN(8) == 0 {
				args = append(args, flag)
			}
		}
		if x.IntN(2) == 0 {
			args = append(args, "--format", "json")
		}
		o := r.coppice(args...)
		if !r.expect(o, 0, 2, 3) || o.code != 0 {
			continue
		}
		if args[len(args)-1] == "json" {
			var v any
			r.decode(o, &v)
		}
		if x.IntN(4) == 0 {
			if again := r.coppice(args...); again.out != o.out {
				r.fail("%s: twice the same, other output", o)
			}
		}
	}
}
