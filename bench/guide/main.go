// Command guide writes docs/guide: a page for each wait state and each loss of efficiency, with a program that has it, a picture of
// its timeline, and what coppice says of it. Nothing on a page but its title and a sentence is written by hand: the program is the one of
// record/examples/planted, which is run and recorded here; the picture is drawn from its file; the finding is the report's, next to what
// the program measured by its own clock. A finding of another kind, or other seconds, is an error.
//
//	scripts/guide            writes all pages
//	scripts/guide late_post  writes the page of this program
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/coppice-hpc/coppice/internal/svg"
)

const (
	planted = "record/examples/planted"
	pages   = "docs/guide"
)

// page is what is written by hand.
type page struct {
	program string // of planted
	title   string
	what    string  // it is, in a sentence
	more    string  // other programs that show it
	rounds  float64 // part of the measured time in the picture
	flags   string  // of record
}

var list = []page{
	{"late_sender", "Late sender", "A process receives and waits, because the message was sent too late.", "late_senders_waitall.c persistent.f90", 0.4, ""},
	{"late_receiver", "Late receiver", "A send that cannot end without its receive waits for it.", "late_receiver_isend.c", 0.4, ""},
	{"wrong_order", "Messages in wrong order", "A process waits for one message while another one, which it receives later, is there.", "", 1, ""},
	{"late_progress", "Late progress", "A receive is posted, but its process is not in MPI, which would move the message, so the sender waits.", "", 0.4, ""},
	{"barrier_imbalance", "Wait at a barrier", "Processes come to a barrier at different times.", "late_dup.c shared_counter.c", 0.6, ""},
	{"slow_rank", "Wait at N×N", "In an operation where all need data of all, everybody waits for the last one.", "nonblocking_collective.c", 0.5, ""},
	{"late_root", "Late broadcast", "Receivers of a broadcast or scatter wait for its root.", "", 0.5, ""},
	{"early_reduce", "Early reduce", "The root of a reduction or gather comes before all others and waits for the first of them.", "", 0.5, ""},
	{"early_scan", "Early scan", "In a prefix operation a process waits for one of a lower rank.", "", 0.5, ""},
	{"late_post", "Late post", "An origin of one-sided operations waits until the target exposes its window.", "", 1, ""},
	{"early_wait", "Early wait", "A target waits until the origins have completed their one-sided operations.", "", 0.5, ""},
	{"lock_contention", "Lock contention", "A process wants the lock of a window that another process holds.", "", 0.5, ""},
	{"lock", "Lock wait of threads", "A thread wants a lock that another thread holds.", "", 0.5, "--threads=all"},
	{"thread_imbalance", "Load balance of threads", "Threads of a parallel region, or at a barrier of threads, wait for the one that has most to do.", "posix_barrier.c", 0.5, "--threads=all"},
	{"slow_function", "Load balance", "Efficiency of POP: mean useful time over the largest. One process has more to compute than the others, or is slower.", "slow_rank.c", 0.6, ""},
	{"serial_pipeline", "Serialisation", "Efficiency of POP: largest useful time over the runtime on an ideal network. Processes work in turn, not at the same time.", "serial_section.f90 master_bottleneck.c", 0.5, ""},
	{"long_message", "Transfer: long messages", "Efficiency of POP: runtime on an ideal network over the runtime. Moving the data takes the time.", "", 0.6, ""},
	{"small_messages", "Transfer: small messages", "As before, but what takes the time are the many calls, not the bytes.", "", 0.002, ""},
	{"io_imbalance", "I/O", "Processes read and write files, and others wait meanwhile.", "", 1, "--io"},
	{"oversubscription", "More processes than processors", "Processes are ready to compute and have no processor, so their partners wait.", "", 1, ""},
}

func main() {
	flag.Parse()
	for _, p := range list {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), p.program) {
			continue
		}
		err := p.write()
		for tries := 1; err != nil && tries < 3; tries++ { // others at work on the machine are a cause of their own
			fmt.Fprintf(os.Stderr, "guide: %s: once more: %v\n", p.program, err)
			err = p.write()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "guide: %s: %v\n", p.program, err)
			os.Exit(1)
		}
	}
	if err := gallery(); err != nil {
		fmt.Fprintln(os.Stderr, "guide:", err)
		os.Exit(1)
	}
}

