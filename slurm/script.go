package slurm

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"
)

//go:embed templates/*.tmpl
var files embed.FS

var templates = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "templates/*.tmpl")) })

// mostRestarts limits how often a job queues itself again.
const mostRestarts = 100

// Job is one batch job.
type Job struct {
	Verb   string
	Input  string
	Output string // what the next job reads; "": nothing
	Size   *Size
	// Before are words that precede the launcher: a program that starts it. Command is what the launcher starts.
	Before, Command []string
	// Resumable says that the command ends with status 75 if it stopped with a checkpoint, and continues when it is run again.
	Resumable bool
	// Note explains in one line what the job is for and how it was sized.
	Note string
	// Foreign says that the command is not a program of this tool, so its memory is not known.
	Foreign bool
}

// script is the data of the templates.
type script struct {
	*Job
	*Size
	*Site
	Note            string
	Edits, Setup    []string
	Run             string
	Srun, Requeue   bool
	Clock           string // time limit as hours:minutes:seconds
	Minutes, Notice int
	Seconds         int // time limit
	Limit           int // seconds after which a command that the scheduler does not signal gets SIGUSR1
	SlotMiB         int64
	Restarts        int
}

// Script returns the batch script of a job. known: there is a site file; without one the script has lines to edit.
func (j *Job) Script(site *Site, known bool) ([]byte, error) {
	s := script{
		Job: j, Size: j.Size, Site: site, Note: oneLine(j.Note), Run: j.CommandLine(site), Srun: site.launcher() == "srun",
		Requeue: (site.Requeue == nil || *site.Requeue) && j.Resumable, Clock: clock(j.Size.Time), Minutes: int((j.Size.Time + time.Minute - 1) / time.Minute),
		Seconds: int(j.Size.Time / time.Second), Notice: int(site.notice() / time.Second), Restarts: mostRestarts,
	}
	s.Limit = max(1, int(j.Size.Time/time.Second)-s.Notice)
	if !j.Foreign {
		s.SlotMiB = j.Size.Slot >> 20
	}
	for _, m := range site.Modules {
		s.Setup = append(s.Setup, "module load "+quote(m))
	}
	s.Setup = append(s.Setup, site.Commands...)
	if !known {
		s.Edits = edits(site.Name())
	}
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, site.Name()+".tmpl", &s); err != nil {
		return nil, fmt.Errorf("script of %s: %w", j.Verb, err)
	}
	return b.Bytes(), nil
}

// CommandLine returns the command of a job with its launcher, quoted for bash.
func (j *Job) CommandLine(site *Site) string { return Line(j.Words(site)) }

// Words returns the words of the command of a job with its launcher.
func (j *Job) Words(site *Site) []string {
	return slices.Concat(j.Before, j.launcher(site), j.Command)
}

// launcher returns the words that start the ranks.
func (j *Job) launcher(site *Site) []string {
	switch {
	case site.Name() == "flux" && j.Resumable: // flux submit queues it
		return []string{"flux", "submit", fmt.Sprintf("--ntasks=%d", j.Size.Ranks)}
	case site.Name() == "flux":
		return []string{"flux", "run", fmt.Sprintf("--ntasks=%d", j.Size.Ranks)}
	case site.launcher() == "srun":
		// A rank that ends early must not end the others: with 1, status 75 would become 143.
		return []string{"srun", "--mpi=" + cmp.Or(site.MPI, "pmix"), "--kill-on-bad-exit=0"}
	}
	return []string{"mpirun", "-n", fmt.Sprint(j.Size.Ranks)}
}

// edits are lines of a script that a user has to edit if there is no site file.
func edits(scheduler string) []string {
	list := []string{
		"partition or queue, account and other options of the site, next to those above",
		"module load ...   the MPI library that coppice was built with",
	}
	if scheduler == "mpirun" {
		list[0] = "mpirun: the hosts, as --hostfile FILE"
	}
	return list
}

// clock formats a time limit.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// oneLine replaces control characters, so that text is safe in a comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, text)
}

// quote returns one word of bash for any text. It does not contain control characters, so no part of it is at the start of a line, where a
// scheduler could take it for a directive.
func quote(text string) string {
	plain, control := text != "", false
	for i := range len(text) {
		c := text[i]
		plain = plain && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("%+,-./:=@_", c) >= 0)
		control = control || c < ' ' || c == 0x7f
	}
	if plain {
		return text
	}
	if !control {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// Line joins words to a command line of bash.
func Line(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// Split splits a line into words as a shell does: at blanks, with quotes and backslashes, but without expansions. It is the inverse of Line
// for words without control characters.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false // a word has begun
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		case '\'', '"':
			n, err := quoted(line[i:], &word)
			if err != nil {
				return nil, err
			}
			i += n - 1
			open = true
		case '\\':
			if i++; i == len(line) {
				return nil, fmt.Errorf("%q ends with a backslash", line)
			}
			word.WriteByte(line[i])
			open = true
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted appends the text between the quotes at the begin of rest to word. It returns the length including the quotes.
func quoted(rest string, word *strings.Builder) (int, error) {
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == rest[0]:
			return i + 1, nil
		case rest[i] == '\\' && rest[0] == '"' && i+1 < len(rest) && strings.IndexByte(`"\$`+"`", rest[i+1]) >= 0:
			i++
		}
		word.WriteByte(rest[i])
	}
	return 0, fmt.Errorf("a quote %c is not closed in %q", rest[0], rest)
}
