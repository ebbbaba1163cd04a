package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// column is a column of rows; of an array it is one element.
type column struct {
	field         field
	name          string
	offset, width int
	transform     string
	amount        bool // readers add it up
}

// form is a record of fixed size.
type form struct {
	record
	columns  []column
	size     int
	sizeName string // constant with the size
}

// rowType is a record that is a row of the file.
type rowType struct {
	form
	id           int
	short, order string
	offsets      bool
}

// widths are the bytes of the types of fields.
var widths = map[string]int{"uint8": 1, "uint16": 2, "uint32": 4, "int64": 8, "uint64": 8, "Codec": 1, "Proc": 4, "TypeID": 4}

// orders are the roles of the first column.
var orders = map[string]string{"T": "RoleT", "key": "RoleKey", "none": "RoleNone"}

func rowTypeOf(r record, mark string) (rowType, error) {
	w := strings.Fields(mark)
	if len(w) < 3 || orders[w[2]] == "" {
		return rowType{}, fmt.Errorf("%s: want //xtf:row ID NAME T|key|none [offsets], not %q", r.name, mark)
	}
	id, err := strconv.Atoi(w[0])
	if err != nil {
		return rowType{}, fmt.Errorf("%s: %w", r.name, err)
	}
	f, err := formOf(r, strings.TrimSuffix(r.name, "Row")+"RowBytes")
	return rowType{form: f, id: id, short: w[1], order: orders[w[2]], offsets: slices.Contains(w[3:], "offsets")}, err
}

// formOf lays out the fields of a record without gaps.
func formOf(r record, sizeName string) (form, error) {
	t := form{record: r, sizeName: sizeName}
	for _, f := range r.fields {
		c := column{field: f, name: strings.ToLower(f.name[:1]) + f.name[1:], width: widths[f.typ], transform: "none"}
		if len(f.name) == 1 || f.name == "End" {
			c.name = f.name
		}
		for _, word := range strings.Fields(f.tag.Get("xtf")) {
			name, renamed := strings.CutPrefix(word, "name=")
			switch {
			case renamed:
				c.name = name
			case word == "amount":
				c.amount = true
			default:
				c.transform = word
			}
		}
		if c.width == 0 || f.list {
			return t, fmt.Errorf("%s.%s: a column cannot be a %s", r.name, f.name, kind(f))
		}
		for i := range max(f.n, 1) {
			x := c
			if f.n > 0 {
				x.name += fmt.Sprint(i)
			}
			x.offset = t.size
			t.size += c.width
			t.columns = append(t.columns, x)
		}
	}
	return t, nil
}

func kind(f field) string {
	if f.list {
		return "list of " + f.typ
	}
	return f.typ
}