// row is a line of the table of planted/README.md.
var row = regexp.MustCompile("(?m)^\\| `([a-z_]+)\\.(c|f90)` \\| ([0-9]+) \\| (.*) \\| ([a-z_ ]+) \\| (compare|kind) \\|$")

// run is a program that was run, recorded and analysed.
type run struct {
	page
	suffix, processes, says string
	kinds                   []string
	compare                 bool
	file                    string // RUN.xtf
	clock                   struct{ Seconds float64 }
	finding                 struct {
		Kind, Text, Advice string
		Seconds            float64
	}
}

func (p *page) run() (*run, error) {
	b, err := os.ReadFile(filepath.Join(planted, "README.md"))
	if err != nil {
		return nil, err
	}
	r := &run{page: *p}
	for _, m := range row.FindAllStringSubmatch(string(b), -1) {
		if m[1] == p.program {
			r.suffix, r.processes, r.says, r.kinds, r.compare = m[2], m[3], m[4], strings.Fields(m[5]), m[6] == "compare"
		}
	}
	folder := filepath.Join("out/guide", p.program)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(filepath.Dir(folder), 0o777)); err != nil {
		return nil, err
	}
	program := "./" + filepath.Join(planted, p.program)
	if _, err := output("make", "-s", "-C", planted, "INSTRUMENT=-g -finstrument-functions -rdynamic", p.program); err != nil {
		return nil, err
	}
	args := append([]string{"record", "-o", folder}, strings.Fields(p.flags)...)
	said, err := output("coppice", append(args, "--", "mpirun", "-n", r.processes, program)...)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(regexp.MustCompile(`(?m)^\{.*\}$`).Find([]byte(said)), &r.clock); err != nil {
		return nil, fmt.Errorf("what it measured: %w: %s", err, said)
	}
	r.file = filepath.Join(folder, "run.xtf")
	if _, err := output("coppice", "analyze", "-q", folder, "-o", r.file); err != nil {
		return nil, err
	}
	var x struct {
		Findings []json.RawMessage
	}
	if err := r.ask(&x, "report", r.file); err != nil {
		return nil, err
	}
	if len(x.Findings) == 0 {
		return nil, errors.New("no finding")
	}
	if err := json.Unmarshal(x.Findings[0], &r.finding); err != nil {
		return nil, err
	}
	f := &r.finding
	if !slices.Contains(r.kinds, f.Kind) {
		return nil, fmt.Errorf("the first finding is %s, not one of %v: %s", f.Kind, r.kinds, f.Text)
	}
	if r.compare && math.Abs(f.Seconds-r.clock.Seconds) > 0.05*r.clock.Seconds {
		return nil, fmt.Errorf("the program measured %.6f s, the finding has %.6f", r.clock.Seconds, f.Seconds)
	}
	return r, nil
}

// output runs a command and returns what it prints.
func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	b, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w\n%s%s", c, err, b, exit.Stderr)
	}
	return string(b), err
}

