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

// account says what becomes of the event records of a kind, as docs/records.md tells it.
type account struct {
	makes     string // the row or state that it makes; "" for none: it is in the call graph alone
	read      string // the analyses that read it
	paraver   bool   // the reader of Paraver traces makes such events too
	recording bool   // and the reader of recordings
}

// Texts that several kinds share.
const (
	readCalls    = "profile, efficiencies, waits, causes, threads, predict"
	readMessages = "matching, waits, causes, predict, clock repair"
	readNotices  = "waits, causes: in epochs, and of locks of one target"
	readWindows  = "waits, causes: while MPI makes or frees a window, and in fences"
	readOverhead = "efficiencies: measurement overhead"
	readThreads  = "critical path: who gave what a thread waited for"
	readMarkers  = "intervals, where --interval or a marker names it"
)

// accounts has a line for each known kind.
var accounts = [256]account{
	BufferFlush:                   {"", readOverhead, false, false},
	MeasurementOnOff:              {"", readOverhead, true, true},
	Enter:                         {"CALL", readCalls, true, true},
	Leave:                         {"CALL", readCalls, true, true},
	MpiSend:                       {"P2P", readMessages, true, true},
	MpiIsend:                      {"P2P", readMessages, true, true},
	MpiIsendComplete:              {"P2P", readMessages, true, true},
	MpiIrecvRequest:               {"P2P", readMessages, true, true},
	MpiRecv:                       {"P2P", readMessages, true, true},
	MpiIrecv:                      {"P2P", readMessages, true, true},
	MpiRequestTest:                {"", "", false, false},
	MpiRequestCancelled:           {"P2P", "matching", false, true},
	MpiCollectiveBegin:            {"COLL", readMessages, true, true},
	MpiCollectiveEnd:              {"COLL", readMessages, true, true},
	OmpFork:                       {"", "", false, false},
	OmpJoin:                       {"", "", false, false},
	OmpAcquireLock:                {"", readThreads, false, false},
	OmpReleaseLock:                {"", readThreads, false, false},
	OmpTaskCreate:                 {"", readThreads, false, false},
	OmpTaskSwitch:                 {"CALL", readCalls, false, false},
	OmpTaskComplete:               {"", readThreads, false, false},
	Metric:                        {"METRIC", "report scaling: instructions and cycles", true, true},
	ParameterString:               {"", readMarkers, false, true},
	ParameterInt:                  {"", readMarkers, false, true},
	ParameterUnsignedInt:          {"", readMarkers, true, false},
	RmaWinCreate:                  {"", "", false, true},
	RmaWinDestroy:                 {"", "", false, true},
	RmaCollectiveBegin:            {"COLL", readWindows, false, true},
	RmaCollectiveEnd:              {"COLL", readWindows, false, true},
	RmaGroupSync:                  {"P2P", readNotices, false, false},
	RmaRequestLock:                {"P2P", readNotices, false, false},
	RmaAcquireLock:                {"P2P", readNotices, false, true},
	RmaTryLock:                    {"", "", false, false},
	RmaReleaseLock:                {"P2P", readNotices, false, true},
	RmaSync:                       {"P2P", readNotices, false, true},
	RmaWaitChange:                 {"", "", false, false},
	RmaPut:                        {"RMA", "", false, true},
	RmaGet:                        {"RMA", "", false, true},
	RmaAtomic:                     {"RMA", "", false, true},
	RmaOpCompleteBlocking:         {"RMA", "", false, false},
	RmaOpCompleteNonBlocking:      {"RMA", "", false, true},
	RmaOpTest:                     {"", "", false, false},
	RmaOpCompleteRemote:           {"RMA", "", false, false},
	ThreadFork:                    {"", "", false, true},
	ThreadJoin:                    {"", "", false, true},
	ThreadTeamBegin:               {"", "", false, true},
	ThreadTeamEnd:                 {"", "", false, true},
	ThreadAcquireLock:             {"", readThreads, false, true},
	ThreadReleaseLock:             {"", readThreads, false, true},
	ThreadTaskCreate:              {"", readThreads, false, true},
	ThreadTaskSwitch:              {"CALL", readCalls, false, true},
	ThreadTaskComplete:            {"", readThreads, false, true},
	ThreadCreate:                  {"", readThreads, false, true},
	ThreadBegin:                   {"", readThreads, false, true},
	ThreadWait:                    {"", readThreads, false, true},
	ThreadEnd:                     {"", readThreads, false, true},
	CallingContextEnter:           {"CALL", readCalls, false, false},
	CallingContextLeave:           {"CALL", readCalls, false, false},
	CallingContextSample:          {"CALL", readCalls, false, true},
	IoCreateHandle:                {"", "", false, true},
	IoDestroyHandle:               {"", "", false, true},
	IoDuplicateHandle:             {"", "", false, true},
	IoSeek:                        {"", "report io: offsets", false, true},
	IoChangeStatusFlags:           {"", "", false, false},
	IoDeleteFile:                  {"", "", false, true},
	IoOperationBegin:              {"IO", "predict", false, true},
	IoOperationTest:               {"", "", false, false},
	IoOperationIssued:             {"", "", false, true},
	IoOperationComplete:           {"IO", "predict", false, true},
	IoOperationCancelled:          {"IO", "predict", false, true},
	IoAcquireLock:                 {"", "", false, false},
	IoReleaseLock:                 {"", "", false, false},
	IoTryLock:                     {"", "", false, false},
	ProgramBegin:                  {"", "", false, false},
	ProgramEnd:                    {"", "", false, false},
	NonBlockingCollectiveRequest:  {"COLL", readMessages, false, true},
	NonBlockingCollectiveComplete: {"COLL", readMessages, false, true},
	CommCreate:                    {"", "", false, false},
	CommDestroy:                   {"", "", false, false},
}

