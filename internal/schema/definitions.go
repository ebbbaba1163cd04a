package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// definition is a record with an id, and the list in which Definitions holds those of its kind.
type definition struct {
	record
	id   int
	list string
}

// writeDefinitions writes what follows from the kinds of definition records.
func writeDefinitions(b *bytes.Buffer, records []record) error {
	var kinds []definition
	for _, r := range records {
		if mark, ok := r.marks["trace:def"]; ok {
			k := definition{record: r}
			if n, _ := fmt.Sscan(mark, &k.id, &k.list); n < 2 || len(r.fields) == 0 {
				return fmt.Errorf("%s: want //trace:def ID LIST and fields, not %q", r.name, mark)
			}
			kinds = append(kinds, k)
		}
	}
	slices.SortFunc(kinds, func(x, y definition) int { return x.id - y.id })
	each := func(before, format string, args func(k *definition) []any, after string) {
		b.WriteString(before)
		for i := range kinds {
			fmt.Fprintf(b, format, args(&kinds[i])...)
		}
		b.WriteString(after)
	}
	each("// Definition record kinds.\nconst (\n", "Def%s DefKind = %d\n", func(k *definition) []any { return []any{k.name, k.id} }, ")\n")
	each("\n// Definitions holds the definition records of a trace, each kind in the order\n"+
		"// in which it was read. Build it with Add, then call Seal.\n"+
		"type Definitions struct {\n", "%s []%s\n", func(k *definition) []any { return []any{k.list, k.name} }, "\nlayout // filled by Seal\n}\n")
	each("\n// Add appends an empty record of the given kind, with the defaults of fields\n"+
		"// that older writers leave out, and returns it for filling. It returns nil for\n"+
		"// an unknown kind. The record may move at the next Add of its kind.\n"+
		"func (d *Definitions) Add(k DefKind) Record {\nswitch k {\n",
		"case Def%s:\nreturn add(&d.%s, %s{%s})\n",
		func(k *definition) []any { return []any{k.name, k.list, k.name, k.defaults()} }, "}\nreturn nil\n}\n")
	each("\n// Each calls f for every record, kinds ascending, each kind in its order.\n"+
		"func (d *Definitions) Each(f func(k DefKind, r Record)) {\n",
		"each(Def%s, d.%s, f)\n", func(k *definition) []any { return []any{k.name, k.list} }, "}\n")
	for _, k := range kinds {
		fmt.Fprintf(b, "\n// Visit passes the fields of r to v.\nfunc (r *%s) Visit(v Visitor) {\n", k.name)
		for _, f := range k.fields {
			words := f.words()
			if len(words) == 0 {
				return fmt.Errorf("%s.%s has no name in OTF2", k.name, f.name)
			}
			fmt.Fprintln(b, f.visit(words))
			if slices.Contains(words, "legacy") {
				fmt.Fprintln(b, "if v.Reading() {\nr.legacy()\n}")
			}
		}
		fmt.Fprintf(b, "}\n")
	}
	return nil
}

func (f *field) words() []string { return strings.Fields(f.tag.Get("otf2")) }

// defaults are the fields that are not zero in a new record.
func (k *definition) defaults() string {
	var list []string
	for _, f := range k.fields {
		for _, w := range f.words() {
			if v, ok := strings.CutPrefix(w, "="); ok {
				list = append(list, f.name+": "+v)
			}
		}
	}
	return strings.Join(list, ", ")
}

// visit is the statement that passes a field, by the words of its tag.
func (f *field) visit(words []string) string {
	name, at, ref := words[0], "&r."+f.name, "None"
	for _, w := range words[1:] {
		if w != "legacy" && w[0] != '=' {
			ref = w
		}
	}
	switch {
	case f.list && f.typ == "IoProperty":
		return fmt.Sprintf("visitProperties(v, %q, %s)", name, at)
	case f.list:
		return fmt.Sprintf("visitNumbers(v, %q, %s, %s)", name, ref, at)
	case !slices.Contains([]string{"uint8", "uint32", "uint64", "int64", "string", "Value"}, f.typ):
		at = "(*uint8)(" + at + ")"
	}
	return fmt.Sprintf("v.Field(%q, %s, Ref%s)", name, at, ref)
}
