package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"sync"
)

//go:embed html
var htmlFiles embed.FS

// htmlTemplates are the pages, parsed once.
var htmlTemplates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").ParseFS(htmlFiles, "html/*.tmpl")
})

// htmlPage is what every page has: title, style, script, and the policy that lets
// a browser load nothing and run nothing else.
type htmlPage struct {
	Title  string
	Policy template.HTML
	Style  template.HTML
	Script template.HTML
}

// newHTMLPage embeds style and script, and names them in the policy by their digests.
func newHTMLPage(title string) (htmlPage, error) {
	p := htmlPage{Title: title}
	css, err := htmlFiles.ReadFile("html/style.css")
	if err != nil {
		return p, err
	}
	js, err := htmlFiles.ReadFile("html/script.js")
	if err != nil {
		return p, err
	}
	hash := func(b []byte) string {
		sum := sha256.Sum256(b)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	p.Policy = template.HTML(fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; style-src %s; script-src %s">`, hash(css), hash(js)))
	p.Style, p.Script = template.HTML("<style>"+string(css)+"</style>"), template.HTML("<script>"+string(js)+"</script>") // files of ours
	return p, nil
}

// writeHTML fills the named page.
func writeHTML(out io.Writer, name string, page any) error {
	t, err := htmlTemplates()
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(out, name, page)
}

// htmlBar draws a ratio beside its number, which says the same.
func htmlBar(r Ratio) template.HTML {
	if !r.Defined {
		return ""
	}
	v := int(float64(min(max(r.Value, 0), 1)*100) + 0.5)
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="rail" width="100" height="10"/><rect class="%s" width="%d" height="10"/></svg>`, gradeClass(r), v))
}

// gradeClass is a class of the style sheet: POP's threshold, and far below it.
func gradeClass(r Ratio) string {
	switch {
	case !r.Defined:
		return "none"
	case r.Value >= threshold:
		return "good"
	case r.Value >= 0.6:
		return "fair"
	}
	return "poor"
}

// gradeWord says the same in a word, for those who do not see colours.
func gradeWord(r Ratio) string {
	return map[string]string{"none": "not known", "good": "good", "fair": "below 0.8", "poor": "poor, below 0.6"}[gradeClass(r)]
}

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	r := []rune(text)
	text = strings.ToUpper(string(r[:1])) + string(r[1:])
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// htmlCell is a cell of a table: its text, and a number to sort by.
type htmlCell struct {
	Text string
	Sort string
}

// number is a cell of a number.
func numberCell(text string, v float64) htmlCell {
	return htmlCell{text, strconv.FormatFloat(v, 'g', -1, 64)}
}

// htmlTable is a table with sortable columns.
type htmlTable struct {
	Caption string
	Head    []htmlHead
	Rows    [][]htmlCell
	More    string // what was left out, "" for nothing
}

// htmlHead is the head of a column.
type htmlHead struct {
	Text string
	Left bool // text, not numbers
}

// heads makes heads of texts; those of texts begin with <.
func heads(list ...string) []htmlHead {
	out := make([]htmlHead, len(list))
	for i, s := range list {
		out[i].Text, out[i].Left = strings.CutPrefix(s, "<")
	}
	return out
}

func (t *htmlTable) add(cells ...htmlCell) { t.Rows = append(t.Rows, cells) }

// left notes that shown of all rows are in the table.
func (t *htmlTable) left(all, shown int, what, section string) {
	if all > shown {
		t.More = fmt.Sprintf("and %s more: coppice report RUN.xtf %s", plural(all-shown, what), section)
	}
}

// spanOf prints a sum of ticks as span does.
func (u unit) spanOf(f Fraction) string {
	if !f.Known() {
		return "n/a"
	}
	v := f.Round()
	if v < 0 {
		return u.fraction(f) + " " + u.name()
	}
	return u.span(uint64(v))
}