var update = flag.Bool("update", false, "rewrite the table in docs/records.md")

// accountTable is the table of all kinds, as docs/records.md has it.
func accountTable() string {
	var b strings.Builder
	b.WriteString("| record | other readers | makes | read by | not known |\n|---|---|---|---|---|\n")
	var lines []string // what is in a line after the name
	names := map[string][]string{}
	row := func(name string, a *account, untold string) {
		var others []string
		if a.paraver {
			others = append(others, "Paraver")
		}
		if a.recording {
			others = append(others, "recording")
		}
		line := fmt.Sprintf(" | %s | %s | %s | %s |\n", strings.Join(others, ", "), a.makes, a.read, untold)
		if names[line] == nil {
			lines = append(lines, line)
		}
		names[line] = append(names[line], name)
	}
	for k := range accounts {
		if Kind(k).Known() {
			row(Kind(k).String(), &accounts[k], Kind(k).Info().Untold)
		}
	}
	row("any other, kept as bytes", &account{}, Kind(0).Info().Untold)
	for _, line := range lines {
		b.WriteString("| " + strings.Join(names[line], ", ") + line)
	}
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
		t.Errorf("%s has another table than trace/account_test.go and kinds.go; go test ./trace -run RecordsDocument -update", path)
	}
}

// TestAccounts: each known kind has a line, no other number has one, and a line says who reads a record or what nobody
// does.
func TestAccounts(t *testing.T) {
	known := 0
	for i := range accounts {
		k, a := Kind(i), &accounts[i]
		if !k.Known() {
			if *a != (account{}) {
				t.Errorf("kind %d has a line and is not known", i)
			}
			if k.Unread() || k.Info().Untold != Kind(0).Info().Untold {
				t.Errorf("kind %d is not known and has another text than all such kinds", i)
			}
			continue
		}
		known++
		untold := k.Info().Untold
		switch {
		case a.read == "" && untold == "":
			t.Errorf("%v: no line, or one that says neither who reads it nor what is lost", k)
		case untold != "" && !k.Unread() && a.read == "":
			t.Errorf("%v: read where an option names it, but by nobody; else %q", k, untold)
		}
		if strings.ContainsAny(a.makes+a.read+untold, "|\n") {
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
			says := accounts[i].paraver
			if reader == "recording" {
				says = accounts[i].recording
			}
			if k.Known() && says != made[k.String()] {
				t.Errorf("%v: the table says that trace/%s makes it: %v, its source: %v", k, reader, says, !says)
			}
		}
	}
}

// TestUnreadCodes: each kind that nobody reads has a code of its own, with what it would have told.
func TestUnreadCodes(t *testing.T) {
	c := UnreadCode(IoAcquireLock)
	if c != 256+80 { // the number of the kind in OTF2, after those of other problems: it is in files
		t.Errorf("code %d of IoAcquireLock, want 336", c)
	}
	if k, ok := c.Unread(); !ok || k != IoAcquireLock {
		t.Errorf("code %d counts %v, %v", c, k, ok)
	}
	if c.String() != "not-analysed:IoAcquireLock" || !strings.HasPrefix(c.Text(), "IoAcquireLock records: waits for locks") || c.Severity() != Note {
		t.Errorf("code %d: %s, %s, %d", c, c, c.Text(), c.Severity())
	}
	for c := range codes {
		if _, ok := c.Unread(); ok {
			t.Errorf("code %d is one of records and has a line of its own", c)
		}
	}
}
