package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Limits of a model file. The parser and the entries take at most about 60 times the bytes of the file.
const (
	MaxFile    = 8 << 20
	maxEntries = 2_000_000
	maxNesting = 100
	maxDots    = 8 // parts of a key that are joined by dots
)

// FileError says what is wrong in a model file, and where.
type FileError struct {
	Line int // 0: the whole file
	Text string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// entry is a value of a file, with its line, keys of tables in their order.
type entry struct {
	line   int
	kind   entryKind
	text   string  // of a string
	number float64 // of a number
	whole  int64   // of an integer
	keys   []string
	fields map[string]*entry
	items  []*entry
	inline bool // written in one piece: nothing can be added
	headed bool // a table that has had its header
}

type entryKind uint8

const (
	isTable entryKind = iota
	isList
	isText
	isInteger
	isFloat
	isOther
)

func (k entryKind) String() string {
	return [...]string{"a table", "a list", "a string", "an integer", "a number", "a date or a truth value"}[k]
}

// document reads TOML. Unlike a general reader it keeps lines and the order of keys, which is that of the visits of a task.
type document struct {
	parser  unstable.Parser
	ends    []int // offsets of line feeds
	entries int
	root    *entry
}

// parseDocument returns the tables of a file.
func parseDocument(data []byte) (*entry, error) {
	if len(data) > MaxFile {
		return nil, &FileError{0, fmt.Sprintf("%d bytes are no model file: at most %d", len(data), MaxFile)}
	}
	d := &document{root: &entry{line: 1, fields: map[string]*entry{}}}
	for i, b := range data {
		if b == '\n' {
			d.ends = append(d.ends, i)
		}
	}
	d.parser.Reset(data)
	table := d.root
	for d.parser.NextExpression() {
		var err error
		switch e := d.parser.Expression(); e.Kind {
		case unstable.KeyValue:
			err = d.put(table, e, 1)
		case unstable.Table, unstable.ArrayTable:
			table, err = d.header(e)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := d.parser.Error(); err != nil {
		line := len(d.ends) + 1
		var p *unstable.ParserError
		// What is highlighted is a part of data, so the rest after it tells where it begins.
		if errors.As(err, &p) && len(p.Highlight) > 0 {
			if offset := cap(data) - cap(p.Highlight); offset >= 0 && offset <= len(data) {
				line = d.line(offset)
			}
		}
		return nil, &FileError{line, "not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	}
	return d.root, nil
}

// line is the line of an offset.
func (d *document) line(offset int) int {
	low, high := 0, len(d.ends)
	for low < high {
		if mid := (low + high) / 2; d.ends[mid] < offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low + 1
}

// key returns the parts of the key of an expression and its line.
func (d *document) key(e *unstable.Node) (parts []string, line int, err error) {
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if line == 0 {
			line = d.line(int(n.Raw.Offset))
		}
		if len(parts) == maxDots {
			return nil, line, &FileError{line, "a key of too many parts"}
		}
		parts = append(parts, string(n.Data))
	}
	return parts, line, nil
}

func (d *document) fresh(line int, kind entryKind) (*entry, error) {
	if d.entries++; d.entries > maxEntries {
		return nil, &FileError{line, fmt.Sprintf("more than %d values", maxEntries)}
	}
	e := &entry{line: line, kind: kind}
	if kind == isTable {
		e.fields = map[string]*entry{}
	}
	return e, nil
}

// into steps from a table to the table of a key, which it makes where it is missing. Of a list of tables it is the last.
func (d *document) into(t *entry, key string, line int) (*entry, error) {
	next, ok := t.fields[key]
	if !ok {
		var err error
		if next, err = d.fresh(line, isTable); err != nil {
			return nil, err
		}
		t.add(key, next)
	}
	if next.kind == isList && len(next.items) > 0 && !next.inline {
		next = next.items[len(next.items)-1]
	}
	if next.kind != isTable || next.inline {
		return nil, &FileError{line, fmt.Sprintf("%q is there already (line %d)", key, next.line)}
	}
	return next, nil
}

func (e *entry) add(key string, v *entry) {
	e.keys = append(e.keys, key)
	e.fields[key] = v
}

// header begins a table.
func (d *document) header(e *unstable.Node) (*entry, error) {
	parts, line, err := d.key(e)
	if err != nil {
		return nil, err
	}
	t := d.root
	for _, key := range parts[:len(parts)-1] {
		if t, err = d.into(t, key, line); err != nil {
			return nil, err
		}
	}
	key := parts[len(parts)-1]
	if e.Kind == unstable.Table {
		if t, err = d.into(t, key, line); err != nil {
			return nil, err
		}
		if t.headed {
			return nil, &FileError{line, fmt.Sprintf("table %q is there already (line %d)", key, t.line)}
		}
		t.headed, t.line = true, line
		return t, nil
	}
	list, ok := t.fields[key]
	if !ok {
		if list, err = d.fresh(line, isList); err != nil {
			return nil, err
		}
		t.add(key, list)
	}
	if list.kind != isList || list.inline {
		return nil, &FileError{line, fmt.Sprintf("%q is there already (line %d)", key, list.line)}
	}
	item, err := d.fresh(line, isTable)
	if err != nil {
		return nil, err
	}
	item.headed = true
	list.items = append(list.items, item)
	return item, nil
}

// put adds a key with its value to a table.
func (d *document) put(t *entry, e *unstable.Node, depth int) error {
	parts, line, err := d.key(e)
	if err != nil {
		return err
	}
	for _, key := range parts[:len(parts)-1] {
		if t, err = d.into(t, key, line); err != nil {
			return err
		}
	}
	key := parts[len(parts)-1]
	if old, ok := t.fields[key]; ok {
		return &FileError{line, fmt.Sprintf("%q is there already (line %d)", key, old.line)}
	}
	v, err := d.value(e.Value(), line, depth)
	if err == nil {
		t.add(key, v)
	}
	return err
}

// value converts a value. It calls itself at most maxNesting deep.
func (d *document) value(n *unstable.Node, line, depth int) (*entry, error) {
	if depth > maxNesting {
		return nil, &FileError{line, fmt.Sprintf("nested deeper than %d", maxNesting)}
	}
	if n.Raw.Length > 0 {
		line = d.line(int(n.Raw.Offset))
	}
	switch n.Kind {
	case unstable.Array:
		e, err := d.fresh(line, isList)
		if err != nil {
			return nil, err
		}
		e.inline = true
		for it := n.Children(); it.Next(); {
			v, err := d.value(it.Node(), line, depth+1)
			if err != nil {
				return nil, err
			}
			line = max(line, v.line)
			e.items = append(e.items, v)
		}
		return e, nil
	case unstable.InlineTable:
		e, err := d.fresh(line, isTable)
		if err != nil {
			return nil, err
		}
		for it := n.Children(); it.Next(); {
			if err := d.put(e, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
		e.inline = true
		if len(e.keys) > 0 {
			e.line = e.fields[e.keys[0]].line
		}
		return e, nil
	case unstable.String:
		e, err := d.fresh(line, isText)
		if err == nil {
			e.text = string(n.Data)
		}
		return e, err
	}
	return d.scalar(n, line)
}

// scalar converts a number.
func (d *document) scalar(n *unstable.Node, line int) (*entry, error) {
	text := strings.ReplaceAll(string(n.Data), "_", "")
	switch n.Kind {
	case unstable.Integer:
		e, err := d.fresh(line, isInteger)
		if err != nil {
			return nil, err
		}
		if e.whole, err = strconv.ParseInt(text, 0, 64); err != nil {
			return nil, &FileError{line, fmt.Sprintf("%q is no integer of 64 bits", text)}
		}
		e.number = float64(e.whole)
		return e, nil
	case unstable.Float:
		e, err := d.fresh(line, isFloat)
		if err != nil {
			return nil, err
		}
		e.number, err = strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(e.number, 0) {
			return nil, &FileError{line, fmt.Sprintf("%q is no number", text)}
		}
		return e, nil
	}
	return d.fresh(line, isOther)
}

// lineOf is the line of the entry that a path names, or of the nearest above it.
func (e *entry) lineOf(path string) int {
	for {
		path = strings.TrimPrefix(path, ".")
		if path == "" {
			return e.line
		}
		var next *entry
		if e.kind == isList && path[0] == '[' {
			number, rest, _ := strings.Cut(path[1:], "]")
			if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(e.items) {
				next, path = e.items[i], rest
			}
		} else if key := e.longest(path); key != "" {
			next, path = e.fields[key], path[len(key):]
		}
		if next == nil {
			return e.line
		}
		e = next
	}
}

// longest is the longest key that a path begins with.
func (e *entry) longest(path string) string {
	best := ""
	for _, k := range e.keys {
		if len(k) > len(best) && strings.HasPrefix(path, k) && (len(path) == len(k) || path[len(k)] == '.' || path[len(k)] == '[') {
			best = k
		}
	}
	return best
}
