package predict

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// ErrPlatform is what every error about a platform is.
var ErrPlatform = errors.New("platform")

// FileError is an error in a file that people write.
type FileError struct {
	File    string
	Line    int    // from 1; 0 where none is to blame
	Key     string // "" where none is to blame
	Text    string // what is wrong
	Allowed string // what would be right, "" where Text says it
}

// Error says where, what and what is allowed.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		fmt.Fprintf(&b, "%s: ", e.Key)
	}
	b.WriteString(e.Text)
	if e.Allowed != "" {
		fmt.Fprintf(&b, "; allowed is %s", e.Allowed)
	}
	return b.String()
}

// Unwrap makes it an ErrPlatform.
func (e *FileError) Unwrap() error { return ErrPlatform }

// entry is one value or table of a TOML file under its whole key, such as links.net.sizes[2].max_bytes.
type entry struct {
	key  string // with the numbers of elements
	rule string // without them: links.net.sizes[].max_bytes
	line int
	kind unstable.Kind
	text string   // of a scalar, strings without quotes
	list []string // of an array of integers
}

// maxDepth bounds how deep tables and arrays of a file may nest, and how many parts a key may have.
const maxDepth = 8

// maxEntries bounds the keys and tables of a file.
const maxEntries = 4096

// flattener turns the tree of a file into entries. The library keeps the rules of TOML, this keeps lines and digits.
type flattener struct {
	file    string
	parser  unstable.Parser
	ends    []int // offsets of line feeds
	entries []entry
	tables  map[string]int // elements of an array of tables so far
}

// flatten reads TOML. The values of the library's own tree have neither lines nor all digits, so it only checks the rules,
// after the bounds, because its time grows with the square of the number of tables.
func flatten(file string, data []byte) ([]entry, error) {
	f := flattener{file: file, tables: map[string]int{}}
	for i, b := range data {
		if b == '\n' {
			f.ends = append(f.ends, i)
		}
	}
	f.parser.Reset(data)
	var table entry // in progress
	for f.parser.NextExpression() {
		e := f.parser.Expression()
		var err error
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, err = f.table(e)
		case unstable.KeyValue:
			err = f.value(e, table, 0)
		}
		if err == nil && len(f.entries) > maxEntries {
			last := f.entries[maxEntries]
			err = &FileError{File: file, Line: last.line, Key: clipped(last.key), Text: fmt.Sprintf("more than %d keys and tables", maxEntries)}
		}
		if err != nil {
			return nil, err
		}
	}
	var ignored map[string]any
	if err := toml.Unmarshal(data, &ignored); err != nil {
		return nil, tomlError(file, err)
	}
	if err := f.parser.Error(); err != nil {
		return nil, &FileError{File: file, Text: err.Error()}
	}
	return f.entries, nil
}

// tomlError gives an error of the library its file, line and key.
func tomlError(file string, err error) error {
	e := &FileError{File: file, Text: strings.TrimPrefix(err.Error(), "toml: ")}
	if d, ok := errors.AsType[*toml.DecodeError](err); ok {
		e.Line, _ = d.Position()
		e.Key = strings.Join(d.Key(), ".")
	}
	return e
}

// table appends an entry for a header and returns it. A part that is an array of tables means its last element.
func (f *flattener) table(e *unstable.Node) (entry, error) {
	at := entry{kind: unstable.Table}
	parts := e.Key()
	for parts.Next() {
		if err := f.part(&at, parts.Node()); err != nil {
			return at, err
		}
		if parts.IsLast() && e.Kind == unstable.ArrayTable {
			f.tables[at.key]++
		}
		if n := f.tables[at.key]; n > 0 {
			at.key, at.rule = fmt.Sprintf("%s[%d]", at.key, n-1), at.rule+"[]"
		}
	}
	f.entries = append(f.entries, at)
	return at, nil
}

// part appends a part to the key of an entry, and takes its line.
func (f *flattener) part(at *entry, part *unstable.Node) error {
	at.line = sort.SearchInts(f.ends, int(part.Raw.Offset)) + 1
	if strings.Count(at.rule, ".") == maxDepth {
		return &FileError{File: f.file, Line: at.line, Key: clipped(at.key), Text: fmt.Sprintf("a key of more than %d parts", maxDepth)}
	}
	at.key, at.rule = under(at.key, part), under(at.rule, part)
	return nil
}

// under appends a part to a key. Parts that need quotes keep them: no key of ours does.
func under(key string, part *unstable.Node) string {
	name := string(part.Data)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		name = fmt.Sprintf("%q", name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

// value appends the entries of a key in a table and of its value.
func (f *flattener) value(e *unstable.Node, table entry, depth int) error {
	at := entry{key: table.key, rule: table.rule}
	parts := e.Key()
	for parts.Next() {
		if err := f.part(&at, parts.Node()); err != nil {
			return err
		}
	}
	return f.add(e.Value(), at, depth)
}

// add appends the entries of a value.
func (f *flattener) add(v *unstable.Node, at entry, depth int) error {
	if depth > maxDepth {
		return &FileError{File: f.file, Line: at.line, Key: clipped(at.key), Text: fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	switch v.Kind {
	case unstable.InlineTable:
		at.kind = unstable.Table
		f.entries = append(f.entries, at)
		it := v.Children()
		for it.Next() {
			if err := f.value(it.Node(), at, depth+1); err != nil {
				return err
			}
		}
		return nil
	case unstable.Array:
		return f.array(v, at, depth)
	}
	at.kind, at.text = v.Kind, string(v.Data)
	f.entries = append(f.entries, at)
	return nil
}

// array appends an entry for each element, or one with all of them if they are integers.
func (f *flattener) array(v *unstable.Node, at entry, depth int) error {
	at.kind = unstable.Array
	var nested bool
	it := v.Children()
	for n := 0; it.Next(); n++ {
		e := it.Node()
		if e.Kind == unstable.Integer {
			at.list = append(at.list, string(e.Data))
			continue
		}
		nested = true
		element := entry{key: fmt.Sprintf("%s[%d]", at.key, n), rule: at.rule + "[]", line: at.line}
		if err := f.add(e, element, depth+1); err != nil {
			return err
		}
	}
	if !nested || at.list != nil {
		f.entries = append(f.entries, at)
	}
	return nil
}