// ask reads the JSON that coppice prints.
func (r *run) ask(into any, args ...string) error {
	text, err := output("coppice", append(args, "--format", "json")...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// write writes the page of a program and its picture.
func (p *page) write() error {
	r, err := p.run()
	if err != nil {
		return err
	}
	picture, err := r.picture()
	if err != nil {
		return err
	}
	code, err := r.code()
	if err != nil {
		return err
	}
	source := p.program + "." + r.suffix
	language := map[string]string{"c": "c", "f90": "fortran"}[r.suffix]
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n<!-- written by scripts/guide -->\n%s\n\n![Timeline of %s](%s.svg)\n\n", p.title, p.what, source, p.program)
	processes := "processes"
	if r.processes == "1" {
		processes = "process"
	}
	fmt.Fprintf(&b, "[%s](../../%s/%s), %s %s: %s.\n\n```%s\n%s\n```\n\n", source, planted, source, r.processes, processes, r.says, language, code)
	fmt.Fprintf(&b, "coppice says:\n\n> %s\n\n", brief(r.finding.Text))
	if r.compare {
		fmt.Fprintf(&b, "The program's own clock: %.3f s.\n\n", r.clock.Seconds)
	}
	fmt.Fprintf(&b, "What to do: %s.\n", r.finding.Advice)
	if p.more != "" {
		fmt.Fprintf(&b, "\nMore programs with it:")
		for i, name := range strings.Fields(p.more) {
			fmt.Fprintf(&b, "%s [%s](../../%s/%s)", map[bool]string{true: ","}[i > 0], name, planted, name)
		}
		b.WriteString(".\n")
	}
	fmt.Printf("%-20s %.6f s, finding %.6f s\n", p.program, r.clock.Seconds, r.finding.Seconds)
	return errors.Join(os.WriteFile(filepath.Join(pages, p.program+".svg"), picture, 0o666), os.WriteFile(filepath.Join(pages, p.program+".md"), []byte(b.String()), 0o666))
}

// brief is the begin of a finding, which goes on with more evidence.
func brief(text string) string {
	parts := strings.Split(text, "; ")
	if len(parts) > 2 {
		return strings.Join(parts[:2], "; ") + " ..."
	}
	return text
}

// code is the program without what it includes and without what it measures at its end.
func (r *run) code() (string, error) {
	b, err := os.ReadFile(filepath.Join(planted, r.program+"."+r.suffix))
	text := string(b)
	begin, end := strings.Index(text, "#include \"planted.h\"\n"), strings.Index(text, "\tfinish();")+len("\tfinish();")
	if begin += len("#include \"planted.h\"\n"); r.suffix == "f90" {
		begin, end = strings.Index(text, "  integer"), strings.Index(text, "  call finish()")+len("  call finish()")
	}
	if err != nil || begin < 0 || end < begin {
		return "", errors.Join(err, errors.New("where the program begins or ends is not known"))
	}
	return strings.TrimSpace(text[begin:end]), nil
}

// Of pictures.
const (
	left, top, width, height, gap = 60, 10, 640, 22, 12
	legendLine                    = 18
)

// called are regions of libraries.
var called = regexp.MustCompile(`^(MPI_|pthread_|sem_|!\$omp implicit|write\b)`)

// Colours of regions: own functions, then calls of libraries; told apart by those who do not see all colours too.
var (
	ownColours     = []string{"#009e73", "#8fd3bd", "#56b4e9", "#b9dff5"}
	libraryColours = []string{"#b0b0b0", "#7d7d7d", "#d6d6d6", "#555555", "#c4b5a0"}
)

// rows are rows of a type of one location in time.
func (r *run) rows(kind string, location int) ([]map[string]any, error) {
	var x struct {
		Query struct{ Rows []map[string]any }
	}
	err := r.ask(&x, "query", r.file, "rows", "--type", kind, "--location", fmt.Sprint(location), "--limit", "2000")
	return x.Query.Rows, err
}

// picture draws what each location does in the first part of the measured time, where it waits, and the messages between them.
func (r *run) picture() ([]byte, error) {
	marked, err := r.rows("ival", 0)
	if err != nil || len(marked) < 2 {
		return nil, errors.Join(err, errors.New("no marked interval"))
	}
	number := func(row map[string]any, key string) float64 { v, _ := row[key].(float64); return v }
	begin, end := number(marked[1], "T"), number(marked[1], "End")
	end = begin + math.Round((end-begin)*r.rounds)
	var t struct {
		Query struct {
			Answer struct {
				Regions []struct{ Name string }
				Rows    []struct {
					Location, Process, Thread int
					Pixels                    []int8
				}
			}
		}
	}
	if err := r.ask(&t, "query", r.file, "timeline", "--time", fmt.Sprintf("#%.0f..#%.0f", begin, end), "--width", fmt.Sprint(width)); err != nil {
		return nil, err
	}
	answer := &t.Query.Answer
	total := top + len(answer.Rows)*(height+gap) + 30 + legendLine*(len(answer.Regions)+2)
	var p svg.Picture
	p.Add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, left+width+20, total, left+width+20, total)
	p.Add(`<defs><pattern id="w" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2.5" height="6" fill="#d55e00"/></pattern></defs>`)
	p.Add(`<style>path{fill:none}.paper{fill:#fff}.wait{fill:url(#w);stroke:#d55e00}`)
	var classes []string
	own, library := 0, 0
	var colours []string
	for i, x := range answer.Regions {
		list, k := ownColours, &own
		if called.MatchString(x.Name) {
			list, k = libraryColours, &library
		}
		colours = append(colours, list[*k%len(list)])
		*k++
		classes = append(classes, fmt.Sprintf("r%d", i))
		p.Add(`.r%d{stroke:%s}`, i, colours[i])
	}
	p.Add(`</style><rect class="paper" width="100%%" height="100%%"/>`)
	scale := func(t float64) float64 { return left + float64((t-begin)/(end-begin)*width) }
	of := map[float64]float64{} // from the number of a location to the middle of its row
	for i, row := range answer.Rows {
		y := top + i*(height+gap)
		name := fmt.Sprintf("rank %d", row.Process)
		if len(answer.Rows) > 1 && answer.Rows[0].Process == answer.Rows[len(answer.Rows)-1].Process {
			name = fmt.Sprintf("thread %d", row.Thread)
		}
		p.Text(left-8, float64(y+height-6), "end", name)
		p.Mosaic(left, y, width, height, [][]int8{row.Pixels}, classes)
		of[float64(row.Location)] = float64(y) + height/2
	}
	waited := false
	for _, row := range answer.Rows {
		waits, err := r.rows("wait", row.Location)
		if err != nil {
			return nil, err
		}
		for _, w := range waits {
			from, to := max(number(w, "T"), begin), min(number(w, "End"), end)
			if from < to {
				waited = true
				p.Add(`<rect class="wait" x="%s" y="%s" width="%s" height="%d"/>`, svg.Number(scale(from)), svg.Number(of[float64(row.Location)]-height/2), svg.Number(scale(to)-scale(from)), height)
			}
		}
	}
	messages := false
	for _, row := range answer.Rows {
		sides, err := r.rows("p2p", row.Location)
		if err != nil {
			return nil, err
		}
		for _, m := range sides {
			sent, received, other := number(m, "mateT"), number(m, "End"), number(m, "mateP")
			if int(number(m, "kind"))&1 == 0 || received > end || sent < begin || sent > end || other == float64(row.Location) || of[other] == 0 || r.processes == "1" || strings.HasPrefix(r.program, "small") {
				continue // a send, or not in the picture; small messages would be all black
			}
			messages = true
			p.Add(`<path d="M%s %sL%s %s" stroke="#000"/><circle cx="%s" cy="%s" r="2.5"/>`, svg.Number(scale(sent)), svg.Number(of[other]), svg.Number(scale(received)), svg.Number(of[float64(row.Location)]),
				svg.Number(scale(received)), svg.Number(of[float64(row.Location)]))
		}
	}
	y := top + len(answer.Rows)*(height+gap) + 8
	p.Text(left, float64(y), "start", "0")
	p.Text(left+width, float64(y), "end", fmt.Sprintf("%.0f ms", (end-begin)/1e6))
	key := func(drawing, text string) {
		y += legendLine
		p.Add(drawing, left, y-10)
		p.Text(left+24, float64(y), "start", text)
	}
	for i, x := range answer.Regions {
		key(`<rect x="%d" y="%d" width="16" height="12" fill="`+colours[i]+`"/>`, x.Name)
	}
	if waited {
		key(`<rect class="wait" x="%d" y="%d" width="16" height="12"/>`, "wait state")
	}
	if messages {
		key(`<path d="M%d %dl16 10" stroke="#000"/>`, "message")
	}
	p.Add(`</svg>`)
	return []byte(p.String()), nil
}

// gallery writes the list of pages.
func gallery() error {
	var b strings.Builder
	b.WriteString("# Guide\n\n<!-- written by scripts/guide -->\nOne page for each way to lose time: a program that does it, its timeline, what coppice says, what to do. " +
		"Programs, pictures and findings are real: `scripts/guide` runs each program, compares the finding with the program's own clock where both say seconds, and writes the page.\n\n" +
		"Green and blue are functions of the program, grey are calls of libraries. Hatched is a wait state of MPI: this time is lost, and its cause is on another process.\n\n| | |\n|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&b, "| [**%s**](%s.md)<br>%s | ![](%s.svg) |\n", p.title, p.program, p.what, p.program)
	}
	return os.WriteFile(filepath.Join(pages, "README.md"), []byte(b.String()), 0o666)
}
