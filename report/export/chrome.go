package export

import (
	"bufio"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/coppice-hpc/coppice/trace"
)

// chrome writes the trace event format of Chrome as a JSON object ("Trace Event Format", JSON Object Format): durations as
// B and E, flows as s and f bound to the slice around them, intervals as nestable b and e, counters as C, names as M.
// Times are microseconds with three decimals.
type chrome struct {
	out     *bufio.Writer
	line    []byte
	comma   bool
	names   []string          // as JSON
	classes []string          // as JSON
	texts   map[string]string // texts of annotations and counters as JSON; there are few different ones
	where   string            // process and thread of the location
	self    string
}

// quote returns the JSON form of a text that occurs often.
func (c *chrome) quote(text string) string {
	q, ok := c.texts[text]
	if !ok {
		q = quote(text)
		c.texts[text] = q
	}
	return q
}

func quote(s string) string {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return `""` // a string always has a JSON form
	}
	return string(b)
}

func quoted(list []string) []string {
	var q []string
	for _, s := range list {
		q = append(q, quote(s))
	}
	return q
}

func (c *chrome) head(id string, regions, categories []string) {
	c.names, c.classes = quoted(regions), quoted(categories)
	c.out.WriteString(`{"displayTimeUnit":"ns","otherData":{"producer":"coppice","file":"` + id + `"},"traceEvents":[`)
}

// put writes line as an event.
func (c *chrome) put() {
	if c.comma {
		c.out.WriteByte(',')
	}
	c.comma = true
	c.out.WriteByte('\n')
	c.out.Write(c.line)
}

// phase begins an event of the location.
func (c *chrome) phase(ph string, ns uint64) {
	c.line = append(append(append(c.line[:0], `{"ph":"`...), ph...), `",`...)
	c.line = append(append(c.line, c.where...), `,"ts":`...)
	c.line = strconv.AppendUint(c.line, ns/1000, 10)
	r := ns % 1000
	c.line = append(c.line, '.', byte('0'+r/100), byte('0'+r/10%10), byte('0'+r%10))
}

// key begins a member of the event.
func (c *chrome) key(name string) {
	c.line = append(append(append(c.line, `,"`...), name...), `":`...)
}

func (c *chrome) finish() {
	c.line = append(c.line, '}')
	c.put()
}

// named writes a metadata event.
func (c *chrome) named(where, what, key, value string) {
	c.line = append(c.line[:0], `{"ph":"M",`+where+`,"name":"`+what+`","args":{"`+key+`":`+value+`}}`...)
	c.put()
}

func (c *chrome) process(first trace.P, rank uint32, name string) {
	where := `"pid":` + strconv.FormatUint(uint64(first)+1, 10)
	c.named(where, "process_name", "name", quote(name))
	c.named(where, "process_sort_index", "sort_index", strconv.FormatUint(uint64(rank), 10))
}

func (c *chrome) thread(x thread) {
	c.self = strconv.FormatInt(int64(x.self), 10)
	c.where = `"pid":` + strconv.FormatInt(int64(x.process), 10) + `,"tid":` + c.self
	c.named(c.where, "thread_name", "name", quote(x.name))
	c.named(c.where, "thread_sort_index", "sort_index", c.self)
}

func (c *chrome) describe(e *event) {
	c.key("cat")
	c.line = append(c.line, c.classes[e.category]...)
	if len(e.args) == 0 {
		return
	}
	c.key("args")
	for i := range e.args {
		a := &e.args[i]
		sep := `,"`
		if i == 0 {
			sep = `{"`
		}
		c.line = append(append(append(c.line, sep...), argNames[a.name]...), `":`...)
		if a.text != "" {
			c.line = append(c.line, c.quote(a.text)...)
		} else {
			c.line = strconv.AppendUint(c.line, a.value, 10)
		}
	}
	c.line = append(c.line, '}')
}

// flows writes one end of messages: ph is s or f.
func (c *chrome) flows(ph string, ns uint64, list []uint64) {
	for _, f := range list {
		c.phase(ph, ns)
		c.line = append(c.line, `,"name":"message","cat":"message","id":"0x`...)
		c.line = append(strconv.AppendUint(c.line, f, 16), '"')
		if ph == "f" {
			c.line = append(c.line, `,"bp":"e"`...)
		}
		c.finish()
	}
}

// slice begins a slice with a name in JSON.
func (c *chrome) slice(ns uint64, name string, e *event) {
	c.phase("B", ns)
	c.key("name")
	c.line = append(c.line, name...)
	c.describe(e)
	c.finish()
}

func (c *chrome) begin(ns uint64, e *event) {
	c.slice(ns, c.names[e.region], e)
	c.flows("s", ns, e.flows)
}

func (c *chrome) end(ns uint64, flows []uint64) {
	c.flows("f", ns, flows)
	c.phase("E", ns)
	c.finish()
}

// instant writes a message outside of calls as a slice without length, because flows must be bound to a slice.
func (c *chrome) instant(ns uint64, receive bool, e *event) {
	if receive {
		c.slice(ns, `"receive"`, e)
		c.end(ns, e.flows)
		return
	}
	c.slice(ns, `"send"`, e)
	c.flows("s", ns, e.flows)
	c.end(ns, nil)
}

// interval writes a border of an execution.
func (c *chrome) interval(ph string, ns uint64, name string) {
	c.phase(ph, ns)
	c.line = append(c.line, `,"cat":"interval","id":"`+c.self+`"`...)
	c.key("name")
	c.line = append(c.line, quote(name)...)
	c.finish()
}

func (c *chrome) intervalBegin(ns uint64, name string) { c.interval("b", ns, name) }
func (c *chrome) intervalEnd(ns uint64, name string)   { c.interval("e", ns, name) }

// counter writes a value. It leaves out values that are not numbers, which JSON does not have.
func (c *chrome) counter(ns uint64, _ int, name, _ string, value float64, bits uint64, kind int) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	c.phase("C", ns)
	c.key("name")
	c.line = append(c.line, c.quote(name)...)
	c.line = append(append(append(c.line[:len(c.line)-1], " #"...), c.self...), '"')
	c.line = append(c.line, `,"args":{"value":`...)
	switch kind {
	case 0:
		c.line = strconv.AppendUint(c.line, bits, 10)
	case 1:
		c.line = strconv.AppendInt(c.line, int64(bits), 10)
	default:
		c.line = strconv.AppendFloat(c.line, value, 'g', -1, 64)
	}
	c.line = append(c.line, '}')
	c.finish()
}

func (c *chrome) tail() { c.out.WriteString("\n]}\n") }