// writeRows writes ids, offsets, Put and Load of row types, and what files say of their columns.
func writeRows(b *bytes.Buffer, records []record) error {
	var types []rowType
	var forms []form
	for _, r := range records {
		if mark, ok := r.marks["xtf:row"]; ok {
			t, err := rowTypeOf(r, mark)
			if err != nil {
				return err
			}
			types = append(types, t)
		}
		if mark, ok := r.marks["xtf:form"]; ok {
			f, err := formOf(r, mark)
			if err != nil {
				return err
			}
			forms = append(forms, f)
		}
	}
	slices.SortFunc(types, func(x, y rowType) int { return x.id - y.id })
	p := func(format string, args ...any) { fmt.Fprintf(b, format, args...) }
	p("// Ids of the row types of version 1.\nconst (\n")
	for i := range types {
		p("Type%s TypeID = %d // %s\n", types[i].short, types[i].id, types[i].what)
	}
	p(")\n\n// Sizes in bytes of rows, and of other structures.\nconst (\n")
	for i := range types {
		p("%s = %d\n", types[i].sizeName, types[i].size)
	}
	p("\n")
	for i := range forms {
		p("%s = %d\n", forms[i].sizeName, forms[i].size)
	}
	p(")\n\n// Offsets in bytes of columns that are read or filled on their own.\nconst (\n")
	for i := range types {
		for _, c := range types[i].columns {
			if types[i].offsets {
				p("%s%s = %d\n", types[i].short, c.field.name, c.offset)
			}
		}
	}
	p(")\n\nvar rowSpecs = []rowSpec{\n")
	for i := range types {
		p("{Type%s, %q, %s, []Column{\n", types[i].short, strings.ToUpper(types[i].short), types[i].order)
		for _, c := range types[i].columns {
			p("{%q, %d, %d, Transform%s},\n", c.name, c.offset, c.width, strings.ToUpper(c.transform[:1])+c.transform[1:])
		}
		p("}},\n")
	}
	p("}\n")
	amounts(b, types)
	for i := range types {
		p("\nfunc (*%s) form() (TypeID, func(*%[1]s, []byte)) { return Type%s, (*%[1]s).Load }\n", types[i].name, types[i].short)
		types[i].methods(b)
	}
	for i := range forms {
		p("\n// Append appends the structure to b.\nfunc (r *%s) Append(b []byte) []byte {\n", forms[i].name)
		p("n := len(b)\nb = append(b, make([]byte, %s)...)\nr.Put(b[n:])\nreturn b\n}\n", forms[i].sizeName)
		forms[i].methods(b)
	}
	return nil
}

// amounts writes which columns readers add up.
func amounts(b *bytes.Buffer, types []rowType) {
	fmt.Fprintf(b, "\n// amounts are the offsets of columns that readers add up, over rows and over locations.\nvar amounts = map[TypeID][]int{\n")
	for i := range types {
		var list []string
		for _, c := range types[i].columns {
			if c.amount {
				list = append(list, fmt.Sprint(c.offset))
			}
		}
		if list != nil {
			fmt.Fprintf(b, "Type%s: {%s},\n", types[i].short, strings.Join(list, ", "))
		}
	}
	fmt.Fprintf(b, "}\n")
}

// methods writes Put and Load.
func (t *form) methods(b *bytes.Buffer) {
	for _, put := range []bool{true, false} {
		method, side, what := "Load", "src", "Load reads src"
		if put {
			method, side, what = "Put", "dst", "Put writes dst"
		}
		fmt.Fprintf(b, "\n// %s.\nfunc (r *%s) %s(%s []byte) {\n_ = %s[%d]\n", what, t.name, method, side, side, t.size-1)
		for i := 0; i < len(t.columns); i += max(t.columns[i].field.n, 1) {
			fmt.Fprintln(b, t.columns[i].move(put))
		}
		fmt.Fprintf(b, "}\n")
	}
}

// move is the statement that stores or loads a column.
func (c *column) move(put bool) string {
	f, bits := "r."+c.field.name, 8*c.width
	native := fmt.Sprintf("uint%d", bits)
	switch {
	case c.field.n > 0 && put:
		return fmt.Sprintf("copy(dst[%d:%d], %s[:])", c.offset, c.offset+c.field.n, f)
	case c.field.n > 0:
		return fmt.Sprintf("copy(%s[:], src[%d:%d])", f, c.offset, c.offset+c.field.n)
	case c.width == 1 && put:
		return fmt.Sprintf("dst[%d] = uint8(%s)", c.offset, f)
	case c.width == 1:
		return fmt.Sprintf("%s = %s(src[%d])", f, c.field.typ, c.offset)
	case c.field.typ == native && put:
		return fmt.Sprintf("le.PutUint%d(dst[%d:], %s)", bits, c.offset, f)
	case c.field.typ == native:
		return fmt.Sprintf("%s = le.Uint%d(src[%d:])", f, bits, c.offset)
	case put:
		return fmt.Sprintf("le.PutUint%d(dst[%d:], %s(%s))", bits, c.offset, native, f)
	}
	return fmt.Sprintf("%s = %s(le.Uint%d(src[%d:]))", f, c.field.typ, bits, c.offset)
}
