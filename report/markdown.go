package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// marks are what has a meaning in Markdown.
var marks = strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "&", "&amp;", "[", "\\[", "#", "\\#", "~", "\\~")

// writeMarkdown prints for a text that others include.
func (b *book) writeMarkdown(out io.Writer, style Style) error {
	var w strings.Builder
	for i, h := range b.heads {
		fmt.Fprintf(&w, "%s %s\n\n", "##"[:1+min(i, 1)], marks.Replace(h))
	}
	for _, n := range b.notes {
		fmt.Fprintf(&w, "%s\n\n", marks.Replace(n))
	}
	for _, c := range b.chapters {
		c.markdown(&w, style, 2)
	}
	lostTable(b.lost).markdown(&w, style)
	_, err := io.WriteString(out, strings.TrimRight(w.String(), "\n")+"\n")
	return err
}

func (c *chapter) markdown(w *strings.Builder, style Style, level int) {
	fmt.Fprintf(w, "%s %s\n\n", strings.Repeat("#", level), marks.Replace(cmp.Or(c.heading, c.title)))
	if c.heading != "" && c.title != "" {
		fmt.Fprintf(w, "%s\n\n", marks.Replace(c.title))
	}
	for i, b := range c.blocks {
		switch {
		case b.table != nil:
			b.table.markdown(w, style)
		case b.inner != nil:
			b.inner.markdown(w, style, level+1)
		case b.figure != nil, b.cards != nil, b.kind == gapLine:
		case b.kind == sentenceLine:
			fmt.Fprintf(w, "%s\n\n", marks.Replace(b.line))
		default:
			fmt.Fprintf(w, "* %s\n", marks.Replace(b.line))
			if i+1 == len(c.blocks) || c.blocks[i+1].kind != b.kind {
				w.WriteByte('\n')
			}
		}
	}
}

func (t *Table) markdown(w *strings.Builder, style Style) {
	limit := t.limit(cmp.Or(style.Limit, textRows))
	columns, rows := t.shown(limit, true)
	if len(columns) == 0 {
		return
	}
	for _, text := range []string{t.Title, t.Lead} {
		if text != "" {
			fmt.Fprintf(w, "%s\n\n", marks.Replace(text))
		}
	}
	head, rule := "|", "|"
	for _, c := range columns {
		head += " " + marks.Replace(c.Name) + " |"
		rule += map[bool]string{true: " --- |", false: " ---: |"}[c.left]
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, row := range rows {
		w.WriteByte('|')
		for _, c := range row {
			fmt.Fprintf(w, " %s%s |", strings.Repeat("&emsp;", c.level), marks.Replace(c.Text))
		}
		w.WriteByte('\n')
	}
	w.WriteByte('\n')
	for _, text := range append([]string{t.more(limit, "")}, t.Notes...) {
		if text != "" {
			fmt.Fprintf(w, "%s\n\n", marks.Replace(text))
		}
	}
}
