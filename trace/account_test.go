package trace

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in docs/records.md")

// accountTable is the table of all kinds, as docs/records.md has it.
func accountTable() string {
	var b strings.Builder
	b.WriteString("| record | OTF2 | other readers | makes | shown in | read by | not known |\n|---|---|---|---|---|---|---|\n")
	row := func(name, decoded string, a *Account) {
		var others []string
		if a.Paraver {
			others = append(others, "Paraver")
		}
		if a.Recording {
			others = append(others, "recording")
		}
		makes := a.Makes
		if makes == "" {
			makes = "call graph only"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", name, decoded, strings.Join(others, ", "), makes, a.Shown, a.Read, a.Untold)
	}
	for k := range accounts {
		if Kind(k).Known() {
			row(Kind(k).String(), "decoded", &accounts[k])
		}
	}
	row("any other", "kept as bytes", &unknownAccount)
	return b.String()
}

// TestRecordsDocument compares docs/records.md with the table.
func TestRecordsDocument(t *testing.T) {
	const path = "../docs/records.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?m)^\| record \|(?:.*\n)(?:\|.*\n)*`)
	if n := len(table.FindAllIndex(text, -1)); n != 1 {
		t.Fatalf("%s has %d tables of records, want 1", path, n)
	}
	want := table.ReplaceAllLiteral(text, []byte(accountTable()))
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(want) != string(text) {
		t.Errorf("%s has another table than trace/account.go; go test ./trace -run RecordsDocument -update", path)
	}
}

// TestAccounts: each known kind has a line, no other number has one, and a line says who reads a record or what nobody
// does.
func TestAccounts(t *testing.T) {
	known := 0
	for i := range accounts {
		k, a := Kind(i), &accounts[i]
		if !k.Known() {
			if *a != (Account{}) {
				t.Errorf("kind %d has a line and is not known", i)
			}
			if k.Account() != &unknownAccount {
				t.Errorf("kind %d is not known and has another line than all such kinds", i)
			}
			continue
		}
		known++
		switch {
		case a.Read == "" && a.Untold == "":
			t.Errorf("%v: no line, or one that says neither who reads it nor what is lost", k)
		case (a.Makes == "") != (a.Shown == ""):
			t.Errorf("%v makes %q, shown in %q", k, a.Makes, a.Shown)
		case a.Unless && (a.Read == "" || a.Untold == ""):
			t.Errorf("%v: read where an option names it, by %q; else %q", k, a.Read, a.Untold)
		}
		if strings.ContainsAny(a.Makes+a.Shown+a.Read+a.Untold, "|\n") {
			t.Errorf("%v: a cell of a table with | or a line break", k)
		}
	}
	if known != 79 { // OTF2 3.0, "Event records": 10 to 88
		t.Errorf("%d kinds are known, OTF2 3.0 has 79", known)
	}
}

// TestAccountReaders looks in the sources of the other readers for the kinds of events that they make.
func TestAccountReaders(t *testing.T) {
	comment := regexp.MustCompile(`//.*`)
	name := regexp.MustCompile(`\btrace\.([A-Z]\w*)\b`)
	for _, reader := range []string{"paraver", "recording"} {
		files, err := filepath.Glob(filepath.Join(reader, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("sources of %s: %d, %v", reader, len(files), err)
		}
		made := map[string]bool{}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllSubmatch(comment.ReplaceAll(text, nil), -1) {
				made[string(m[1])] = true
			}
		}
		for i := range accounts {
			k := Kind(i)
			says := accounts[i].Paraver
			if reader == "recording" {
				says = accounts[i].Recording
			}
			if k.Known() && says != made[k.String()] {
				t.Errorf("%v: the table says that trace/%s makes it: %v, its source: %v", k, reader, says, !says)
			}
		}
	}
}

// TestUnreadCodes: each kind that nobody reads has a code of its own, with what it would have told.
func TestUnreadCodes(t *testing.T) {
	c := UnreadCode(IoOperationBegin)
	if c != 256+75 { // the number of the kind in OTF2, after those of other problems: it is in files
		t.Errorf("code %d of IoOperationBegin, want 331", c)
	}
	if k, ok := c.Unread(); !ok || k != IoOperationBegin {
		t.Errorf("code %d counts %v, %v", c, k, ok)
	}
	if c.String() != "not-analysed:IoOperationBegin" || !strings.HasPrefix(c.Text(), "IoOperationBegin records: bytes and files") || c.Severity() != Note {
		t.Errorf("code %d: %s, %s, %d", c, c, c.Text(), c.Severity())
	}
	for c := range codes {
		if _, ok := c.Unread(); ok {
			t.Errorf("code %d is one of records and has a line of its own", c)
		}
	}
}
