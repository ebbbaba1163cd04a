// Package tomltree reads TOML into a tree that keeps what a general reader drops: the line of every value, the order of keys,
// and the digits of numbers. Files that people write are checked on it, with errors that name the line.
//
//	root, err := tomltree.Parse(data, 1000)
//	size := root.Fields["links"].Fields["net"].Fields["eager_bytes"] // size.Line, size.Text
//
// What a table may hold is a list of [Key], by which [ReadTable] reads and [Written] writes it.
package tomltree

import (
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Limits of a file, next to the number of values that the caller sets.
const (
	maxDepth = 100 // of values in each other
	maxParts = 8   // of a key that are joined by dots
)

// Error says what is wrong in a file, and where.
type Error struct {
	File    string // "": the caller names it
	Line    int    // from 1; 0: the whole file
	Key     string // "": none is to blame
	Text    string // what is wrong
	Allowed string // what would be right; "": Text says it
	Base    error  // what the error is; nil: nothing
}

// Error says where, what and what is allowed.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.File != "" && e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		b.WriteString(e.File + ": ")
	case e.Line > 0:
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Text)
	if e.Allowed != "" {
		b.WriteString("; allowed is " + e.Allowed)
	}
	return b.String()
}

// Unwrap returns what the error is.
func (e *Error) Unwrap() error { return e.Base }

// Kind is what a value is.
type Kind uint8

// The kinds.
const (
	Table Kind = iota
	List
	String
	Integer
	Float
	Bool
	Date // or a time
)

// String is the kind for messages.
func (k Kind) String() string {
	return [...]string{"a table", "a list", "a string", "an integer", "a number", "a truth value", "a date"}[k]
}

// Value is a value of a file.
type Value struct {
	Line   int
	Kind   Kind
	Text   string  // of a string, without quotes; else what is written
	Number float64 // of an integer or a float
	Whole  int64   // of an integer
	Keys   []string
	Fields map[string]*Value // of a table, Keys in their order
	Items  []*Value          // of a list
	origin origin
}

// origin is what made a table or a list, which decides what can be added to it.
type origin uint8

const (
	implied origin = iota // a longer header; it can get its own
	headed
	dotted // a key with dots; more of them can follow
	inline // one piece
)

// parser makes the tree of a file.
type parser struct {
	parser unstable.Parser
	ends   []int // offsets of line feeds
	values int   // so far
	most   int
	root   *Value
}

// Parse reads a file of at most so many values. Errors are *Error. Parser and tree take about 60 times the bytes of the file.
func Parse(data []byte, most int) (*Value, error) {
	p := &parser{most: most, root: &Value{Line: 1, Fields: map[string]*Value{}}}
	for i, b := range data {
		if b == '\n' {
			p.ends = append(p.ends, i)
		}
	}
	p.parser.Reset(data)
	table := p.root
	for p.parser.NextExpression() {
		var err error
		switch e := p.parser.Expression(); e.Kind {
		case unstable.KeyValue:
			err = p.put(table, e, 1)
		case unstable.Table, unstable.ArrayTable:
			table, err = p.header(e)
		}
		if err != nil {
			return nil, err
		}
	}
	err := p.parser.Error()
	if err == nil {
		return p.root, nil
	}
	line := len(p.ends) + 1
	// What is highlighted is a part of data, so the rest after it tells where it begins.
	if e, ok := errors.AsType[*unstable.ParserError](err); ok && len(e.Highlight) > 0 {
		if offset := cap(data) - cap(e.Highlight); offset >= 0 && offset <= len(data) {
			line = p.line(offset)
		}
	}
	return nil, &Error{Line: line, Text: "not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
}

func (p *parser) line(offset int) int { return sort.SearchInts(p.ends, offset) + 1 }

// key returns the parts of the key of an expression and its line.
func (p *parser) key(e *unstable.Node) (parts []string, line int, err error) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if line == 0 {
			line = p.line(int(n.Raw.Offset))
		}
		if len(parts) == maxParts {
			return nil, line, &Error{Line: line, Text: fmt.Sprintf("%.60s: a key of more than %d parts", strings.Join(parts, "."), maxParts)}
		}
		parts = append(parts, string(n.Data))
	}
	return parts, line, nil
}

func (p *parser) fresh(line int, kind Kind, from origin) (*Value, error) {
	if p.values++; p.values > p.most {
		return nil, &Error{Line: line, Text: fmt.Sprintf("more than %d values and tables", p.most)}
	}
	v := &Value{Line: line, Kind: kind, origin: from}
	if kind == Table {
		v.Fields = map[string]*Value{}
	}
	return v, nil
}

func (v *Value) add(key string, x *Value) {
	v.Keys = append(v.Keys, key)
	v.Fields[key] = x
}

// again says that a key cannot be given here.
func again(line int, key string, old *Value) error {
	return &Error{Line: line, Text: fmt.Sprintf("%q is there already (line %d)", key, old.Line)}
}

