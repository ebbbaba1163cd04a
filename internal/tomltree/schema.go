package tomltree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Key is a key of a table that describes a T: what its value may be, how it is read, and how it is written.
type Key[T any] struct {
	Name, Allowed string
	Read          func(to *T, v *Value) bool // false: not allowed
	Write         func(from *T) string       // "": it is left out
}

// Part is a table in a table, or each table of a list.
type Part struct {
	Name, Allowed string
	List          bool
	Read          func(v *Value, path string) error
}

// Reader reads the tables of one file by their keys. Its errors are *Error.
type Reader struct {
	File  string
	Base  error          // what the errors are
	Lines map[string]int // of each key that was read, such as links.net.sizes[2].max_bytes
}

// Open parses a file of so many bytes and values at most.
func Open(file string, base error, data []byte, mostBytes, most int) (*Reader, *Value, error) {
	r := &Reader{file, base, map[string]int{}}
	if len(data) > mostBytes {
		return nil, nil, r.Wrong("", fmt.Sprintf("larger than %d bytes, which no file of this kind is", mostBytes), "")
	}
	root, err := Parse(data, most)
	if e, ok := err.(*Error); ok {
		e.File, e.Base = file, base
	}
	return r, root, err
}

// Wrong is an error about a key, which may be missing.
func (r *Reader) Wrong(key, text, allowed string) error {
	return &Error{File: r.File, Line: r.Lines[key], Key: Clip(key), Text: text, Allowed: allowed, Base: r.Base}
}

// ReadTable reads a table of some keys, and then its parts in their order.
func ReadTable[T any](r *Reader, v *Value, path string, keys []Key[T], to *T, parts ...Part) error {
	isPart := func(name string) bool { return slices.ContainsFunc(parts, func(p Part) bool { return p.Name == name }) }
	for _, name := range v.Keys {
		x, at := v.Fields[name], under(path, name)
		r.Lines[at] = x.Line
		switch k := slices.IndexFunc(keys, func(k Key[T]) bool { return k.Name == name }); {
		case k >= 0 && !keys[k].Read(to, x):
			return r.Wrong(at, shown(x), keys[k].Allowed)
		case k < 0 && !isPart(name):
			var names []string
			for _, k := range keys {
				names = append(names, k.Name)
			}
			for _, p := range parts {
				names = append(names, p.Name)
			}
			slices.Sort(names)
			return r.Wrong(at, "unknown key", strings.Join(names, ", "))
		}
	}
	for i := range parts {
		if x := v.Fields[parts[i].Name]; x != nil {
			if err := r.part(x, under(path, parts[i].Name), &parts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// part reads a table, or a list of tables.
func (r *Reader) part(v *Value, path string, p *Part) error {
	isTable := func(v *Value) bool { return v.Kind == Table }
	switch {
	case !p.List && !isTable(v):
		return r.Wrong(path, "a value", p.Allowed)
	case !p.List:
		return p.Read(v, path)
	case isTable(v):
		return r.Wrong(path, "a table", "an array of tables, each "+p.Allowed)
	case v.Kind != List || slices.ContainsFunc(v.Items, func(v *Value) bool { return !isTable(v) }):
		return r.Wrong(path, "a value", "an array of tables, each "+p.Allowed)
	}
	for i, item := range v.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.Lines[at] = item.Line
		if err := p.Read(item, at); err != nil {
			return err
		}
	}
	return nil
}

// Written are the keys of a table with their values.
func Written[T any](keys []Key[T], from *T) (lines []string) {
	for _, k := range keys {
		if text := k.Write(from); text != "" {
			lines = append(lines, k.Name+" = "+text)
		}
	}
	return lines
}

// TextKey is a string that is allowed.
func TextKey[T any](name, allowed string, ok func(s string) bool, at func(*T) *string) Key[T] {
	return Key[T]{name, allowed, func(to *T, v *Value) bool {
		*at(to) = v.Text
		return v.Kind == String && ok(v.Text)
	}, func(from *T) string {
		if s := *at(from); s != "" {
			return Quote(s)
		}
		return ""
	}}
}

// WordKey is one of some words, by its number; it is always written.
func WordKey[T any, W ~uint8](name string, words []string, at func(*T) *W) Key[T] {
	return Key[T]{name, strings.Join(words, ", "), func(to *T, v *Value) bool {
		i := slices.Index(words, v.Text)
		*at(to) = W(max(i, 0))
		return v.Kind == String && i >= 0
	}, func(from *T) string { return Quote(words[*at(from)]) }}
}

// WholeKey is an integer between least and most; without is its value where the key is missing.
func WholeKey[T any, N int | uint32 | uint64](name, allowed string, least, most, without N, at func(*T) *N) Key[T] {
	return Key[T]{name, allowed, func(to *T, v *Value) bool {
		*at(to) = N(v.Whole)
		return v.Kind == Integer && v.Whole >= 0 && uint64(v.Whole) >= uint64(least) && uint64(v.Whole) <= uint64(most)
	}, func(from *T) string {
		if n := *at(from); n != without {
			return fmt.Sprint(n)
		}
		return ""
	}}
}

// SwitchKey is one of two words, or truth values, of which the first is that without the key.
func SwitchKey[T any](name string, kind Kind, off, on string, at func(*T) *bool) Key[T] {
	return Key[T]{name, off + ", " + on, func(to *T, v *Value) bool {
		*at(to) = v.Text == on
		return v.Kind == kind && (v.Text == on || v.Text == off)
	}, func(from *T) string {
		switch {
		case !*at(from):
			return ""
		case kind == String:
			return Quote(on)
		}
		return on
	}}
}

// SchemaKey says which format a file has.
func SchemaKey[T any](schema string) Key[T] {
	return Key[T]{"schema", Quote(schema), func(_ *T, v *Value) bool { return v.Kind == String && v.Text == schema }, func(*T) string { return Quote(schema) }}
}

// NeedsSchema is the error of a file that does not say which format it has.
func (r *Reader) NeedsSchema(schema string) error {
	if _, ok := r.Lines["schema"]; !ok {
		return r.Wrong("schema", "missing", Quote(schema))
	}
	return nil
}

// under appends a name to a key. One that needs quotes keeps them.
func under(key, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		name = strconv.Quote(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}

// Clip shortens text of a file for a message.
func Clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// shown is a value in a message.
func shown(v *Value) string {
	switch v.Kind {
	case Table:
		return "a table"
	case String:
		return strconv.Quote(Clip(v.Text))
	case List:
		var list []string
		for _, x := range v.Items {
			list = append(list, x.Text)
		}
		return "[" + Clip(strings.Join(list, ", ")) + "]"
	}
	return Clip(v.Text)
}