// into steps from a table to the one of a key, which it makes where it is missing. Of a list of tables a header means the last.
func (p *parser) into(t *Value, key string, line int, from origin) (*Value, error) {
	next, ok := t.Fields[key]
	if !ok {
		var err error
		if next, err = p.fresh(line, Table, from); err != nil {
			return nil, err
		}
		t.add(key, next)
	}
	if next.Kind == List && from == implied && len(next.Items) > 0 && next.origin != inline {
		next = next.Items[len(next.Items)-1]
	}
	if next.Kind != Table || next.origin == inline || from == dotted && next.origin != dotted {
		return nil, again(line, key, next)
	}
	return next, nil
}

// header begins a table.
func (p *parser) header(e *unstable.Node) (*Value, error) {
	parts, line, err := p.key(e)
	if err != nil {
		return nil, err
	}
	t := p.root
	last := len(parts) - 1
	for _, key := range parts[:last] {
		if t, err = p.into(t, key, line, implied); err != nil {
			return nil, err
		}
	}
	key := parts[last]
	if e.Kind == unstable.Table {
		next, err := p.into(t, key, line, implied)
		if err == nil && next.origin != implied {
			err = again(line, key, next)
		}
		if err == nil {
			next.origin, next.Line = headed, line
		}
		return next, err
	}
	list, ok := t.Fields[key]
	if !ok {
		if list, err = p.fresh(line, List, headed); err != nil {
			return nil, err
		}
		t.add(key, list)
	}
	if list.Kind != List || list.origin == inline {
		return nil, again(line, key, list)
	}
	item, err := p.fresh(line, Table, headed)
	if err == nil {
		list.Items = append(list.Items, item)
	}
	return item, err
}

// put adds a key with its value to a table.
func (p *parser) put(t *Value, e *unstable.Node, depth int) error {
	parts, line, err := p.key(e)
	if err != nil {
		return err
	}
	last := len(parts) - 1
	for _, key := range parts[:last] {
		if t, err = p.into(t, key, line, dotted); err != nil {
			return err
		}
	}
	if old, ok := t.Fields[parts[last]]; ok {
		return again(line, parts[last], old)
	}
	v, err := p.value(e.Value(), line, depth)
	if err == nil {
		t.add(parts[last], v)
	}
	return err
}

var kinds = map[unstable.Kind]Kind{
	unstable.InlineTable: Table, unstable.Array: List, unstable.String: String, unstable.Integer: Integer, unstable.Float: Float, unstable.Bool: Bool,
}

// value converts a value. It calls itself at most maxDepth deep.
func (p *parser) value(n *unstable.Node, line, depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, &Error{Line: line, Text: fmt.Sprintf("nested deeper than %d", maxDepth)}
	}
	if n.Raw.Length > 0 {
		line = p.line(int(n.Raw.Offset))
	}
	kind, ok := kinds[n.Kind]
	if !ok {
		kind = Date
	}
	v, err := p.fresh(line, kind, inline)
	if err != nil {
		return nil, err
	}
	switch kind {
	case List:
		for it := n.Children(); it.Next() && err == nil; {
			var x *Value
			if x, err = p.value(it.Node(), line, depth+1); err == nil {
				line = max(line, x.Line)
				v.Items = append(v.Items, x)
			}
		}
	case Table:
		for it := n.Children(); it.Next() && err == nil; {
			err = p.put(v, it.Node(), depth+1)
		}
		if len(v.Keys) > 0 {
			v.Line = v.Fields[v.Keys[0]].Line
		}
	default:
		v.Text = string(n.Data)
		err = v.count()
	}
	return v, err
}

// digits is what a number is written as.
var digits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([+-]?(0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d(_?\d)*)?|[+-]?(inf|nan)|0x[\da-fA-F](_?[\da-fA-F])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*)$`)
})

// count sets the number of an integer or a float.
func (v *Value) count() (err error) {
	if v.Kind != Integer && v.Kind != Float {
		return nil
	}
	text := strings.ReplaceAll(v.Text, "_", "")
	if v.Kind == Integer {
		v.Whole, err = strconv.ParseInt(text, 0, 64)
		v.Number = float64(v.Whole)
	} else {
		v.Number, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || !digits().MatchString(v.Text) {
		return &Error{Line: v.Line, Text: fmt.Sprintf("%.60q is not %v of 64 bits", v.Text, v.Kind)}
	}
	return nil
}

// LineOf is the line of the value that a path such as a.b[2].c names, or of the nearest above it.
func (v *Value) LineOf(path string) int {
	for path = strings.TrimPrefix(path, "."); path != ""; path = strings.TrimPrefix(path, ".") {
		var next *Value
		if v.Kind == List && path[0] == '[' {
			number, rest, _ := strings.Cut(path[1:], "]")
			if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(v.Items) {
				next, path = v.Items[i], rest
			}
		} else if key := v.longest(path); key != "" {
			next, path = v.Fields[key], path[len(key):]
		}
		if next == nil {
			break
		}
		v = next
	}
	return v.Line
}

// longest is the longest key that a path begins with.
func (v *Value) longest(path string) string {
	best := ""
	for _, k := range v.Keys {
		if len(k) > len(best) && strings.HasPrefix(path, k) && (len(path) == len(k) || path[len(k)] == '.' || path[len(k)] == '[') {
			best = k
		}
	}
	return best
}

// Quote writes a string of TOML.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == utf8.RuneError:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
